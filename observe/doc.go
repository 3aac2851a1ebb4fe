// Package observe samples a live run into a recording.
//
// Record starts a command (or attaches to a running process), leaves it the
// terminal and its signals, and writes what its probes see once or ten times a
// second: the process tree and the machine (observe/cpu), the disks
// (observe/disk), the GPUs (observe/gpu), and the training steps that the
// start-up hook reports from inside (python/hook, observe/step).
//
// It judges nothing: the caller is handed the run so far once a second and may.
// It never ends, restarts or slows down the command for its own sake: a probe
// that fails is named as absent and steps aside. It prints nothing.
//
// Recordings are written by package recording; diagnose and predict read them.
package observe
