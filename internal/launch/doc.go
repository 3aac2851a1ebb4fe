// Package launch starts a command as if Stoker had not been in between: with the
// signals ignored and blocked, and the standard descriptors closed, that Stoker was
// started with. Go's runtime replaces all of these before any code of ours runs.
//
// So the binary begins in code of ours that notes them (entry_*), where it is linked
// with -E stoker_entry; make, the wheel and the release do that. Without it only SIGHUP
// and SIGINT are known, as Go keeps these itself. The same code hides the variables that
// Go's runtime reads, as a malformed one ends it, and starts the runtime in a child
// first: if that does not live (ulimit), a verb's command takes our place at once.
//
// It knows neither what the command is nor why it is started. observe starts one
// beside itself, `stoker tune --plan` and `stoker feed` let one take their place.
package launch
