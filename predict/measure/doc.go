// Package measure says what a run costs: the seconds of its step, of its loading, of its
// launches and its copies, in the judged window.
//
// Measure returns the Costs of a trainer. Costs.MakeBaseline turns them into a predict.Baseline:
// the run as a Setup with its own measured costs instead of priors. From does both for the
// trainer that waits most.
//
// It forecasts nothing (predict does) and judges nothing (diagnose does).
package measure
