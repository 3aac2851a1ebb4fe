package judge

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
)

// evidenceKind is what a live verdict rests on, as far as the exam of bench/accuracy tells it apart.
type evidenceKind int

const (
	noExam  evidenceKind = iota // no exam has them: traces, servers, our loader, GPU-Util alone, empty SMs
	outside                     // without the hook: meters, threads and counters
	clocked                     // the hook's steps and the device's own clock
	inside                      // the same, with the launches of a step counted
)

// evidenceOf tells what a Case holds.
func evidenceOf(c *diagnose.Case) evidenceKind {
	switch {
	case !math.IsNaN(c.WorksRecorded) || c.Costs.Feed != nil || c.LaunchThreadTime == "" || c.Requests.Known():
		return noExam
	case !c.HookLoaded && c.DeviceWaitsForLaunch.CanBeAsked():
		return noExam // by SMs that kernels leave empty
	case !c.HookLoaded:
		return outside
	case c.DeviceWaitsForLaunch.CanBeAsked():
		return inside
	}
	return clocked
}

// examined is how many verdicts of the exam were right.
type examined struct{ right, verdicts float64 }

// examOf are verdicts of simulated jobs by evidence, and by whether they say gpu-bound, whose best
// rule leads by clearLead: of bench/accuracy's tune seeds. Its page holds these shares against jobs of
// its test seeds.
var examOf = map[evidenceKind]map[bool]examined{
	outside: {true: {19, 20}, false: {266, 266}},
	clocked: {true: {30, 31}, false: {640, 640}},
	inside:  {true: {15, 15}, false: {300, 300}},
}

// Start values. [J]
const (
	clearLead   = 0.8 // of the best rule over the second: below, the exam has next to no verdicts
	fewVerdicts = 15
)

// mostConfident is how often verdicts were right in the exam on real processes: a simulator is kinder
// than they are, so none is more certain than that.
const mostConfident = 0.90

// measureConfidence is how often the exam's verdicts of the same evidence were right; NaN for an
// unknown one, and where the exam has too few like it.
func measureConfidence(c *diagnose.Case, v diagnose.Verdict) float64 {
	if v.Class == diagnose.Unknown || v.Class == diagnose.WaitsOutside || v.Class == diagnose.StartUp ||
		v.Scores[0].Value-v.Scores[1].Value < clearLead {
		return math.NaN()
	}
	bound := v.Class.Is(diagnose.GPUBound)
	had := examOf[evidenceOf(c)][bound]
	if had.verdicts < fewVerdicts || bound && c.SeveralRanks && !c.OneRankLate.CanBeAsked() {
		return math.NaN() // the exam's devices that wait for a late rank look the same
	}
	return min(mostConfident, (had.right+1)/(had.verdicts+2)) // Laplace's
}
