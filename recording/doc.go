// Package recording holds what was measured: the Run, its file, and the table
// of signal names.
//
// A Run is the same type whether it was observed live or read from another
// profiler's file, and nothing above this package may ask which it was.
//
// # The file
//
// A recording is JSON Lines in gzip members, one member per second, each
// written with a single write: `zcat FILE | jq`, pandas and DuckDB open it, and
// kill -9 of the writer loses at most the last second. Plain JSON Lines are
// read as well, so that tests write Runs by hand. Every line is an object with
// a "kind":
//
//	header  format (an integer), version, unix (seconds), monotonic_ns
//	facts   the Facts; a later line replaces an earlier one
//	sample  t, signal, subject, value: one value of a signal (signal.go)
//	step    one training step of one loader (Step)
//	clock   what the device's clock said of a step, which is known later
//	thinned how much is kept of a part: one value of a signal in so many seconds
//	        (every), one block of steps in so many (one_in); without "to": from t on
//	host    one host call of a Timeline
//	device  one piece of device work of a Timeline
//	frame   one Python call of a Timeline
//
// Times are seconds since the header's clock base. A line of an unknown kind and
// an unknown field are ignored; a header of a newer format is refused. A torn
// tail is dropped; behind a damaged member the reader goes on at the next one
// and counts the loss in Run.Warnings. A file is read once, forwards, a second at
// a time.
//
// A file stays small. Of more steps and values in a minute than fit into a megabyte not
// all are written, and when it has grown by 32 MB what no verdict is about any more is
// thinned; it is then written anew beside itself and takes its own place when it is
// whole. A reader holds no more than a Writer does: what is judged, and the rest thinned.
//
// The package judges nothing. observe and trace write Runs; predict, diagnose,
// verify and report read them.
package recording
