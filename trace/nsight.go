package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"stoker/trace/kineto"
	"stoker/trace/nsight"
)

// readNsight reads an SQLite database as an export of Nsight Systems.
func readNsight(ctx context.Context, file string, f *os.File, m *meter) (*kineto.Trace, error) {
	through := func(r io.ReaderAt) io.ReaderAt { return &countedAt{r, m} }
	t, err := nsight.ReadFile(ctx, f, through, nsight.Options{})
	var foreign *nsight.ForeignError
	var damaged *nsight.DamagedError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read %s: %w", file, ctx.Err())
	case errors.As(err, &foreign):
		return nil, &UnsupportedError{file, foreign.Format, foreign.Hint}
	case errors.As(err, &damaged):
		return nil, &MalformedError{file, -1, damaged.Problem, damaged.Hint}
	default:
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return &kineto.Trace{
		Timeline: t.Timeline, Facts: t.Facts, Steps: t.Steps, Series: t.Series, Warnings: t.Warnings,
		Rank: -1, Zero: t.Zero, Events: t.Events,
	}, nil
}

// countedAt counts what is read through it. A database is read twice, first to
// count its rows, so that each byte counts half.
type countedAt struct {
	r io.ReaderAt
	m *meter
}

func (c *countedAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.m.done += int64(n) / 2
	if c.m.report != nil && n > 0 {
		c.m.report(min(c.m.done, c.m.total), c.m.total)
	}
	return n, err
}
