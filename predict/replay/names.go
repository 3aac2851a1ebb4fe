package replay

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// kindOf says what a call of a runtime or driver does, by its name: CUDA's and
// HIP's, with or without the suffixes that profilers add.
func kindOf(name string) kind {
	switch {
	case strings.Contains(name, "Synchronize"):
		return wait
	case strings.Contains(name, "Launch"):
		return launch
	case recording.ContainsAny(name, "Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister", "MemMap",
		"MemUnmap", "MemCreate", "MemRelease", "MemAlloc"):
		return allocate
	}
	return other
}

func recordsEvent(name string) bool { return strings.Contains(name, "EventRecord") }

func waitsEvent(name string) bool { return strings.Contains(name, "StreamWaitEvent") }

// blocksAlways reports whether a copying call returns only when its copy is done,
// regardless of the memory: cudaMemcpy against cudaMemcpyAsync.
func blocksAlways(name string) bool {
	return strings.Contains(name, "Memcpy") && !strings.Contains(name, "Async")
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
