package traces

import (
	"context"
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/ci"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/verify"
)

// Faces says how a comparison of two traces is shown.
type Faces struct {
	JSON, CSV, All bool
	Top            int      // number of kernels and operators shown
	Files          []string // the named files
}

// Compare prints what changed between traces.
func Compare(a *cli.App, f Faces, asked []stoker.Change, before,
	after []*recording.Run,
) (verify.Outcome, []judged.Recording, error) {
	was, now := Judge(before), Judge(after)
	plan := advise.Rank(before[0], was[0].Verdict)
	if len(asked) > 0 {
		var err error
		if plan, err = advise.WhatIf(before[0], was[0].Verdict, asked); err != nil {
			return verify.Outcome{}, nil, err
		}
	}
	promises := ListPromises(plan)
	for i := range promises {
		promises[i].Asked = len(asked) > 0
	}
	o := verify.Traces(was, now, promises)
	if len(asked) > 0 && len(o.Promises) == 1 && o.Speedup != nil {
		o.Changes = asked
	}
	var all []judged.Recording
	for _, t := range now {
		all = append(all, judged.Recording{Run: t.Run, Verdict: t.Verdict})
	}
	return o.Outcome, all, show(a, f, o, now[0])
}

func show(a *cli.App, f Faces, o verify.TraceOutcome, now verify.Traced) error {
	switch {
	case f.JSON:
		return wire.WriteTraces(a.Stdout, now, o)
	case f.CSV:
		return wire.WriteTracesCSV(a.Stdout, o)
	}
	return text.WriteTraces(a.Stdout, o, f.Top, a.PageStyle(a.Stdout, f.All, f.Files...))
}

// Conclude writes the formats for pipelines of a comparison, and returns its exit code.
func Conclude(ctx context.Context, a *cli.App, check *pipeline.Check, forms pipeline.Forms, o verify.Outcome,
	after []judged.Recording,
) error {
	failed, now := check.CompareRuns(o), after[0]
	for _, j := range after {
		failed = append(failed, check.FindFailures(j.Verdict)...)
	}
	problems := ci.FindProblems(now.Run, now.Verdict, now.Plan, failed, cli.WorkingFolder())
	if err := pipeline.WriteForms(ctx, a, forms, problems, func(w io.Writer) error {
		return ci.WriteOutcome(w, o, now.Verdict, failed)
	}); err != nil {
		return err
	}
	if o.Refused != "" {
		return cli.ExitCode(cli.ExitError)
	}
	if err := pipeline.EnforcePromise(a, check, o); err != nil {
		return err
	}
	return pipeline.Refuse(a, failed)
}
