package recording

import (
	"fmt"
	"math"
	"sort"
)

// Signal is the name of a measured quantity. Names are defined only in this table.
type Signal string

// The signals. "total" means a counter that only grows; use its rate.
const (
	// share of a short window in which a kernel ran or a copy engine worked
	GPUUtilisation Signal = "gpu.utilisation"
	GPUKernels     Signal = "gpu.kernels"  // share of the time since the previous sample in which a kernel ran
	GPULinkIn      Signal = "gpu.link_in"  // bytes/s over PCIe to the device, likewise
	GPULinkOut     Signal = "gpu.link_out" // likewise from the device
	GPUMemory      Signal = "gpu.memory"   // device memory in use
	GPUPower       Signal = "gpu.power"
	GPUClock       Signal = "gpu.clock"
	GPUSlowed      Signal = "gpu.slowed"          // Slowed as a number: what reduces clocks
	GPULinkGen     Signal = "gpu.link_generation" // current PCIe generation; an idle link may reduce it
	GPULinkWidth   Signal = "gpu.link_width"      // lanes of PCIe in use
	// share of multiprocessors with work, over the time since the previous sample
	GPUActive    Signal = "gpu.sm_active"
	GPUOthers    Signal = "gpu.others"    // share of time in which kernels of processes outside the job ran
	GPUStrangers Signal = "gpu.strangers" // processes outside the job that hold the device

	ThreadState    Signal = "thread.state"     // State as a number
	ThreadCPU      Signal = "thread.cpu"       // total core time
	ThreadQueue    Signal = "thread.run_queue" // total time runnable, waiting for a core
	ProcessCPU     Signal = "process.cpu"      // total core time, dead threads included
	ProcessMemory  Signal = "process.memory"   // resident set
	ProcessRead    Signal = "process.read"     // total bytes read by read(2), page cache included
	ProcessDisk    Signal = "process.disk"     // total bytes fetched from storage
	ProcessFaults  Signal = "process.faults"   // total pages that had to be fetched from storage (major faults)
	ProcessPrivate Signal = "process.private"  // bytes of memory that no other process shares
	ProcessWants   Signal = "process.wants"    // threads that are on a core or wait for one, at one look
	ThreadNode     Signal = "thread.node"      // NUMA node on which the thread ran last
	TreeCPU        Signal = "tree.cpu"         // total core time of the job's tree, dead processes included
	TreeMemory     Signal = "tree.memory"

	MachineCPU       Signal = "machine.cpu"      // total core time of all processes on the allowed cores
	MachineMemory    Signal = "machine.memory"   // memory still available
	MachineShm       Signal = "machine.shm"      // bytes free in /dev/shm
	Throttled        Signal = "cgroup.throttled" // total time the cgroup was held back by its quota
	PressureCPU      Signal = "pressure.cpu"     // total time some task waited for a core
	PressureIO       Signal = "pressure.io"      // total time some task waited for I/O
	PressureMemory   Signal = "pressure.memory"  // total time some task waited for memory
	DiskBusy         Signal = "disk.busy"        // total time with I/O in flight
	DiskRead         Signal = "disk.read"        // total bytes read
	DiskReads        Signal = "disk.reads"       // total read requests
	DiskWritten      Signal = "disk.written"     // total bytes written
	DiskFlight       Signal = "disk.flight"      // total time of all requests in flight: its rate is how many there are
	NetReceived      Signal = "net.received"     // total bytes received by an interface
	NetSent          Signal = "net.sent"         // total bytes sent
	NetDropped       Signal = "net.dropped"      // total packets dropped or in error, both ways
	MountRead        Signal = "mount.read"       // total bytes that an NFS server sent
	MountReads       Signal = "mount.reads"      // total read requests to an NFS server
	MountWait        Signal = "mount.wait"       // total time of these requests from the client's queue to the answer
	FetchCount       Signal = "fetch.count"      // total batches prepared by a process
	FetchWall        Signal = "fetch.wall"       // total time in fetch: read, decode, augment, collate
	FetchWallSquares Signal = "fetch.wall2"      // total of squared fetch times
	FetchCPU         Signal = "fetch.cpu"        // total core time of the fetching thread
	FetchCollate     Signal = "fetch.collate"    // total time in collate, part of fetch.wall
	// of "loader/PID/ID": workers without data while others still have some
	WorkersEnded  Signal = "loader.ended"
	FetchSamples  Signal = "fetch.samples"    // total samples prepared
	FetchStack    Signal = "fetch.stack"      // total time of a trainer's threads in a stack, see Stack
	FetchLooks    Signal = "fetch.looks"      // total samples that found a trainer's threads there, see Loading
	AwaitStack    Signal = "await.stack"      // total time of a server's coroutines that wait in a stack, see Stack
	Garbage       Signal = "python.garbage"   // total time in which Python collected garbage
	PeakAllocated Signal = "device.allocated" // peak device memory allocated by PyTorch
	PeakReserved  Signal = "device.reserved"  // peak device memory reserved by PyTorch
	DriverMemory  Signal = "device.asked"     // total calls by which PyTorch got device memory of the driver
	HookDropped   Signal = "hook.dropped"     // total hook records that found the channel full

	// Of a process that takes requests.
	RequestsCame  Signal = "requests.came"       // total requests that came
	RequestsDone  Signal = "requests.done"       // total requests that were answered
	Unasked       Signal = "requests.none"       // total time without any request
	InFlight      Signal = "requests.flight"     // total time of all requests: its rate is how many there are
	Pieces        Signal = "requests.pieces"     // total passes over another part of the tensor of the pass before
	RequestTime   Signal = "requests.time"       // of an answered request, at its end: from its coming to its end
	FirstByteTime Signal = "requests.first_byte" // likewise until the first byte of the answer was sent

	// Of a process that runs vLLM's engine, or of a server's own metrics.
	EngineRunning   Signal = "engine.running"   // requests of a pass
	EngineWaiting   Signal = "engine.waiting"   // requests that no pass has yet
	EngineCache     Signal = "engine.cache"     // share of the key-value cache in use
	EnginePreempted Signal = "engine.preempted" // total requests that were put off for want of cache

	// Of a server's own metrics, beside those above: "metrics/PORT".
	EnginePasses   Signal = "engine.passes"   // total passes
	EngineSamples  Signal = "engine.samples"  // total requests of all passes
	RequestsWithin Signal = "requests.within" // of a subject and a time: total requests that were answered within it

	// Of stoker's loader. The first five are of a process, the client's or the daemon's; the
	// others of a ring, "loader/PID/ID".
	FeedBatches   Signal = "feed.batches"   // total batches made
	FeedSamples   Signal = "feed.samples"   // total samples in them
	FeedRead      Signal = "feed.read"      // total time of all threads in reading files
	FeedDecode    Signal = "feed.decode"    // total time of all threads in decoding
	FeedTransform Signal = "feed.transform" // total time of all threads in cropping, resizing, normalising
	FeedFull      Signal = "feed.full"      // total time the loader waited for the trainer: its ring was full
	FeedEmpty     Signal = "feed.empty"     // total time the trainer had no batch left in the ring
	FeedReady     Signal = "feed.ready"     // batches in the ring, including those that the trainer holds
	FeedBad       Signal = "feed.bad"       // total samples that could not be used

	// Of a DataLoader's workers on a node of a Ray cluster: subjects are those of ClusterNode.
	RemoteWorkers Signal = "remote.workers" // how many there are
	RemoteAhead   Signal = "remote.ahead"   // batches that each may have begun
	RemoteBatches Signal = "remote.batches" // total batches that came from there
	RemoteBytes   Signal = "remote.bytes"   // total bytes of them
	RemoteFetch   Signal = "remote.fetch"   // total time in which workers prepared them
	RemoteCPU     Signal = "remote.cpu"     // of it, total core time of the preparing threads
	RemoteMoved   Signal = "remote.moved"   // total time from a worker's hands into the trainer's
	RemoteStore   Signal = "remote.store"   // bytes of Ray's object store of the node
	RemoteSpilled Signal = "remote.spilled" // bytes that it holds on a disk, for want of room
)

