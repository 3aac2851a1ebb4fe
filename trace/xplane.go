package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stoker-dev/stoker/trace/kineto"
	"github.com/stoker-dev/stoker/trace/xplane"
)

const profileAgain = "record it again with jax.profiler.trace or tf.profiler.experimental.start, and copy the " +
	"whole plugins/profile folder"

// isXPlane reports whether a file holds an XSpace, packed or not: by its content,
// and if that is damaged by its name. The file is read from its beginning
// afterwards.
func isXPlane(file string, f *os.File) bool {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false // a pipe gives its bytes once
	}
	if _, err := f.Seek(0, io.SeekCurrent); err != nil {
		return false // a pipe: bytes that are read here would be lost
	}
	defer f.Seek(0, io.SeekStart) //nolint:errcheck // the next read tells
	src, err := openPacked(file, &countingReader{Reader: f, m: &meter{}})
	if err != nil {
		return false
	}
	defer src.close()
	start := make([]byte, sniffed)
	n, _ := io.ReadFull(src, start)
	start = start[:n]
	named := hasEnding(file, xplanes) && !bytes.HasPrefix(start, []byte(lfsPointer))
	return xplane.IsStart(start) || n > 0 && named && !isJSON(start)
}

// readXPlane reads an XSpace twice, so that each byte counts half.
func readXPlane(ctx context.Context, file string, f *os.File, m *meter) (*kineto.Trace, error) {
	var src *source
	halves := &meter{report: func(done, _ int64) {
		if m.report != nil {
			m.report(min(m.done+done/2, m.total), m.total)
		}
	}}
	raw := &countingReader{m: halves}
	from := func() (io.Reader, error) {
		if src != nil {
			src.close()
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		raw.Reader = f
		var err error
		src, err = openPacked(file, raw)
		return src, err
	}
	t, err := xplane.Read(ctx, from, xplane.Options{})
	m.done += halves.done / 2
	var damaged *xplane.DamagedError
	switch {
	case src != nil && src.bombError() != nil:
		err = &malformedError{file, -1, src.bombError().Error(), "unpack it by hand if you trust it, and give the .pb"}
	case raw.err != nil:
		err = fmt.Errorf("read trace: %w", raw.err)
	case err == nil:
	case ctx.Err() != nil:
		err = fmt.Errorf("read %s: %w", file, ctx.Err())
	case errors.As(err, &damaged):
		err = &malformedError{file, damaged.Offset, damaged.Problem, profileAgain}
	default:
		err = &malformedError{
			file, -1, "the compressed data is damaged before its first event: " + err.Error(),
			profileAgain,
		}
	}
	if src != nil {
		src.close()
	}
	if err != nil {
		return nil, err
	}
	return &kineto.Trace{
		Timeline: t.Timeline, Facts: t.Facts, Steps: t.Steps, Warnings: t.Warnings,
		Rank: -1, Zero: t.Zero, Bytes: t.Bytes, Events: t.Events,
	}, nil
}
