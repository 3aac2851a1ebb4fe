package verify

import "stoker"

// hold sets what was achieved beside what was promised. A promise is broken only
// where the whole interval lies below it and noise does not reach it.
func hold(speedup, achieved stoker.Interval, noise float64) Promise {
	p := Promise{Kept: NotPromised, Achieved: &achieved}
	if !promised(speedup) {
		return p
	}
	p.Promised = &speedup
	switch {
	case achieved.High*(1+noise) < speedup.Low:
		p.Kept = PromiseMissed
	case achieved.Low/(1+noise) > speedup.High:
		p.Kept = PromiseExceeded
	default:
		p.Kept = PromiseKept
	}
	return p
}

// untested is a promise between runs that cannot be compared.
func untested(speedup stoker.Interval) Promise {
	if !promised(speedup) {
		return Promise{Kept: NotPromised}
	}
	return Promise{Kept: PromiseUntested, Promised: &speedup}
}

// promised reports whether a forecast says anything of the speed-up.
func promised(speedup stoker.Interval) bool { return speedup.Known() && speedup.Point > 0 }
