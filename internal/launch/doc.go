// Package launch starts a command as if Stoker were not in between: with the ignored and
// blocked signals, and the closed standard descriptors, with which Stoker itself was started.
// Go's runtime changes all of these before any Go code runs.
//
// Therefore the binary begins in assembly that records them (entry_*), if it is linked with -E
// stoker_entry, as make, the wheel and the release do. Without it only the state of SIGHUP and
// SIGINT is known, because Go preserves these. The same code hides the variables that Go's
// runtime reads, because a malformed one ends the runtime, and first starts the runtime in a
// child: if that fails (ulimit), the process executes the command of a verb directly.
//
// The package does not know what the command is or why it is started. observe starts it as a
// child; `stoker tune --plan` and `stoker feed` replace their process with it.
package launch
