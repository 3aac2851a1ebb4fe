package traced

import (
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// filler fills a Case from a profiler's gaps: those of the judged device. That is the
// device of the rank which the others wait for, else the one that is idle longest for input,
// and of those that do not, the most idle one.
type filler struct {
	t        *recording.Timeline
	all      *idle.Analysis
	d        *idle.Device
	kernels  *idle.Kernels
	copies   *idle.Copies
	waits    *idle.WaitTotals
	ranks    *ranks.Table  // nil with one rank
	gpu      recording.GPU // zero if nothing is known of it
	hip      bool          // the calls are ROCm's: names do not tell pinned from pageable
	world    int           // ranks of the run
	lost     float64       // share of the device's work that has no right time in the file
	costs    measure.Costs
	hasSteps bool
	unmarked bool // the file shows no steps: all of it is taken as one
	oneRun   bool // a timeline: one run of a graph, whose launches are not in the file
	parts    diagnose.Parts
	long     longWork
	kernel   float64 // share of the window in which kernels of computation ran
	frames   float64 // calls of Python that were recorded in it
	recorder float64 // share of it that is idle because they were
	chip     diagnose.Chip
	major    float64 // its compute capability; NaN if it is not known or not NVIDIA's
	grounds  diagnose.Grounds
	itself   float64 // how sure it is that the launching thread loads

	played *replay.Trace // of the steps, once it was asked for; nil if there is none
	asked  bool
}

// Marks, start values. [J]
const (
	shortKernel = 10e-6 // of a kernel that a launch outlasts, seconds
)

// judgedRank is that of the judged device.
func (t *filler) judgedRank() int {
	if t.d.Process >= 0 {
		return t.all.Processes[t.d.Process].Rank
	}
	return max(0, t.t.Devices[t.d.Index].Rank)
}

func toSeconds(ns int64) float64 { return float64(ns) / 1e9 }
