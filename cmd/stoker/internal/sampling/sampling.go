// Package sampling has what verbs that sample a machine share: its GPUs, and how they stay out of the way.
package sampling

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/stoker-dev/stoker/observe"
	"github.com/stoker-dev/stoker/observe/gpu"
)

// OpenGPUs opens the GPUs of this machine, outside of any job.
func OpenGPUs() (observe.GPU, error) {
	return observe.OpenGPUs(gpu.Options{
		Emulate: os.Getenv("STOKER_EMULATE") == "1",
		Page:    os.Getenv("STOKER_EMULATED_PAGE"),
	})
}

// mostMemory is what Go's heap and stacks may take before it is collected sooner: a
// run in memory weighs 12 MB at most (recording.Writer), a file that is written anew
// ten more for a minute.
const mostMemory = 34 << 20

// BeFrugal keeps the observer out of the way of what it observes. With one
// processor Go's scheduler does not look for work on others at each wake-up, and
// a larger heap is collected less often: 0.98 to 0.91 % of a core with 5 ms steps
// (bench/overhead.py's script, 2 cores, 2026-11-21).
func BeFrugal() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(mostMemory)
}
