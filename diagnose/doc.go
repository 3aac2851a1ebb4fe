// Package diagnose turns a Run into a Verdict: what starves the device, with the
// evidence, the questions that were asked and their answers.
//
// A file per ailment: a rule is a value plus one pure function that asks
// questions of a Case. The rule with the highest score names the class; where
// none convinces, or two are too close, the class is "unknown", which is an
// answer. What the device did is decided by the device's own clock where the
// run has it; the host's wait alone is never called starvation.
//
// It measures nothing and prints nothing. predict gives it the costs; advise,
// verify and report use the Verdict.
package diagnose
