// Package verify says whether a change helped: it compares two runs, and the forecast made
// before the second, and returns an Outcome.
//
// Compare answers in this order. Did both runs do the same work? If not, it refuses and names
// the facts that differ, or compares per sample if only the batch size changed. How long did a
// step take before and after, and how precise is that mean, given that successive steps are
// correlated (interval.go)? Is the change larger than the noise, is there none of at least 5 %,
// or are the runs too short to tell, and how long would they have to be? Did it reach the
// forecast?
//
// The package measures nothing, predicts nothing and does not find the bottleneck: the caller
// fills in Was and Now from diagnose. It is deterministic: the same recordings always give the
// same Outcome. report displays the Outcome.
package verify
