// Package verify says whether a change helped: two runs and the forecast that
// was made between them give an Outcome.
//
// Compare answers in this order. Was it the same work? If not, it refuses and
// names the facts that differ, or compares per sample where only the batch size
// changed. How long did a step take before and after, and how far can that number be
// trusted, where neighbouring steps are alike (interval.go)? Is the change beyond that,
// is there none worth telling, or are the runs too short to say, and how long would
// they have to be? Did it reach what was promised?
//
// It measures nothing, predicts nothing and does not say what binds now: the
// caller fills Was and Now from diagnose. It is pure and draws nothing by chance: the
// same recordings always give the same Outcome. report shows the Outcome.
package verify
