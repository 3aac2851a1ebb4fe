package recording

// Signal names one measured quantity. The names live in this table and nowhere
// else.
type Signal string

// The signals. "total" means a counter that only grows; its rate is what counts.
const (
	GPUUtilisation Signal = "gpu.utilisation" // share of a short window in which some kernel ran
	GPUMemory      Signal = "gpu.memory"      // device memory in use
	GPUPower       Signal = "gpu.power"
	GPUClock       Signal = "gpu.clock"

	ThreadState   Signal = "thread.state"     // State as a number
	ThreadCPU     Signal = "thread.cpu"       // total core time
	ThreadQueue   Signal = "thread.run_queue" // total time runnable, waiting for a core
	ProcessCPU    Signal = "process.cpu"      // total core time, dead threads included
	ProcessMemory Signal = "process.memory"   // resident set
	ProcessRead   Signal = "process.read"     // total bytes read by read(2), page cache included
	ProcessDisk   Signal = "process.disk"     // total bytes fetched from storage
	TreeCPU       Signal = "tree.cpu"         // total core time of the job's tree, dead processes included
	TreeMemory    Signal = "tree.memory"

	MachineCPU       Signal = "machine.cpu"      // total core time of all processes on the allowed cores
	MachineMemory    Signal = "machine.memory"   // memory still available
	MachineShm       Signal = "machine.shm"      // bytes free in /dev/shm
	Throttled        Signal = "cgroup.throttled" // total time the cgroup was held back by its quota
	PressureCPU      Signal = "pressure.cpu"     // total time some task waited for a core
	PressureIO       Signal = "pressure.io"      // total time some task waited for I/O
	PressureMemory   Signal = "pressure.memory"  // total time some task waited for memory
	DiskBusy         Signal = "disk.busy"        // total time with I/O in flight
	DiskRead         Signal = "disk.read"        // total bytes read
	FetchCount       Signal = "fetch.count"      // total batches prepared by a process
	FetchWall        Signal = "fetch.wall"       // total time in fetch: read, decode, augment, collate
	FetchWallSquares Signal = "fetch.wall2"      // total of squared fetch times
	FetchCPU         Signal = "fetch.cpu"        // total core time of the fetching thread
	FetchCollate     Signal = "fetch.collate"    // total time in collate, part of fetch.wall
	FetchSamples     Signal = "fetch.samples"    // total samples prepared
	FetchStack       Signal = "fetch.stack"      // total time of a trainer's loading threads in a stack, see Stack
	FetchLooks       Signal = "fetch.looks"      // total looks that found a trainer's loading threads in a fetch
	PeakAllocated    Signal = "device.allocated" // peak device memory allocated by PyTorch
	PeakReserved     Signal = "device.reserved"  // peak device memory reserved by PyTorch
	HookDropped      Signal = "hook.dropped"     // total hook records that found the channel full

	// Of stoker's loader: the first five of a process, the client's or the
	// daemon's; the others of a ring, "loader/PID/ID".
	FeedBatches   Signal = "feed.batches"   // total batches made
	FeedSamples   Signal = "feed.samples"   // total samples in them
	FeedRead      Signal = "feed.read"      // total time of all threads in reading files
	FeedDecode    Signal = "feed.decode"    // total time of all threads in decoding
	FeedTransform Signal = "feed.transform" // total time of all threads in cropping, resizing, normalising
	FeedFull      Signal = "feed.full"      // total time the loader waited for the trainer: its ring was full
	FeedEmpty     Signal = "feed.empty"     // total time the trainer had no batch left in the ring
	FeedReady     Signal = "feed.ready"     // batches in the ring, those that the trainer holds included
	FeedBad       Signal = "feed.bad"       // total samples that could not be used
)

// State is what a thread was doing when it was looked at.
type State float64

// The states of a thread.
const (
	Parked  State = iota // asleep on a queue: waiting to be given something to do
	Running              // on a core or runnable
	OnDisk               // uninterruptible: waiting for storage
	Remote               // asleep in a network or FUSE read
	Asleep               // asleep elsewhere: a timer, a lock of the program's own
)
