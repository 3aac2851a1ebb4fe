package feed

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/source"
)

// trouble is why a sample is bad, or why it was not made (asUnmade). Its text begins with the
// path of the file.
type trouble struct {
	path   string
	kind   decode.Kind
	reason string
	digest string // of the file, if it could be read
}

func (t *trouble) Error() string { return t.path + ": " + t.reason }

// badSample returns the trouble as a Bad for a place in a batch; instead is the substitute, if
// any.
func (t *trouble) badSample(sample, place int, instead *int) Bad {
	return Bad{Index: sample, Path: t.path, Reason: t.reason, Kind: string(t.kind), Instead: instead, place: place}
}

// asUnmade returns the trouble as an Unmade, or nil if the sample itself is bad.
func (t *trouble) asUnmade(l *Loader, sample int) *Unmade {
	if t.kind == outage || t.kind == fault || t.kind == decode.Unsupported && !l.listsUnread {
		return &Unmade{sample, t.path, t.kind, t.reason}
	}
	return nil
}

// unreadable is the kind of a sample whose file cannot be read: it is missing, forbidden or not
// a file, or the disk fails. Reading is tried again in each epoch, as the cause may be gone by
// then.
const unreadable decode.Kind = "unreadable"

// unfitError is an error of the transforms: the image is sound, but they cannot take it.
type unfitError struct{ error }

func (u unfitError) Unwrap() error { return u.error }

// kindOf returns the kind of a sample that failed with err.
func kindOf(err error) decode.Kind {
	var damage *decode.SampleError
	switch {
	case errors.As(err, &damage):
		return damage.Kind
	case errors.Is(err, source.ErrTooLarge):
		return decode.TooLarge
	case errors.As(err, new(unfitError)):
		return unfit
	case source.IsOutage(err):
		return outage
	}
	return unreadable
}

// faultTrouble describes a panic, with the place in the program that caused it.
func faultTrouble(file string, thrown any) *trouble {
	return &trouble{
		path: file, kind: fault,
		reason: fmt.Sprintf("a fault in stoker's decoder (%v at %s): please report it with this file", thrown,
			faultPlace()),
	}
}

// faultPlace returns the first place below the panic that is outside the runtime. Call it in a
// deferred function.
func faultPlace() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicked := false; ; {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

// unfit is the kind of a sample that the transforms cannot take, such as an image smaller than
// the crop.
const unfit decode.Kind = "unfit"
