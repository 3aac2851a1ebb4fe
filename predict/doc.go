// Package predict holds the models: what a job costs per stage, and how fast it would
// be after a change.
//
// A Setup is a job as a queueing model: Setup.Solve says what binds, Setup.Size what
// it needs, Sweep how that moves with a setting, Setup.Walls and Setup.DrawRoofline
// hold it against each limit, Idle prices the waiting. All obey one closed bottleneck
// law (law.go), which lives here and nowhere else: diagnose, advise and verify call it.
//
// A Baseline is a Setup with the costs that a run was measured to have, and its
// measured step. Baseline.Forecast carries that step by the law after a change over
// the law before. Its rooms:
//
//	bounds    estimates with two ends, in three views
//	device    the step time of a network on a GPU, from published steps
//	measure   what a run costs, and its Baseline
//	replay    a profiler's recording, played again with a change
//	tutorial  the published data-wall tutorial, with our estimate next to each figure
//
// It is pure: no clock, no disk, no randomness. It ranks nothing (advise does)
// and judges nothing (diagnose does).
package predict
