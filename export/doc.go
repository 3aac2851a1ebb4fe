// Package export writes a Run in the formats of other tools: Prometheus, OpenTelemetry,
// TensorBoard, CSV tables, pprof, and Chrome traces for Perfetto.
//
// A Chrome trace holds a run's Timeline, with one more track per device that says why it was
// idle, or the signals of a run observed live. Its format is the "Trace Event Format" (Google,
// 2016): complete events (ph X) in microseconds, and metadata (ph M) for names. Slices of one
// track must nest; a slice that overlaps another in part goes to an extra track,
// because Perfetto would drop it (google/perfetto #6277).
//
// PProf writes on which lines of Python a run's loaders spent their time, as a profile for
// pprof (profile.proto of google/pprof).
//
// The package opens no file. It writes to an io.Writer as it goes, and keeps a buffer and one
// row of open slices per track in memory.
package export
