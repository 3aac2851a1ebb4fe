package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// adviser is what the proposals look at.
type adviser struct {
	run     *recording.Run
	verdict diagnose.Verdict
	costs   measure.Costs
	base    predict.Baseline
}

// forecast solves the job with the changes.
func (a adviser) forecast(changes ...stoker.Change) predict.Forecast {
	return a.base.Forecast(changes...)
}

// makeChange builds a Change from the value as found.
func (a adviser) makeChange(name stoker.Setting, to any) stoker.Change {
	return stoker.Change{Setting: name, From: a.base.Settings[name], To: to}
}

func worthIt(f predict.Forecast) bool {
	if math.IsNaN(f.Speedup.Point) { // only bounded
		return f.Speedup.High >= leastGain
	}
	return f.Speedup.Point >= leastGain && f.Speedup.Low > 1
}

// worthIt is worthIt for a run. If it is not known why the device is idle, the
// law explains little of the step, and a gain must be one at its worst, too.
func (a adviser) worthIt(f predict.Forecast) bool {
	return worthIt(f) && (a.verdict.Class != diagnose.Unknown || f.Speedup.Low >= leastGain)
}

func notWorth(f predict.Forecast) string {
	switch {
	case f.Speedup.Known():
	case math.IsNaN(f.Speedup.High):
		return "its gain is unknown here"
	default:
		return atMostWorth(f.Speedup.High)
	}
	return noGain(f.Speedup.Point) + ": " + quantity.Factor(f.Speedup)
}

// atMostWorth says why a change is not advised of which only a bound is known.
func atMostWorth(most float64) string { return noGain(most) + ": at most " + quantity.AboutRatio(most) }

// noGain says whether a change is not advised for want of a gain, or of certainty.
func noGain(gain float64) string {
	if gain < leastGain {
		return "no measurable gain"
	}
	return "the gain is too uncertain"
}

// atIdle is what a device that never idles would be worth for the same work of the host: no more than the cores can
// do. A launching thread that spins for the device may do so while that works, and no
// longer.
func (a adviser) atIdle() float64 {
	most := a.withoutIdle()
	cores, used := a.run.Facts.Machine.Cores(), a.costs.CoresUse-(1-a.verdict.Idle)
	if cores > 0 && used > 0 {
		most = max(1, min(most, cores/used))
	}
	return most
}

// withoutIdle is the same of a change that takes work off the host, which needs fewer cores then; NaN if the device
// never works.
func (a adviser) withoutIdle() float64 {
	if util := 1 - a.verdict.Idle; util > 0 {
		return 1 / util
	}
	return math.NaN()
}

// atOverlap is the upper bound of running work of the host at the same time as the device's own and not
// in turns with it, if it takes such a share of the time: (a + b)/max(a, b). It gets no
// shorter by that.
func atOverlap(share float64) float64 { return 1 / max(share, 1-share) }

// atRemoval is the upper bound of removing a share of the time.
func atRemoval(share float64) float64 { return 1 / (1 - min(share, mostRemoved)) }

// mostRemoved is the share of the time that a bound is drawn for: beyond it the rest was not
// measured as well as that. [J]
const mostRemoved = 0.99

// atMost is a forecast that is only bounded.
func (a adviser) atMost(most float64) predict.Forecast {
	f := predict.NoForecast()
	if !math.IsNaN(most) {
		f.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: most}
	}
	return f
}

// aboutTheSame is the ratio of gains from which one is worth more than another.
const aboutTheSame = 1.05

// order sorts fixes by worth, those with only a bound last. Fixes worth about as much as
// the best of those that are left goes together, the easiest first: being about the same
// is not passed on from neighbour to neighbour, so the order does not depend on the input's.
func order(fixes []Fix) {
	worth := func(f Fix) float64 { return stat.Or(f.Forecast.Speedup.Point, 0) }
	most := func(f Fix) float64 { return stat.Or(f.Forecast.Speedup.High, 0) }
	decreasing := func(of func(Fix) float64) func(a, b Fix) int {
		return func(a, b Fix) int { return cmp.Compare(of(b), of(a)) }
	}
	compare := func(by ...func(a, b Fix) int) func(a, b Fix) int {
		return func(a, b Fix) int {
			for _, c := range by {
				if d := c(a, b); d != 0 {
					return d
				}
			}
			return cmp.Compare(fmt.Sprint(a.Changes), fmt.Sprint(b.Changes))
		}
	}
	effort := func(a, b Fix) int {
		return cmp.Compare(slices.Index(efforts, a.Effort), slices.Index(efforts, b.Effort))
	}
	slices.SortFunc(fixes, compare(decreasing(worth), decreasing(most), effort))
	for len(fixes) > 0 {
		same := 1
		for same < len(fixes) && worth(fixes[same]) > 0 && worth(fixes[same])*aboutTheSame >= worth(fixes[0]) {
			same++
		}
		slices.SortFunc(fixes[:same], compare(effort, decreasing(worth), decreasing(most)))
		fixes = fixes[same:]
	}
}

// orderPlan orders by worth, behind what takes the named cause away.
func orderPlan(fixes []Fix) {
	order(fixes)
	slices.SortStableFunc(fixes, func(a, b Fix) int {
		switch {
		case a.Cause == b.Cause:
			return 0
		case a.Cause:
			return -1
		}
		return 1
	})
}

// hostOnly reports whether only the loader's side was measured. The CPU side's wait
// then bounds a gain, because the device may cover any part of that wait.
func (a adviser) hostOnly() bool {
	return a.costs.Feed != nil && math.IsNaN(a.verdict.Stall) && math.IsNaN(a.verdict.Idle)
}
