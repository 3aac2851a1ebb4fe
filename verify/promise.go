package verify

import "github.com/stoker-dev/stoker"

// hold compares a measured speed-up with a promised one. That the two intervals overlap proves
// nothing, because a wide one overlaps every promise. So a promise counts as kept only if the
// whole measured interval reaches its low end, and as missed only if the whole interval is
// below it. A point above the high end is better than promised, if the interval excludes the
// promised point.
func hold(speedup, achieved stoker.Interval) Promise {
	p := Promise{Kept: NotPromised, Achieved: &achieved}
	if !isPromised(speedup) {
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

// untestedPromise returns a promise between runs that cannot be compared.
func untestedPromise(speedup stoker.Interval) Promise {
	if !isPromised(speedup) {
		return Promise{Kept: NotPromised}
	}
	return Promise{Kept: PromiseUntested, Promised: &speedup}
}

// isPromised reports whether a forecast has a complete interval. An upper bound alone promises
// nothing.
func isPromised(speedup stoker.Interval) bool {
	return speedup.Low > 0 && speedup.Low <= speedup.Point && speedup.Point <= speedup.High
}
