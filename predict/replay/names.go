package replay

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// kindOf says what a call of a runtime or driver does, by its name.
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

// sourceOf says who prepares the batch that a span blocks on.
func sourceOf(name string) source {
	switch {
	case strings.Contains(name, "_MultiProcessing"):
		return others
	case strings.Contains(name, "_SingleProcess"):
		return itself
	}
	return unnamed
}

func isPinned(name string) bool { return strings.Contains(name, "Pinned") }
