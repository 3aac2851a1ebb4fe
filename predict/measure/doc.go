// Package measure says what a run costs: the seconds of its step, of its loading, of its
// launching and its copies, in the window that is judged.
//
// Measure gives the Costs of a trainer, Costs.MakeBaseline makes a predict.Baseline of them:
// the run as a Setup with its own measured costs instead of priors. From does both for
// the trainer that is waiting most.
//
// It forecasts nothing (predict does) and judges nothing (diagnose does).
package measure
