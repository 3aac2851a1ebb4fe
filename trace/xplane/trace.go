package xplane

import (
	"fmt"

	"github.com/stoker-dev/stoker/recording"
)

// Options say how a file is read. The zero value is what one wants.
type Options struct {
	// Most is how many events are kept, 0: mostEvents. Of a file with more, those
	// around the middle of the device's work are read, and a warning says so.
	Most int
}

// mostEvents bounds memory: an event takes 41 bytes on the host and 69 on the
// device, and the half again while it is sorted and judged.
const mostEvents = 2_000_000

// Trace is what one file holds. Times of the Timeline are nanoseconds since the
// first event that was kept.
type Trace struct {
	Timeline *recording.Timeline
	Facts    recording.Facts
	Steps    []recording.Step
	Warnings []string // sentences

	Zero   int64 // t = 0 on the file's own clock, ns; Unix time where Facts.Started is not 0
	Bytes  int64 // of the file, unpacked
	Events int64 // that were met, kept or not
}

// DamagedError says that the data are no XSpace, or cut or damaged before the first
// event that could be read.
type DamagedError struct {
	Offset  int64 // byte of the unpacked file
	Problem string
}

func (e *DamagedError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Problem) }

// builder makes a Trace of what was collected.
type builder struct {
	survey *survey
	out    *Trace
}

// addDamage records missing or impossible data of the file.
func (b *builder) addDamage(format string, args ...any) {
	b.out.Facts.Damage = append(b.out.Facts.Damage, fmt.Sprintf(format, args...))
	b.addWarning(format, args...)
}

func (b *builder) addWarning(format string, args ...any) {
	if len(b.out.Warnings) < 40 {
		b.out.Warnings = append(b.out.Warnings, fmt.Sprintf(format, args...))
	}
}

// noMarks is why steps have to be guessed.
const noMarks = `The profile marks no step (jax.profiler.StepTraceAnnotation("train", step_num=i), ` +
	`tf.profiler.experimental.Trace("train", step_num=i, _r=1))`
