package verify

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
)

const (
	// [J] The same job, started again, differs by this much though each of the two
	// runs is steady: clocks, placement, page cache. No interval of one run shows it.
	restart = 0.01

	// [J] The least gain that advise gives: runs that cannot tell as much are too
	// short, not alike.
	worthTelling = 0.05

	// [J] Seconds of steady steps that a run has at least. A machine changes its pace for longer than the shortest
	// runs last: pieces of half a second of one run on an H100 were told apart in 45 of 100 pairs (bench/gpu).
	leastSeconds = 1.0

	// [J] A run is not asked to become longer than by this factor: what would take so
	// long is no matter of length.
	longest = 1000

	// [J] Where fewer steps than this make up the variance, they are stragglers, and
	// one more or less moves the mean.
	fewRare = 4
)

// noise is by which share two runs differ at most, in 19 of 20 cases, though nothing
// was changed: how far the interval of their ratio reaches.
func noise(ratio stoker.Interval) float64 { return max(ratio.High/ratio.Point-1, restart) }

// differ says what the interval of a ratio of times proves.
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

// fillNeeded fills in how long the runs would have to be to tell what these do not: the
// half-width of an interval falls with the root of the length.
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

// trust says where a side's steps are of a kind that its interval does not cover well;
// not where that is less than what starting again does.
func (s sample) trust(name string) (warnings []string) {
	if s.runs > 1 || s.alone < restart { // several runs show by how much their means move
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
