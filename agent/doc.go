// Package agent watches every GPU of a node permanently, for Prometheus: which job it belongs
// to, whether it starves for input, since when, and what its idle time costs.
//
// From outside, a GPU shows only that some kernel was running. So a GPU counts as starved or
// fed only if a `stoker observe` of the same job says so: that reads the device clock and
// writes its figures to a folder (Options.Figures). Without it a GPU that is mostly idle is
// "low-use", and the cause is unknown.
//
// The package samples nothing itself: observe/gpu reads GPUs and observe/cpu reads processes.
// It judges no run, needs no privileges, writes no file, and opens no port: the caller serves
// its Handler.
package agent
