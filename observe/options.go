package observe

import (
	"io/fs"
	"os"
	"time"

	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/recording"
)

// Options say what to observe. Command or PID must be set; everything else is useful
// as it is.
type Options struct {
	// Command is the program to run and its arguments. Its standard streams are
	// Stdin, Stdout and Stderr themselves, nil means /dev/null; it runs in Dir,
	// "" means here.
	Command               []string
	Dir                   string
	Stdin, Stdout, Stderr *os.File

	// Apart runs the command in a separate session: it has no terminal, and its
	// signals are the caller's to send, to the process group that Started gets. It
	// ends with us (SIGTERM), also where we are killed.
	Apart   bool
	Started func(group int)

	// PID is a process to attach to instead. There is no hook then.
	PID int

	// Output is the recording's file; "" keeps the run in memory only. An existing file is not
	// changed, and the recording gets a new name next to it (recording.Beside).
	Output string

	// Recording gets the path of the recording, at the start and again if that
	// changes; "" is nowhere.
	Recording func(path string)

	// Hook are the start-up hook's files; nil is no hook.
	Hook fs.FS

	// NoLines leaves it alone on which lines of Python the loader's time goes.
	NoLines bool

	// Emulate reads emulated GPUs only, and tells the program where to
	// report them.
	Emulate bool

	// Trace asks for a trace of each rank by PyTorch's own profiler, once its steps are
	// steady. The hook takes it. nil asks for none.
	Trace *TraceRequest

	// Inside is asked once a second for the process to trace now, and for the number of steps;
	// process 0 means none. It is asked until it names one: a run has one such trace, and none
	// if Trace asks for one. nil asks for none.
	Inside func() (pid, steps int)

	// Log is asked once a second what the hook is to log; nil if there is nothing, or never
	// will be.
	Log func() *Log

	// Ended is called when the command has ended, before the rest of the work on the recording.
	Ended func()

	// Say gets news of a trace, in sentences.
	Say func(text string)

	// OpenGPU opens the probe for GPUs; page is the file of emulated ones. nil
	// is gpu.Open. It may take its time: the command does not wait for it.
	OpenGPU func(page string) (GPU, error)

	// Version of this Stoker, for the recording.
	Version string

	// OnTick may look at the run so far (at least at its judged part), at most once a second,
	// and less often if it takes longer than a hundredth of the time. It is called in the
	// recording goroutine, and may keep the run.
	OnTick func(sofar func() *recording.Run, now float64)

	// Warn gets each trouble once, in a sentence with its remedy.
	Warn func(text string)
}

// TraceRequest says what PyTorch's profiler is to write.
type TraceRequest struct {
	Steps  int  `json:"steps"`
	Stacks bool `json:"stacks,omitempty"` // Python's stacks as well
	Shapes bool `json:"shapes,omitempty"` // operand shapes as well
}

// MostTraceSteps bounds a request: some files reach 6 MB a step.
const MostTraceSteps = 1000

// Log is what the hook logs into the run that the program has open in another tool
// (python/hook/log.py).
type Log struct {
	PID    int                `json:"-"`  // of the process that has it open
	To     []string           `json:"to"` // "wandb", "mlflow"
	Step   int                `json:"step"`
	Values map[string]float64 `json:"values"` // finite
}

// GPU is what Record needs of a GPU probe; *gpu.Probe is one.
type GPU interface {
	Facts() gpu.Facts
	Read(now time.Time) []gpu.Reading
	Absent() []string
	Close() error
}
