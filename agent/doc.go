// Package agent watches every GPU of a node, all the time, for Prometheus: which job it
// belongs to, whether that starves it, since when, and what idling costs.
//
// From outside a GPU tells only that some kernel was running. So a GPU is called starved
// or fed on the word of a `stoker observe` of the same job alone, which keeps its figures
// in a folder (Options.Figures) and looks at the device's own clock; without it a GPU that
// does little is "low-use", and the cause is unknown.
//
// It samples nothing itself: GPUs are read by observe/gpu, processes by observe/cpu. It
// judges no run, runs as any user, writes no file, and opens no port: the caller serves
// its Handler.
package agent
