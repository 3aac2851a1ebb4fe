package xplane

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// visitor receives the contents of a file, in order. Bytes hold until it returns.
// Planes and lines are numbered as they come, lines through the whole file.
type visitor interface {
	takeSpaceField(f field, b []byte)
	beginPlane(i int)
	planeField(f field, b []byte)
	beginLine(i int)
	lineField(f field, b []byte)
	takeEvent(b []byte)
	lineDone()
	planeDone(whole bool)
}

// Limits on lists that a stranger's file may make as long as it likes.
const (
	mostPlanes = 100_000
	mostLines  = 4_000_000
)

// walk goes over a file once.
type walk struct {
	ctx           context.Context //nolint:containedctx // lives as long as one pass
	s             *protoReader
	v             visitor
	planes, lines int
	events        int64 // met, kept or not
	fields        int64 // of the outermost message that are of this format
	damage        []*wireError
	cut           bool
}

// walkAll walks to the end of the file. It returns a fault of the source, ctx's, and
// damage of the outermost message, behind which nothing can be found again.
func (w *walk) walkAll() error {
	for {
		f, err := w.s.nextField(forever)
		switch {
		case errors.Is(err, io.EOF):
			return w.s.src
		case err != nil:
			return w.stopAt(err)
		case !isKnownField(f):
			return w.stopAt(&wireError{
				f.start,
				fmt.Sprintf("found field %d of kind %d, which an XSpace does not have", f.number, f.kind),
			})
		}
		w.fields++
		if f.number == 1 {
			err = w.walkPlane(f)
		} else {
			err = w.walkField(f, w.v.takeSpaceField)
		}
		if err != nil {
			return w.stopAt(err)
		}
	}
}

// isKnownField reports whether a field may occur in the outermost message: planes,
// errors, warnings, hostnames, and what a later version may add of the same kind.
func isKnownField(f field) bool { return f.kind == protowire.BytesType && f.number <= 20 }

// stopAt ends a walk: at the end of a cut file with what was found.
func (w *walk) stopAt(err error) error {
	if errors.Is(err, errCut) {
		w.cut = true
		return w.s.src
	}
	var wire *wireError
	if errors.As(err, &wire) {
		w.damage = append(w.damage, wire)
		return nil
	}
	return err
}

// walkField hands a field that is no list of messages to the visitor.
func (w *walk) walkField(f field, to func(field, []byte)) error {
	if f.kind != protowire.BytesType {
		to(f, nil)
		return nil
	}
	b, err := w.s.readMessage(f.length)
	if err != nil {
		return err
	}
	if b != nil || f.length == 0 {
		to(f, b)
	}
	return nil
}

// walkPlane walks over one plane. Damage within it ends it, and the walk continues
// behind it.
func (w *walk) walkPlane(f field) error {
	end := w.s.at + f.length
	if w.planes++; w.planes > mostPlanes {
		return w.s.skipBytes(f.length)
	}
	w.v.beginPlane(w.planes - 1)
	err := w.inPlane(end)
	w.v.planeDone(err == nil)
	var wire *wireError
	if errors.As(err, &wire) && end > w.s.at {
		w.damage = append(w.damage, wire)
		return w.s.skipBytes(end - w.s.at)
	}
	return err
}

func (w *walk) inPlane(end int64) error {
	for {
		f, err := w.s.nextField(end)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if f.number == 3 && f.kind == protowire.BytesType {
			err = w.walkLine(f)
		} else {
			err = w.walkField(f, w.v.planeField)
		}
		if err != nil {
			return err
		}
	}
}

func (w *walk) walkLine(f field) error {
	end := w.s.at + f.length
	if w.lines++; w.lines > mostLines {
		return w.s.skipBytes(f.length)
	}
	w.v.beginLine(w.lines - 1)
	defer w.v.lineDone()
	for {
		f, err := w.s.nextField(end)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.number != 4 || f.kind != protowire.BytesType {
			if err := w.walkField(f, w.v.lineField); err != nil {
				return err
			}
			continue
		}
		b, err := w.s.readMessage(f.length)
		if err != nil {
			return err
		}
		if w.events++; w.events%65536 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		w.v.takeEvent(b)
	}
}
