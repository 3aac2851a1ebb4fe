package recording

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
)

// Run is what was measured of one job, live or from a profiler's file.
type Run struct {
	Facts    Facts
	Series   []Series  // in order of signal, then subject
	Steps    []Step    // in order of start
	Timeline *Timeline // host calls and device work with their links; nil unless a profiler's file holds them

	// Warnings are sentences about the recording itself: a torn tail, damaged seconds, dropped
	// signals.
	Warnings []string

	// Cut says where the file ends if that is within a second; "" of a whole one. It is among the Warnings.
	Cut string

	thinned []thinned // parts of which only some is kept, in order
}

// WholeRecording is how steps were found of which there are none: all of a profiler's file is taken as one.
const WholeRecording = "the whole recording"

// OnePass begins the words for how steps were found of a file without marks, in which kernels repeat within a whole.
const OnePass = "one pass of"

// OneRun is how the step was found of a file that holds one run of a graph.
const OneRun = "the one run of a graph"

// TensorFlowGraphs is the framework of a timeline: TensorFlow whose graphs run in sessions, as version 1 has them.
const TensorFlowGraphs = "TensorFlow 1"

// CANN is the framework of a program on Ascend's devices that shows nothing of PyTorch: MindSpore, or none.
const CANN = "CANN"

// MarksSteps reports whether a profiler's file shows where steps begin and end.
func (f *Facts) MarksSteps() bool {
	return f.StepsFrom != WholeRecording && !strings.HasPrefix(f.StepsFrom, OnePass)
}

// Facts are what does not change during a run.
type Facts struct {
	Version string   `json:"version,omitempty"` // of the Stoker that wrote the recording
	Command []string `json:"command,omitempty"` // only the harmless part of it (internal/redact)
	Host    string   `json:"host,omitempty"`    // name of the machine
	// the launcher's name for the job, the same on each of its nodes: "SLURM_JOB_ID=4711"
	Job       string      `json:"job,omitempty"`
	Started   float64     `json:"started,omitempty"` // Unix time of t = 0, seconds
	Monotonic int64       `json:"monotonic_ns,omitempty"`
	Machine   Machine     `json:"machine"`
	GPUs      []GPU       `json:"gpus,omitempty"`
	Software  Software    `json:"software"`
	Processes []Process   `json:"processes,omitempty"`
	Loaders   []Loader    `json:"loaders,omitempty"`
	Absent    []Absence   `json:"absent,omitempty"` // what could not be observed, and why
	Exit      *ExitStatus `json:"exit,omitempty"`   // nil while the run continues or if its end was not observed
	Notes     []string    `json:"notes,omitempty"`  // sentences from the probes and the hook
	Overhead  *Overhead   `json:"overhead,omitempty"`
	Model     *ModelFacts `json:"model,omitempty"`
	Captures  []Capture   `json:"captures,omitempty"`   // traces that PyTorch's profiler wrote during the run
	StepsFrom string      `json:"steps_from,omitempty"` // of a profiler's file: how its steps were found
	// of a profiler's file: what is missing or impossible in it, so that its figures are not the
	// program's
	Damage []string `json:"damage,omitempty"`
	// of a profiler's file: its recorder says that it recorded the calls of the device's runtime
	DeviceTraced bool `json:"device_traced,omitempty"`
	// share of a profiler's device work that is missing or has a wrong time
	WorkLost float64 `json:"work_lost,omitempty"`
	// file systems of the files that trainers and workers were seen to read
	Mounts []Mount `json:"mounts,omitempty"`
	Draws  *Draws  `json:"draws,omitempty"` // random numbers drawn for samples; nil if not checked

	Slow []SlowFetch `json:"slow,omitempty"` // fetches that took far longer than the others, slowest first

	// how many threads a library computes with in each worker, by "torch" and "opencv", as they say
	WorkerThreads map[string]int `json:"worker_threads,omitempty"`
}

// SlowFetch is a fetch that took far longer than the others of its process, and the numbers of its
// samples in the data set.
type SlowFetch struct {
	PID     int     `json:"pid"` // of the trainer
	By      int     `json:"by"`  // the process that fetched
	Seconds float64 `json:"seconds"`
	Items   []int64 `json:"items"`
}

