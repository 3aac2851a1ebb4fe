package verify

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
)

const (
	// [J] The same job, started again, may differ by this much even if each run is steady:
	// clocks, placement, page cache. The interval of a single run does not include it.
	restart = 0.01

	// [J] The least gain that advice promises. Runs that cannot resolve this gain are too short
	// to say that there is no difference.
	worthTelling = 0.05

	// [J] The least seconds of steady steps in a run. A machine changes its pace over times
	// longer than the shortest runs: half-second pieces of one run on an H100 were called
	// different in 45 of 100 pairs (bench/gpu).
	leastSeconds = 1.0

	// [J] The greatest factor by which a run is said to have to be longer; beyond it, length is
	// not the remedy.
	longest = 1000

	// [J] If fewer steps than this make up the variance, they are stragglers, and one more or
	// less changes the mean.
	fewRare = 4
)

// noise returns the relative difference that two runs exceed in only 1 of 20 cases if nothing
// was changed: the relative half-width of the interval of their ratio, restart at least.
func noise(ratio stoker.Interval) float64 { return max(ratio.High/ratio.Point-1, restart) }

// differ returns what the interval of a ratio of times proves.
func differ(ratio stoker.Interval) Difference {
	switch {
	case ratio.Low > 1 && ratio.Point > 1+restart:
		return Faster
	case ratio.High < 1 && ratio.Point < 1/(1+restart):
		return Slower
	case noise(ratio) > worthTelling:
		return TooShort
	}
	return None
}

// fillNeeded fills in how long the runs would have to be for a decision: the half-width of an
// interval falls with the square root of the length.
func (o *Outcome) fillNeeded() {
	if o.Before.Runs+o.After.Runs > 2 {
		if o.Difference == TooShort || o.Promise.Kept == PromiseUndecided {
			o.Warnings = append(o.Warnings,
				"runs of the same side differ: more runs of each would tell, not only longer ones")
		}
		return
	}
	half, factor := math.Log(o.Speedup.High/o.Speedup.Point), 1.0
	if o.Difference == TooShort {
		factor = max(factor, math.Pow(half/math.Log1p(worthTelling), 2))
	}
	if o.Promise.Kept == PromiseUndecided {
		factor = max(factor, math.Pow(half/math.Log(o.Speedup.Point/atLeast(*o.Promise.Promised)), 2))
	}
	if !(factor > 1 && factor < longest) {
		return
	}
	for _, side := range []*Side{&o.Before, &o.After} {
		side.Needed = &Length{Steps: math.Ceil(factor * float64(side.Steps)), Seconds: factor * side.Seconds}
	}
}

// trust returns warnings about a side whose interval may be too narrow because of the kind of
// its steps; none if the effect is smaller than that of a restart.
func (s sample) trust(name string) (warnings []string) {
	if s.runs > 1 || s.alone < restart { // several runs show by how much their means differ
		return nil
	}
	if s.independent < fewIndependent {
		warnings = append(warnings, fmt.Sprintf(
			"the run %s drifts, or is short beside its own swings: its %.0f steps tell as much of their mean as "+
				"%.1f independent ones, and its interval is doubled",
			name, s.steps, s.independent))
	}
	if s.rare < fewRare {
		warnings = append(warnings, fmt.Sprintf(
			"the mean of the run %s rests on few long steps: %.1f of %.0f make up its scatter, and one more or "+
				"less would move it further than its interval says",
			name, s.rare, s.steps))
	}
	return warnings
}

// atLeast returns the least speed-up that keeps a promise: its low end, reduced by the effect
// of a restart.
func atLeast(speedup stoker.Interval) float64 { return speedup.Low / (1 + restart) }
