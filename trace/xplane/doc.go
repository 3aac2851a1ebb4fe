// Package xplane reads what XLA's profiler writes for TensorFlow and JAX, a file
// xplane.pb, into the columns of a recording.Timeline, in the words that PyTorch's
// profiler uses for the same things, so that the same code judges both.
//
// It reads and links, and judges nothing. The format is protobuf, five messages
// deep and no deeper (tsl/profiler/protobuf/xplane.proto):
//
//	XSpace  1 planes, 4 hostnames
//	XPlane  1 id, 2 name, 3 lines, 4 event names, 5 stat names, 6 stats
//	XLine   1 id, 2 name, 3 timestamp_ns, 4 events, 11 display name
//	XEvent  1 name's number, 2 offset_ps, 3 duration_ps, 4 stats
//	XStat   1 name's number, 2 to 6 its value, 7 the number of a text
//
// The names of a plane lie behind its lines. So that a file of any size needs no
// more memory than the events that are kept, it is read twice, from front to back:
//
//	first pass ─► names, lines, a census of events ─► window: what fits in memory
//	                                                     │
//	Trace ◄─ steps, facts ◄─ links, order ◄─ columns ◄─ second pass
//
// Of a device only the rows of streams (GPU) or of XLA operators (TPU) are work;
// modules, name scopes and operators are written again in separate rows, which
// are derived from these.
package xplane
