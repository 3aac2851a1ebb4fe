// Package rules holds the ailments, a file each: a Rule is its words plus one pure function
// that asks questions of a Case. AskAll asks every rule. The one with the highest score
// names the class; if none convinces, or two are too close, the class is "unknown", which
// is an answer. What the device did is decided by the device's own clock if the run has
// it; the host's wait alone is never called starvation.
//
// A rule sees no recording and cannot tell a live job from a trace.
package rules
