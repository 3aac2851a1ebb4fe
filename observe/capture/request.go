package capture

import (
	"fmt"
	"math"
	"strings"
)

// Request says what to record.
type Request struct {
	Steps  int  // optimizer steps
	Stacks bool // Python's stacks as well
	Shapes bool // operand shapes as well
}

// MostSteps bounds a request: some files reach 6 MB a step.
const MostSteps = 1000

// Cost says what a trace costs the job, as measured: with PyTorch 2.2 to 2.15 on
// two cores without a GPU, 2026-11-21, steps/s in the worst half second of a
// recorded second against those before (400 to 460; 374 plain, 359 with stacks,
// 288 with stacks and shapes). The longest single step was 26 to 559 ms in five
// captures with PyTorch 2.15 on the same machine while it was busy: libkineto sets
// itself up with the first.
func (r Request) Cost() string {
	slower := "7 to 23 %"
	switch {
	case r.Stacks && r.Shapes:
		slower = "39 to 60 %"
	case r.Stacks:
		slower = "11 to 28 %"
	case r.Shapes:
		slower = "between 7 and 60 %"
	}
	return fmt.Sprintf("a trace of %d steps is taken once, when steps are steady; steps then take %s longer for a second or two, one of them up to 0.6 s, "+
		"and 1.4 to 2.7 us longer at other times (measured on two cores without a GPU; what it cost here is said at the end)", r.Steps, slower)
}

// Bounds of a trace by time, seconds.
const (
	leastTime = 0.1
	mostTime  = 5.0
	someTime  = 0.5 // where the length of a step is unknown
)

// byTime is how long a trace of the steps lasts, milliseconds.
func (r Request) byTime(step float64) int {
	seconds := float64(r.Steps) * step
	if math.IsNaN(seconds) || seconds <= 0 {
		seconds = someTime
	}
	return int(1000 * min(mostTime, max(leastTime, seconds)))
}

// slowStep is the step time above which the start is not rounded up to a multiple
// of ten steps, seconds.
const slowStep = 1.0

// config is the text that libkineto is answered with. Keys as in its Config.cpp;
// which of them all four versions heed was tried.
//
// By steps ACTIVITIES_DURATION_MSECS must be 0: else a request that comes before
// the first optimizer step silently becomes a trace by time, nearly empty. With it
// the request is refused, and offered again. A warm-up of 0 s is set because the
// default adds five.
func (r Request) config(file string, step float64, timed bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ACTIVITIES_LOG_FILE=%s\nACTIVITIES_WARMUP_PERIOD_SECS=0\n", file)
	if timed {
		fmt.Fprintf(&b, "PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=%d\n", r.byTime(step))
	} else {
		round := 10 // so that warm-up iterations, where a version has them, find their place
		if step > slowStep {
			round = 1
		}
		fmt.Fprintf(&b, "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=%d\nACTIVITIES_ITERATIONS=%d\nACTIVITIES_DURATION_MSECS=0\n", round, r.Steps)
	}
	fmt.Fprintf(&b, "PROFILE_REPORT_INPUT_SHAPES=%t\nPROFILE_PROFILE_MEMORY=false\nPROFILE_WITH_STACK=%t\n", r.Shapes, r.Stacks)
	return b.String()
}
