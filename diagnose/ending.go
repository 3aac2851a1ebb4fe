package diagnose

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Ending is how a command ended that did not end with 0.
type Ending struct {
	recording.ExitStatus
}

// EndingOf is how a run's command ended; nil if it ended with 0, or has not ended as far as
// was seen.
func EndingOf(run *recording.Run) *Ending {
	if exit := run.Facts.Exit; exit != nil && exit.Code != 0 {
		return &Ending{*exit}
	}
	return nil
}

// Failed reports whether the command ended for a fault, not because a person or a scheduler
// stopped it; false for nil.
func (e *Ending) Failed() bool { return e != nil && !slices.Contains(stops, e.findSignal()) }

// stops are the signals by which people and schedulers end a program.
var stops = []string{"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"}

// findSignal is what ended the command, or the last program of a shell that was it; "" none.
func (e *Ending) findSignal() string {
	if e.Signal != "" {
		return e.Signal
	}
	return shellSignals[e.Code]
}

// shellSignals are the exit codes that shells give for the signals of Linux that end programs.
var shellSignals = map[int]string{
	128 + 1: "SIGHUP", 128 + 2: "SIGINT", 128 + 3: "SIGQUIT", 128 + 4: "SIGILL", 128 + 6: "SIGABRT",
	128 + 7: "SIGBUS", 128 + 8: "SIGFPE", 128 + 9: "SIGKILL", 128 + 11: "SIGSEGV", 128 + 13: "SIGPIPE",
	128 + 15: "SIGTERM", 128 + 24: "SIGXCPU", 128 + 25: "SIGXFSZ", 128 + 31: "SIGSYS",
}

// String is "exit code 1 after 2.6 s: KeyError at train.py:4".
func (e *Ending) String() string {
	text := e.Short() + " after " + quantity.AboutSeconds(e.At)
	if r := e.Raised; r != nil {
		text += ": " + r.Type
		if r.About != "" {
			text += " (" + r.About + ")"
		}
		if where := r.Where(); where != "" {
			text += " at " + path.Base(where)
		}
	}
	return text
}

// Short is "exit code 1" or "SIGSEGV (exit code 139)".
func (e *Ending) Short() string {
	if signal := e.findSignal(); signal != "" {
		return fmt.Sprintf("%s (exit code %d)", signal, e.Code)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Evidence names the ending before all else that is known of a program that did not train.
func (e *Ending) Evidence() []Evidence {
	if e == nil {
		return nil
	}
	return AddEvidence(nil, float64(e.Code), "code", "exit", "the command ended with %s", e)
}

// Advice is what to do about a command that failed.
func (e *Ending) Advice() string {
	if lack := e.MemoryAdvice(); lack != "" {
		return lack
	}
	if e.Raised == nil {
		return "look at its last lines on stderr, and record it again once it runs"
	}
	return "repair what its last lines on stderr say, and record it again"
}

// MemoryAdvice is what to do about a program that ran out of memory; "" of another one.
func (e *Ending) MemoryAdvice() string {
	if e == nil || e.Raised == nil {
		return ""
	}
	names := strings.Split(e.Raised.Type, ".")
	name := names[len(names)-1]
	if slices.Contains(tellingMemory, name) {
		return memoryAdvice[e.Raised.About]
	}
	return memoryAdvice[name]
}

// tellingMemory are exceptions of PyTorch whose messages tell which memory ran out (python/hook/ending.py).
var tellingMemory = []string{"RuntimeError", "AcceleratorError"}

// What to do where memory of the host ran out.
const (
	hostMemoryAdvice = "host memory ran out. Use fewer workers, a smaller prefetch_factor, or pin_memory=False"
	pinLessAdvice    = "a smaller prefetch_factor, fewer workers, smaller samples (uint8), or pin_memory=False"
)

// memoryAdvice is what to do about exceptions of memory: by their names, or by which memory ran out.
var memoryAdvice = map[string]string{
	"OutOfMemoryError": "device memory ran out. Use a smaller batch_size, and in training accumulate gradients: 8 batches " +
		"of 8 are one of 64 to the optimizer, in the memory of 8. bf16 and activation checkpointing take less. Batches " +
		"that wait on the device, and losses kept without detach(), fill it as well",
	"MemoryError": hostMemoryAdvice,
	"host memory": hostMemoryAdvice,
	"worker killed": "host memory probably ran out, and the system killed a worker (dmesg tells). Use fewer workers or a " +
		"smaller prefetch_factor",
	"pinned memory": "page-locked memory ran out. Use " + pinLessAdvice,
	"CUDA memory": "page-locked memory ran out, or in CUDA's first call the device's own (nvidia-smi shows whose processes " +
		"fill it). If it is the former, use " + pinLessAdvice,
	"shared memory": "/dev/shm ran out, in which batches of workers wait. Use docker run --shm-size or --ipc=host, fewer " +
		"workers, or a smaller prefetch_factor",
}