// Draws says what fetches draw from generators that the whole program shares. If they do, a
// batch depends on which process fetches it and when.
type Draws struct {
	From []string `json:"from"` // "numpy", "random", "torch"; empty if nothing was drawn
}

// Mount is a file system that the job reads from.
type Mount struct {
	Point  string `json:"point"`            // mount point
	Kind   string `json:"kind"`             // "ext4", "nfs4", "fuse.sshfs"
	Disk   string `json:"disk,omitempty"`   // subject of the disk's signals, "disk/vda"; "" if it has none
	Remote bool   `json:"remote,omitempty"` // reads go to a server, or to a program (FUSE)
	Seen   int    `json:"seen"`             // about how often one of its files was seen open
}

// Machine is the part of the host that the job may use. Nil is unknown.
type Machine struct {
	CPU  string `json:"cpu,omitempty"`  // model name
	CPUs int    `json:"cpus,omitempty"` // logical processors of the machine
	// physical cores behind the allowed processors, as the kernel reports them
	PhysCores int     `json:"phys_cores,omitempty"`
	Allowed   int     `json:"allowed,omitempty"` // processors in the affinity mask of the trainer, or of any of a server's processes
	Quota     float64 `json:"quota,omitempty"`   // cores allowed by the cgroup's CPU quota; 0: no quota
	// memory the job may use: the cgroup's limit, else the machine's
	MemoryBytes *float64 `json:"memory_bytes,omitempty"`
	ShmBytes    *float64 `json:"shm_bytes,omitempty"`    // size of /dev/shm
	LockedBytes *float64 `json:"locked_bytes,omitempty"` // RLIMIT_MEMLOCK; -1: unlimited
	// bytes/s that the cgroup may read from its slowest limited disk; 0: no limit
	DiskLimit  float64 `json:"disk_limit,omitempty"`
	ReadsLimit float64 `json:"reads_limit,omitempty"` // read requests/s, likewise; 0: no limit
	Kernel     string  `json:"kernel,omitempty"`
	// NUMA nodes with processors; 0 if the kernel does not report them
	Nodes    int                `json:"nodes,omitempty"`
	NetSpeed map[string]float64 `json:"net_speed,omitempty"` // bytes/s of interfaces, by subject ("net/eth0")
	// cores that SLURM gave the task (SLURM_CPUS_PER_TASK), else the job on this node; 0: not SLURM
	TaskCores int `json:"task_cores,omitempty"`
}

// Processors returns how many processors the job may run on; 0 if unknown.
func (m Machine) Processors() float64 {
	if m.Allowed > 0 {
		return float64(m.Allowed)
	}
	return float64(m.CPUs)
}

// Cores returns how many cores the job may use: the smaller of affinity mask and quota; 0 if
// neither is known.
func (m Machine) Cores() float64 {
	cores := m.Processors()
	if m.Quota > 0 && (cores == 0 || m.Quota < cores) {
		cores = m.Quota
	}
	return cores
}

// GPU is one device. Nil is unknown.
type GPU struct {
	Index       int      `json:"index"`
	Name        string   `json:"name"`
	UUID        string   `json:"uuid,omitempty"`
	MemoryBytes *float64 `json:"memory_bytes,omitempty"`
	PeakBytes   *float64 `json:"peak_bytes,omitempty"` // peak bytes of tensors while a profiler recorded
	HeldBytes   *float64 `json:"held_bytes,omitempty"` // peak bytes held by the allocator then
	PowerLimit  *float64 `json:"power_limit_watts,omitempty"`
	SMs         int      `json:"sms,omitempty"` // multiprocessors or compute units, as a profiler recorded them
	// compute capability as a profiler recorded it, "9.0"; "" unknown
	Capability string   `json:"capability,omitempty"`
	Emulated   bool     `json:"emulated,omitempty"`
	MaxClock   *float64 `json:"max_clock_mhz,omitempty"`
	LinkGen    int      `json:"link_generation,omitempty"` // highest PCIe generation of device and slot; 0 unknown
	LinkWidth  int      `json:"link_width,omitempty"`      // lanes, likewise
	Node       *int     `json:"node,omitempty"`            // NUMA node to which it is attached
	MIG        bool     `json:"mig,omitempty"`             // divided into instances: utilisation is not available
}

