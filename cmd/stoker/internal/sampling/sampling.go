// Package sampling is shared by verbs that sample a machine: it opens GPUs and limits their own cost.
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

// mostMemory is how large Go's heap and stacks may get before garbage is collected more often. A
// run in memory takes 12 MB at most (recording.Writer), and rewriting its file 10 MB more for a
// minute.
const mostMemory = 34 << 20

// BeFrugal reduces what the observer takes of the observed machine. With one processor, Go's
// scheduler does not search for work on others at each wake-up. A larger heap is collected less
// often. Measured: 0.98 to 0.91 % of a core with 5 ms steps (bench/overhead.py's script, 2 cores,
// 2026-11-21).
func BeFrugal() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(mostMemory)
}
