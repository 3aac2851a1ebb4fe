package trace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stoker-dev/stoker/trace/kineto"
	"github.com/stoker-dev/stoker/trace/nsight"
)

// readNsight reads an SQLite database as an export of Nsight Systems.
func readNsight(ctx context.Context, file string, f *os.File, m *meter) (*kineto.Trace, error) {
	before, size := m.done, int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	progress := func(share float64) {
		m.done = before + int64(share*float64(size))
		if m.report != nil {
			m.report(min(m.done, m.total), m.total)
		}
	}
	t, err := nsight.ReadFile(ctx, f, nsight.Options{Progress: progress})
	var foreign *nsight.ForeignError
	var damaged *nsight.DamagedError
	switch {
	case err == nil:
		progress(1)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read %s: %w", file, ctx.Err())
	case errors.As(err, &foreign):
		return nil, &unsupportedError{file, foreign.Format, foreign.Hint}
	case errors.As(err, &damaged):
		return nil, &malformedError{file, -1, damaged.Problem, damaged.Hint}
	default:
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return &kineto.Trace{
		Timeline: t.Timeline, Facts: t.Facts, Steps: t.Steps, Series: t.Series, Warnings: t.Warnings,
		Rank: -1, Zero: t.Zero, Events: t.Events,
	}, nil
}
