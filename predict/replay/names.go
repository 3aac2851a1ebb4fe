package replay

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// kindOf returns the kind of a runtime or driver call, by its name.
func kindOf(name string) kind {
	switch {
	case recording.WaitsForDevice(name):
		return wait
	case recording.LaunchesWork(name):
		return launch
	case recording.AllocatesMemory(name):
		return allocate
	}
	return other
}

func recordsEvent(name string) bool { return strings.Contains(name, "EventRecord") }

func waitsEvent(name string) bool { return strings.Contains(name, "StreamWaitEvent") }

// blocksAlways reports whether a copying call returns only when its copy is done,
// regardless of the memory: cudaMemcpy against cudaMemcpyAsync.
func blocksAlways(name string) bool {
	call, known := recording.RuntimeCall(name)
	return known && strings.HasPrefix(call, "Memcpy") && !strings.Contains(name, "Async")
}

// sourceOf returns who prepares the batch for which a span waits.
func sourceOf(name string) source {
	switch {
	case strings.Contains(name, "MultiProcessing"):
		return others
	case strings.Contains(name, "SingleProcess"):
		return itself
	}
	return unnamed
}

func isPinned(name string) bool { return strings.Contains(name, "Pinned") }
