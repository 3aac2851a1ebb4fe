package tune

import "github.com/stoker-dev/stoker/verify"

// How long a run lasts. Looking again and again and stopping at the first narrow
// interval stops where the spread looks smaller than it is, so that what is called
// 95 % holds less often. Three things keep it honest: looks are few (each with a
// quarter more steps), none is early, and the interval that must be narrow is taken
// wider than the one that is told at the end. TestStopping holds the share in which
// verify's interval of a pair of runs, both stopped by this rule, holds the truth.
const (
	leastSteps   = 60   // [J] as many say something of slow changes
	leastSeconds = 8.0  // [J] queues have filled and neighbours shown themselves
	lookEvery    = 1.25 // steps of a look over those of the look before
	precise      = 0.02 // half-width of the mean step, as a share of it
	doubtOfLooks = 1.15 // by how much that half-width is taken wider for having looked often
)

// StopRule decides when a run has lasted long enough.
type StopRule struct{ looked int }

// isEnough reports whether the mean of these steps is known well enough. Steps are the
// judged ones of a run so far; it may be called at any time.
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