// Software holds the versions that were found.
type Software struct {
	Driver      string `json:"driver,omitempty"`
	CUDA        string `json:"cuda,omitempty"`
	ROCm        string `json:"rocm,omitempty"`
	Python      string `json:"python,omitempty"`
	Torch       string `json:"torch,omitempty"`
	TorchVision string `json:"torchvision,omitempty"`
	// "JAX", "TensorFlow", "XLA", or "CUDA" for a program without a framework; "" for PyTorch and if unknown
	Framework string `json:"framework,omitempty"`
	// Server is the program that serves requests, if it is known: "vLLM", "SGLang", "TGI", "Triton".
	Server string `json:"server,omitempty"`
	// Recorder is the profiler, if it is not the framework's own: NsightSystems, Rocprof or Msprof.
	Recorder string `json:"recorder,omitempty"`
}

// Profilers that record programs of any framework.
const (
	NsightSystems = "Nsight Systems"
	Rocprof       = "rocprofv3"
	Msprof        = "msprof" // Ascend's
)

// Process is one process of the job's tree that matters to a verdict.
type Process struct {
	PID          int     `json:"pid"`
	Parent       int     `json:"parent,omitempty"`
	Role         string  `json:"role"` // "trainer", "worker", "feed"
	Rank         int     `json:"rank"`
	World        int     `json:"world,omitempty"`
	Device       int     `json:"device"`                  // index of the GPU in use, -1 if unknown
	LaunchThread int     `json:"launch_thread,omitempty"` // thread that launches device work, else the main thread
	LauncherSeen bool    `json:"launcher_seen,omitempty"` // LaunchThread is known from launches, not assumed
	PinThread    int     `json:"pin_thread,omitempty"`    // PyTorch's thread that copies batches to page-locked memory
	Hooked       bool    `json:"hooked,omitempty"`        // the start-up hook answered from this process
	Imports      string  `json:"imports,omitempty"`       // the program's line that imported torch, "FILE:LINE"
	Blocking     bool    `json:"blocking,omitempty"`      // CUDA_LAUNCH_BLOCKING is set: a launch waits for its kernel
	HidesGPUs    bool    `json:"hides_gpus,omitempty"`    // CUDA_VISIBLE_DEVICES at its start names no GPU
	Start        float64 `json:"start,omitempty"`         // when it was first seen, seconds
	End          float64 `json:"end,omitempty"`           // when it was last seen, seconds; 0: at the end of the run
}

// Roles of a Process.
const (
	RoleTrainer = "trainer" // requests batches and launches work
	RoleWorker  = "worker"  // prepares batches for a trainer
	RoleFeed    = "feed"    // stoker feed: prepares batches for all trainers of its node
	RoleServer  = "server"  // takes requests for a model that runs in another process
)

// Loader is one DataLoader of one process, or an input of another kind.
type Loader struct {
	ID  int `json:"id"`
	PID int `json:"pid"`
	// "ray", "dali", "spdl", "tf.data", "grain", "watched" (by stoker.watch); "" for PyTorch's
	// and stoker's. Settings of the others are unknown
	Kind     string          `json:"kind,omitempty"`
	Settings stoker.Settings `json:"settings"`
	Dataset  string          `json:"dataset,omitempty"` // class name
	// "module.Class" whose __getitem__ reads a sample, inside of any Subsets; "" if unknown,
	// like the next two fields
	Reader string `json:"reader,omitempty"`
	// Transforms are what the data set then does to a sample, as "module.Class" or
	// "module.function", in order.
	Transforms []string `json:"transforms,omitempty"`
	// Own are the parts that are the program's own code: "collate_fn", "worker_init_fn",
	// "batch_sampler", "sampler", "image loader". "fallen back" is stoker's loader if its data
	// set could not be accelerated.
	Own      []string `json:"own,omitempty"`
	Samples  int      `json:"samples,omitempty"` // in the data set, 0 if unknown
	Iterable bool     `json:"iterable,omitempty"`
	Split    Split    `json:"split,omitempty"`     // how the data set divides its samples among workers
	Shards   int      `json:"shards,omitempty"`    // parts that its library distributes to workers, 0 if unknown
	DropLast bool     `json:"drop_last,omitempty"` // the last short batch is dropped; of each worker if iterable
	Changes  bool     `json:"changes,omitempty"`   // the program changes the data set between epochs
	// attributes of the data set that are generators of random numbers: each worker has a copy
	Generators []string `json:"generators,omitempty"`
	Anew       bool     `json:"anew,omitempty"`     // the program creates it repeatedly, as in each epoch
	Where      string   `json:"where,omitempty"`    // user's file:line
	Function   string   `json:"function,omitempty"` // user's, which iterates it there
	Call       string   `json:"call,omitempty"`     // absolute file:line that created it
	Start      string   `json:"start_method,omitempty"`

	BatchBytes float64 `json:"batch_bytes,omitempty"` // as the loop receives it
	BatchDType string  `json:"batch_dtype,omitempty"`
	Tensors    int     `json:"tensors,omitempty"` // in a batch, 0 if unknown
	Objects    int     `json:"objects,omitempty"` // of Python in a batch beside its tensors: lists, strings, numbers
	Pinned     *bool   `json:"pinned,omitempty"`  // of the batches seen; nil unknown
	Padding    Padding `json:"padding,omitzero"`

	BatchDevice string `json:"batch_device,omitempty"` // "cuda" of batches that the data set made there; "" in memory
}

