package measure

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// Feeding is what stoker's loader tells of itself. NaN is unknown.
type Feeding struct {
	Read, Decode, Transform float64 // of all threads, seconds per batch
	Full                    float64 // share of the window in which the ring was full: the trainer is slower
	Empty                   float64 // share in which nothing was left for the trainer
}

// Feeds reports whether settings belong to stoker's loader.
func Feeds(s stoker.Settings) bool { return s.Text(stoker.LoaderKind) == stoker.StokerLoader }

// FetchSplit is the time of a fetch by cause, as shares that add up to 1.
type FetchSplit struct {
	Core    float64 // on a core
	Queued  float64 // runnable without a core: others had it, or a quota held it back
	Storage float64 // in uninterruptible wait times
	Network float64 // in network and FUSE reads
	Asleep  float64 // in anything else: a timer, a lock, another program, a pipe
}

// Wants returns the share of a fetch in which its thread wants a core.
func (s FetchSplit) Wants() float64 { return s.Core + s.Queued }

// Costs are the measured costs of one trainer per step, in its judged window.
// Seconds per step unless said otherwise; NaN is unknown.
type Costs struct {
	Window  recording.Window
	Workers int  // worker processes per loader, as set, else as seen
	Set     bool // Workers comes from the loader's settings
	// of these workers, those that had data to give, in the mean; NaN unknown
	Giving float64

	// Uncounted says that the number of workers is unknown: neither a setting nor the job's
	// processes show it. Workers is 0 then.
	Uncounted bool

	// Epochs that begin in the window: how many steps are between two beginnings, and how long
	// the device stalls for the first batch, by the host's clock if the device's is not known.
	// NaN if no epoch began.
	EpochSteps, EpochStart float64

	// FirstFetch is how long a worker of an iterable data set works on its first batch, for
	// example to fill a shuffle buffer. NaN if unknown, and for other data sets.
	FirstFetch float64

	SyncsAt string // the program's line that blocks on the device, file:line; "" unknown

	Rare Rare // what the loop does now and then

	Step     float64          // mean step, by the device's clock if it is known
	HostStep float64          // mean step by the host's clock
	Wait     float64          // host wait in next()
	Idle     float64          // device idle at the input boundary
	Busy     float64          // share of the window in which some kernel ran (0..1)
	BusyFrom recording.Signal // what told that
	Copying  float64          // share of it in which the device copied instead
	Queued   float64          // how much of Wait was covered by work that was queued on the device

	Fetch        float64 // wall time to prepare one batch
	FetchCPU     float64 // core time of it
	FetchQueue   float64 // of it, time in which a worker was runnable without a core
	FetchCV      float64 // coefficient of variation of fetch times
	FetchSlow    float64 // time per step that fetches take beyond their usual time; NaN unknown
	FetchCollate float64
	Split        *FetchSplit // where Fetch goes; nil where that is not known

	TreeCPU     float64 // core time of the whole job
	LaunchCPU   float64 // core time of the launching thread
	LaunchQueue float64 // in which it was runnable without a core
	HelperCPU   float64 // without workers: core time of all other threads, such as PyTorch's intra-op threads
	WorkerCPU   float64 // core time of the workers
	// core time of the workers' threads that do not fetch: OpenMP's, OpenCV's, BLAS's
	WorkerHelpers float64
	// threads of a worker that want a core at a time, while any does; NaN unknown
	WorkerThreads float64
	LoopCPU       float64 // core time of everything but fetching

	Cores    float64 // cores the job could get: allowed minus what others used
	CoresUse float64 // cores the job did use
	Others   float64 // cores that others used

	WorkersBusy float64 // share of time the workers were not parked, 0..1
	OnDisk      float64 // share of fetching time spent in uninterruptible wait times
	Remote      float64 // share of fetching time spent in network or FUSE reads
	Runnable    float64 // share of it on a core or waiting for one
	DiskBusy    float64 // busiest disk, share of time with I/O in flight
	ReadRate    float64 // bytes/s the job read, page cache included
	DiskRate    float64 // bytes/s the job fetched from storage
	Throttled   float64 // share of time the cgroup was held back
	Received    float64 // bytes/s by the interface that receives most
	ReceivedBy  string  // its name

	WorkerMemory float64 // resident set of one worker, bytes

	Feed *Feeding // what stoker's loader tells of itself; nil for others. Its threads are the workers

	// Cluster is what workers in a Ray cluster do. Workers and Fetch are then theirs. It is nil
	// for other loaders.
	Cluster *Cluster
}

// Fed reports whether a loader feeds the steps, as far as the recording shows.
func (c Costs) Fed() bool { return c.Window.Loader != recording.OwnLoop }

// Rate returns the samples per second of the judged rank and loader, with the time in which other loaders have their
// turns; NaN where they were not counted.
func (c Costs) Rate() float64 {
	if n := c.Window.Samples(); n > 0 && c.Step > 0 {
		return n / (c.Step + c.Window.TurnPerStep())
	}
	return math.NaN()
}

// Other returns the kind of a loader that is neither PyTorch's nor stoker's. The work in its own
// threads and processes is not seen.
func (c Costs) Other(run *recording.Run) string {
	if l := run.FindLoader(c.Window.PID, c.Window.Loader); l != nil {
		return l.Kind
	}
	return ""
}

// LaunchThread returns the subject of the thread that launches a trainer's work.
func LaunchThread(run *recording.Run, pid int) string {
	if p := run.FindProcess(pid); p != nil && p.LaunchThread > 0 {
		return fmt.Sprintf("thread/%d", p.LaunchThread)
	}
	return fmt.Sprintf("thread/%d", pid)
}
