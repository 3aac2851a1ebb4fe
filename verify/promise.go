package verify

import "github.com/stoker-dev/stoker"

// hold sets what was achieved beside what was promised. That two intervals meet
// proves nothing: a wide one meets every promise. So a promise was kept only where the
// whole interval reaches it, and missed only where the whole interval lies below. More
// than the high end is better than promised, unless what was promised lies within.
func hold(speedup, achieved stoker.Interval) Promise {
	p := Promise{Kept: NotPromised, Achieved: &achieved}
	if !promised(speedup) {
		return p
	}
	p.Promised = &speedup
	low, high := atLeast(speedup), speedup.High*(1+restart)
	switch {
	case achieved.High < low:
		p.Kept = PromiseMissed
	case achieved.Low < low:
		p.Kept = PromiseUndecided
	case achieved.Point > high && achieved.Low > speedup.Point*(1+restart):
		p.Kept = PromiseExceeded
	case achieved.Point > high:
		p.Kept = PromiseReached
	default:
		p.Kept = PromiseKept
	}
	return p
}

// atLeast is what has to be reached of a promise, less what starting again may do.
func atLeast(speedup stoker.Interval) float64 { return speedup.Low / (1 + restart) }

// untested is a promise between runs that cannot be compared.
func untested(speedup stoker.Interval) Promise {
	if !promised(speedup) {
		return Promise{Kept: NotPromised}
	}
	return Promise{Kept: PromiseUntested, Promised: &speedup}
}

// promised reports whether a forecast says from where to where the speed-up lies; "at
// most" promises nothing.
func promised(speedup stoker.Interval) bool {
	return speedup.Low > 0 && speedup.Low <= speedup.Point && speedup.Point <= speedup.High
}