// ClusterNode returns the subject of what a process's workers on a node of a Ray cluster do.
func ClusterNode(pid int, name string) string { return fmt.Sprintf("node/%d/%s", pid, name) }

// State is what a thread was doing when it was sampled.
type State float64

// The states of a thread.
const (
	Parked  State = iota // asleep on a queue: waiting for work
	Running              // on a core or runnable
	OnDisk               // uninterruptible: waiting for storage
	Remote               // asleep in a network or FUSE read
	Asleep               // asleep elsewhere: a timer, one of the program's locks
)

// Slowed says what reduces a GPU's clock, as bits.
type Slowed uint

// Reasons for a low clock. Idleness is not a reason.
const (
	ByPower    Slowed = 1 << iota // the power limit
	ByHeat                        // temperature of the chip or its memory
	ByHardware                    // the board's own protection: power supply, over-current, external brake
)

// Find returns the series of a signal and subject, or nil.
func (r *Run) Find(signal Signal, subject string) *Series {
	for i := range r.Series {
		if r.Series[i].Signal == signal && r.Series[i].Subject == subject {
			return &r.Series[i]
		}
	}
	return nil
}

// All returns every series of a signal.
func (r *Run) All(signal Signal) []Series {
	var found []Series
	for _, s := range r.Series {
		if s.Signal == signal {
			found = append(found, s)
		}
	}
	return found
}

