package kineto

import (
	"fmt"

	"github.com/stoker-dev/stoker/recording"
)

// Options say how a stream is read. The zero value is what one wants.
type Options struct {
	General bool // read every event with the general reader: slow, to check the fast one
	Workers int  // scanners at work; 0: one per processor, at most four

	chunk int // bytes scanned at once, for tests; 0: chunkSize
}

// Trace is what one file holds. Times of the Timeline are nanoseconds since the
// first event that was kept.
type Trace struct {
	Timeline *recording.Timeline
	Facts    recording.Facts // GPUs, Software, Processes, Loaders; Started if the file tells the date
	Steps    []recording.Step
	Series   []recording.Series // none in Kineto's own files; other formats sample the device too
	Warnings []string           // sentences

	Rank  int   // -1 if the file does not tell
	World int   // 0 if the file does not tell
	Zero  int64 // t = 0 on the file's own clock, ns; Unix time where Facts.Started is not 0
	Bytes int64 // of JSON that were read

	Events int64 // elements of traceEvents that were read, kept or not
}

// SyntaxError says that the stream is not the JSON that it should be.
type SyntaxError struct {
	Offset  int64 // byte of the JSON, after unpacking
	Problem string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Problem) }

// ForeignError says that the stream is JSON that something else than PyTorch's
// profiler wrote.
type ForeignError struct {
	Format string // its likely format, "a Chrome browser trace"
	Hint   string // what to do
}

func (e *ForeignError) Error() string { return "it is " + e.Format }
