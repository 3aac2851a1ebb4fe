// Package predict holds the models: what a run costs per stage, and how fast it
// would be after a change.
//
// From derives a Pipeline from a Run by the run's own measured costs. Throughput
// solves it with the closed bottleneck law, which lives here and nowhere else:
// diagnose, advise and verify call it.
//
// A Setup is a job before any run: Solve says what binds, Size what it needs,
// Sweep how that moves with a setting, Walls and Roofline hold it against each
// limit, Idle prices the waiting. It obeys the same law (law.go), with priors
// where nothing was measured.
//
// It is pure: no clock, no disk, no randomness. It ranks nothing (advise does)
// and judges nothing (diagnose does).
package predict
