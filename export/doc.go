// Package export writes a Run in other tools' formats: Prometheus, TensorBoard, CSV tables, and
// its Timeline or its live signals as a Chrome trace, the JSON that Perfetto
// streams, and for each device a track that says why it was idle.
//
// The format is the "Trace Event Format" (Google, 2016): complete events (ph X)
// with microseconds, and metadata (ph M) for names. Slices of one track must nest;
// what overlaps in part gets a track of its own beside it, as Perfetto drops it
// otherwise (google/perfetto #6277).
//
// PProf writes on which lines of Python a run's loaders spent their time, as a profile
// for pprof (profile.proto of google/pprof).
//
// It opens no file: it writes to an io.Writer as it goes, and keeps a buffer and
// one row of open slices per track.
package export
