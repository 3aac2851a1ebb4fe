// Package trace reads other profilers' files into a recording.Run, the same type
// that observe records live: PyTorch Profiler's (Kineto) JSON, Nsight Systems'
// SQLite exports, rocprof's files, and the xplane.pb of TensorFlow and JAX. JSON and xplane.pb may
// be packed by gzip or zstd. Several files, a folder, a tar or a zip of them are the
// ranks of one run.
//
// It only reads. What a gap in the Timeline means, which steps count and what to
// do about it is diagnose's business.
//
// A file is recognised by its content, not by its name. A damaged or cut file is
// read as far as it goes, with a warning in the Run. Another program's format, or a file that is
// no format at all, and files of different runs are refused, with what to do instead.
//
// # What the Run holds
//
// Host calls, device work and the links between them are all kept. Of Python
// stacks, half to nine tenths of the events, are kept the frames in the user's
// own files and of the others those of 50 us and more. Left out and counted in
// Timeline.Dropped are memory counters, and the waits and annotations that the profiler
// repeats on device rows, its own spans, and events whose time is impossible.
//
// # Limits
//
// A packed file may unpack to 500 times its size and to 64 GB; one event, or one
// value outside of the events, may be 32 MiB; a file may hold 100 million events that are
// kept, 10 million threads and streams, and 1 GiB of different names; a name is
// cut at 64 KiB. Depth is not limited, as nothing here recurses.
package trace
