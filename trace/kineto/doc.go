// Package kineto reads what PyTorch's profiler (Kineto) wrote: Chrome trace JSON
// in all its dialects since 2020, into the columns of a recording.Timeline.
//
// It reads and links, and judges nothing: which gap has which cause is
// diagnose's business. It opens no file: package trace hands it a stream.
//
// How a file flows through it:
//
//	bytes ─► window ─► chunks, cut between two events ─► scanners, in parallel
//	                                                        │ batches of records
//	Trace ◄─ columns, links, steps ◄─ store ◄─ merged in file order
//
// A chunk's end is guessed and then proven: a scanner must end exactly there,
// else its chunk is glued to the next one and read again (see pipe.go). An event
// that the scanner finds odd is read by the general reader (general.go), event
// by event; both give the same records.
package kineto
