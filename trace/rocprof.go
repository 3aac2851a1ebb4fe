package trace

import (
	"context"
	"errors"

	"github.com/stoker-dev/stoker/trace/kineto"
	"github.com/stoker-dev/stoker/trace/rocprof"
)

// readRocprof reads the JSON of rocprofv3.
func readRocprof(ctx context.Context, file string, src *source) (*kineto.Trace, error) {
	t, err := rocprof.Read(ctx, src)
	var damaged *rocprof.DamagedError
	switch {
	case src.bombError() != nil:
		return nil, explain(ctx, file, src.bombError())
	case errors.As(err, &damaged):
		return nil, &malformedError{
			file, damaged.Offset, damaged.Problem,
			"record it again: rocprofv3 --sys-trace --output-format json -- CMD",
		}
	case err != nil:
		return nil, explain(ctx, file, err)
	}
	return &kineto.Trace{
		Timeline: t.Timeline, Facts: t.Facts, Steps: t.Steps, Warnings: t.Warnings, Rank: -1, Zero: t.Zero,
		Bytes: t.Bytes, Events: t.Events,
	}, nil
}