// Padding counts the numbers of batches whose samples are filled up to one length. Zero if none were seen.
type Padding struct {
	Numbers int64 `json:"numbers"` // that were read
	Padded  int64 `json:"padded"`  // of them padding
	Beyond  int64 `json:"beyond"`  // of them beyond the longest sample of their batch
}

// Add adds the three counts of a batch; others are ignored.
func (p *Padding) Add(counts []int64) {
	if len(counts) != 3 || counts[2] < 0 || counts[1] < counts[2] || counts[0] < counts[1] || counts[0] > mostCounted {
		return
	}
	p.Numbers, p.Padded, p.Beyond = p.Numbers+counts[0], p.Padded+counts[1], p.Beyond+counts[2]
}

// mostCounted bounds what one batch may count.
const mostCounted = 1 << 32

// Share returns the share of a batch that is padding, and of a batch that lies beyond its
// longest sample.
func (p Padding) Share() (padded, beyond float64) {
	if p.Numbers == 0 {
		return 0, 0
	}
	return float64(p.Padded) / float64(p.Numbers), float64(p.Beyond) / float64(p.Numbers)
}

// ModelFacts are facts about the model that need no inspection of it.
type ModelFacts struct {
	Device string `json:"device,omitempty"` // of the first parameter: "cpu", "cuda:0"
	DType  string `json:"dtype,omitempty"`
	Steps  int    `json:"steps,omitempty"` // optimizer steps seen; 0 if the model only infers, and in JAX
}

// Capture is a trace that PyTorch's own profiler wrote of this run on request. It is next to
// the recording.
type Capture struct {
	PID   int     `json:"pid"`
	Rank  int     `json:"rank"`
	File  string  `json:"file"` // its name without a folder
	Bytes float64 `json:"bytes,omitempty"`
	Steps int     `json:"steps,omitempty"` // requested steps; 0: by time
	From  float64 `json:"from"`            // time of the request, seconds
	To    float64 `json:"to"`              // when the file was finished, seconds

	// Inside says that the hook took the trace. From is then when the profiler began, and no
	// step between From and To is judged.
	Inside bool `json:"inside,omitempty"`
}

// Absence says what could not be observed, and why.
type Absence struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// ExitStatus is how the observed command ended.
type ExitStatus struct {
	At     float64 `json:"at"`     // seconds
	Code   int     `json:"code"`   // exit code; 128+n if signal n ended it
	Signal string  `json:"signal"` // name of the signal, "" if it exited

	Raised *Exception `json:"raised,omitempty"` // nil if none ended it, as far as the hook saw
}

// Exception is what ended a Python program. Its message is not recorded, because it may quote a
// sample.
type Exception struct {
	PID   int    `json:"pid"`
	Type  string `json:"type"`            // "ModuleNotFoundError", "torch.OutOfMemoryError"
	About string `json:"about,omitempty"` // the missing module, name or attribute
	File  string `json:"file,omitempty"`  // of the innermost line of the program's own code
	Line  int    `json:"line,omitempty"`
}

// Where returns "/home/me/train.py:4"; "" if unknown.
func (e Exception) Where() string {
	if e.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", e.File, e.Line)
}

