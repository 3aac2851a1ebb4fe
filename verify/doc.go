// Package verify says whether a change helped: two runs and the forecast that
// was made between them give an Outcome.
//
// Compare answers in this order. Was it the same work? If not, it refuses and
// names the facts that differ, or compares per sample where only the batch size
// changed. How long did a step take before and after, and how far can that
// number be trusted: intervals come from a bootstrap over blocks of neighbouring
// steps, and the noise floor from what each run differs from itself by. Is the
// change beyond both? Did it reach what was promised?
//
// It measures nothing, predicts nothing and does not say what binds now: the
// caller fills Was and Now from diagnose. It is pure; the bootstrap's seed is a
// constant, so the same recordings always give the same Outcome. report shows
// the Outcome.
package verify