// Between returns the part of the series in [from, to]. It shares memory with s.
func (s *Series) Between(from, to float64) Series {
	part := Series{}
	if s == nil {
		return part
	}
	lo := sort.SearchFloat64s(s.T, from)
	hi := lo + sort.Search(len(s.T)-lo, func(i int) bool { return s.T[lo+i] > to })
	part = *s
	part.T, part.V = s.T[lo:hi], s.V[lo:hi]
	return part
}

// Mean returns the mean of the values in [from, to]; NaN if it has none.
func (s *Series) Mean(from, to float64) float64 {
	part := s.Between(from, to)
	if len(part.V) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range part.V {
		sum += v
	}
	return sum / float64(len(part.V))
}

// Largest returns the largest value; NaN if there is none.
func (s *Series) Largest() float64 {
	top := math.NaN()
	if s == nil {
		return top
	}
	for _, v := range s.V {
		if !(v <= top) {
			top = v
		}
	}
	return top
}

// Growth returns by how much a counter grew in [from, to], and the time between its first and
// last sample there; NaN if it has fewer than two samples. If a counter falls, it was reset or
// has wrapped: its growth across that is unknown, and is left out together with its time.
func (s *Series) Growth(from, to float64) (by, over float64) {
	part := s.Between(from, to)
	n := len(part.V)
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	by, over = part.V[n-1]-part.V[0], part.T[n-1]-part.T[0]
	for i := 1; i < n; i++ {
		if part.V[i] < part.V[i-1] {
			by -= part.V[i] - part.V[i-1]
			over -= part.T[i] - part.T[i-1]
		}
	}
	return by, over
}

// Rate returns the growth of a counter per second in [from, to].
func (s *Series) Rate(from, to float64) float64 {
	by, over := s.Growth(from, to)
	if !(over > 0) {
		return math.NaN()
	}
	return by / over
}

// Share returns the share of samples in [from, to] with one of the given states; NaN if there
// is no sample.
func (s *Series) Share(from, to float64, states ...State) float64 {
	part := s.Between(from, to)
	if len(part.V) == 0 {
		return math.NaN()
	}
	hits := 0
	for _, v := range part.V {
		for _, state := range states {
			if State(v) == state {
				hits++
			}
		}
	}
	return float64(hits) / float64(len(part.V))
}

// Last returns the newest value; NaN if it has none.
func (s *Series) Last() float64 {
	if s == nil || len(s.V) == 0 {
		return math.NaN()
	}
	return s.V[len(s.V)-1]
}

// isShare reports whether values are shares of a device, so that one outside of 0 to 1 was
// damaged or invented.
func (s Signal) isShare() bool {
	return s == GPUUtilisation || s == GPUKernels || s == GPUActive || s == GPUOthers
}

// Series is one signal of one subject over time.
type Series struct {
	Signal  Signal
	Subject string // "gpu/0", "thread/4711", "process/4711", "disk/vda", "tree", "machine"
	T       []float64
	V       []float64
}