// Overhead is the cost of observing, measured by the observer itself.
type Overhead struct {
	CPU     float64 `json:"cpu_seconds"`  // core time of stoker observe
	Wall    float64 `json:"wall_seconds"` // over this time
	Dropped int     `json:"dropped"`      // hook records lost because their channel was full
}

// Phase is what a step was part of.
type Phase string

// The phases of a run.
const (
	WarmUp     Phase = "warm-up"
	Train      Phase = "train"
	Evaluate   Phase = "evaluate"
	Checkpoint Phase = "checkpoint"
	Skip       Phase = "skipping" // fetched and discarded
	Compile    Phase = "compilation"
	Graphs     Phase = "graph capture"
	Traced     Phase = "trace" // a profiler that Stoker requested was active
)

// Step is one iteration of a loop over a loader: from one request for a batch to the next.
// Times are seconds; NaN is unknown.
type Step struct {
	PID     int     // process that requested the batch
	Rank    int     // its rank
	Device  int     // device that worked, -1 if unknown
	Loader  int     // Loader.ID within the process
	N       int     // count within the loader
	Start   float64 // when the loop requested the batch
	Period  float64 // until it requested the next one, on the host's clock
	Wait    float64 // until it had the batch: host wait
	Samples float64 // in the batch
	First   bool    // first of an epoch: Wait includes starting the iterator
	Pass    int     // which pass over its loader it belongs to
	Phase   Phase

	// Idle is how long the device was idle at the input boundary, by its own clock: from the
	// request to the batch, as seen by the device. DevicePeriod is from request to request on
	// the same clock.
	Idle         float64
	DevicePeriod float64
	NoClock      string // why the device's clock is unknown

	Optimized float64 // optimizer steps of the process within Period; NaN unknown
	Ran       float64 // how long the pass of the model took that the step begins with; NaN of other steps

	Inside *Inside // nil: not measured for this step
}

// OwnLoop is the Loader of steps without a loader: from one optimizer step to the next, else
// from one pass of the model to the next. It is also that of evaluation and checkpoints inside
// of such a loop. Their Wait and Idle are unknown.
const OwnLoop = -1

// duration returns how long the step took: by the device's clock if known, else by the host's.
// The two differ while a queue of launched work builds up.
func (s Step) duration() float64 {
	if !math.IsNaN(s.DevicePeriod) {
		return s.DevicePeriod
	}
	return s.Period
}

// FindLoader returns a process's loader, or nil.
func (r *Run) FindLoader(pid, id int) *Loader {
	for i := range r.Facts.Loaders {
		if l := &r.Facts.Loaders[i]; l.PID == pid && l.ID == id {
			return l
		}
	}
	return nil
}

// SettingsOf returns the settings of a process's loader. If the recording does not identify the
// loader's process, as in a trace, it returns those of the only loader.
func (r *Run) SettingsOf(pid, id int) stoker.Settings {
	if l := r.FindLoader(pid, id); l != nil {
		return l.Settings
	}
	if len(r.Facts.Loaders) == 1 {
		return r.Facts.Loaders[0].Settings
	}
	return nil
}

// FindProcess returns the process with a PID, or nil.
func (r *Run) FindProcess(pid int) *Process {
	for i := range r.Facts.Processes {
		if p := &r.Facts.Processes[i]; p.PID == pid {
			return p
		}
	}
	return nil
}

// Workers returns the worker processes of a trainer.
func (r *Run) Workers(trainer int) []Process {
	var workers []Process
	for _, p := range r.Facts.Processes {
		if p.Role == RoleWorker && p.Parent == trainer {
			workers = append(workers, p)
		}
	}
	return workers
}

// Emulated reports whether some device of the run was an emulated one.
func (r *Run) Emulated() bool {
	for _, g := range r.Facts.GPUs {
		if g.Emulated {
			return true
		}
	}
	return false
}

// End returns the time of the latest recorded event, seconds.
func (r *Run) End() float64 {
	end := 0.0
	if r.Facts.Exit != nil {
		end = r.Facts.Exit.At
	}
	for _, s := range r.Series {
		if n := len(s.T); n > 0 {
			end = max(end, s.T[n-1])
		}
	}
	if n := len(r.Steps); n > 0 {
		end = max(end, r.Steps[n-1].Start)
	}
	return end
}
