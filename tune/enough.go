package tune

import "github.com/stoker-dev/stoker/verify"

// These constants decide how long a run lasts. Checking repeatedly and stopping at the first
// narrow interval favours moments at which the spread happens to look small, so a nominal 95 %
// interval would cover the truth less often than that. Three rules counter this: checks are few
// (each needs a quarter more steps than the last), none is early, and the interval that must be
// narrow is computed wider than the one that is reported. TestStopping checks how often
// verify's interval covers the truth for pairs of runs stopped by this rule.
const (
	leastSteps   = 60   // [J] enough to say something about slow changes
	leastSeconds = 8.0  // [J] by then queues have filled and noisy neighbours have shown up
	lookEvery    = 1.25 // steps at a check, relative to those at the check before
	precise      = 0.02 // required half-width of the interval of the mean step, relative to the mean
	doubtOfLooks = 1.15 // factor by which that half-width is widened because of repeated checks
)

// StopRule decides when a run has lasted long enough.
type StopRule struct{ looked int }

// isEnough reports whether the mean of these step times is known precisely enough. times are
// those of the judged steps so far; it may be called at any time.
func (w *StopRule) isEnough(times []float64) bool {
	seconds := 0.0
	for _, t := range times {
		seconds += t
	}
	if len(times) < leastSteps || seconds < leastSeconds || float64(len(times)) < lookEvery*float64(w.looked) {
		return false
	}
	w.looked = len(times)
	mean := verify.Mean(times)
	return doubtOfLooks*(mean.High/mean.Point-1) <= precise
}
