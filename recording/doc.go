// Package recording holds what was measured: the Run, its file, and the table
// of signal names.
//
// A Run is the same type whether it was observed live or read from another profiler's file. No
// package above this one may depend on which it was.
//
// # The file
//
// A recording is JSON Lines in gzip members. There is one member per second, written with a
// single write. So `zcat FILE | jq`, pandas and DuckDB can open it, and kill -9 of the writer
// loses at most the last second. Plain JSON Lines are read as well, so that tests can write
// Runs by hand. Every line is an object with a "kind":
//
//	header  format (an integer), version, unix (seconds), monotonic_ns
//	facts   the Facts; a later line replaces an earlier one
//	sample  t, signal, subject, value: one value of a signal (signal.go)
//	step    one training step of one loader (Step)
//	clock   the device's times of a step, which arrive later
//	thinned how much of a part is kept: one value of each signal per interval (every, seconds)
//	        and one block of steps in so many (one_in); without "to": from t on
//	host    one host call of a Timeline
//	device  one piece of device work of a Timeline
//	frame   one Python call of a Timeline
//
// Times are seconds since the header's clock base. Lines of unknown kinds and unknown fields
// are ignored. A header of a newer format is refused. A torn tail is dropped. After a damaged
// member the reader continues with the next one, and counts the loss in Run.Warnings. A file is
// read once, forwards, one second at a time.
//
// A file stays small. If a minute has more steps and values than fit into a megabyte, only some
// are written. Whenever the file has grown by 32 MB, the part that no verdict is about is
// thinned: the Writer writes a new file next to it, and renames that when it is complete. A
// reader holds no more than a Writer: the judged part, and the rest thinned.
//
// This package does not judge. Packages observe and trace write Runs; predict, diagnose, verify
// and report read them.
package recording
