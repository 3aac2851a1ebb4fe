// Package traces reads, judges and compares the profiler's files that arguments name.
package traces

import (
	"context"
	"math"
	"os"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/trace"
	"github.com/stoker-dev/stoker/verify"
)

// Inspect calls inspect and returns early on Ctrl-C, after which the process exits. It prints a line if
// the work takes longer than a second.
func Inspect(ctx context.Context, a *cli.App, run *recording.Run, o operators.Options) (report.TraceReport, error) {
	p := a.NewProgress()
	defer p.End()
	done := make(chan report.TraceReport, 1)
	go func() { done <- inspect(run, o) }()
	tick := time.NewTicker(cli.Patience)
	defer tick.Stop()
	for {
		select {
		case r := <-done:
			return r, nil
		case <-ctx.Done():
			return report.TraceReport{}, ctx.Err()
		case <-tick.C:
			p.Say("judging %d events", len(run.Timeline.Host.Start)+len(run.Timeline.Device.Start))
		}
	}
}

// inspect judges a run, then ranks changes and makes tables at the same time: both only read the run.
func inspect(run *recording.Run, o operators.Options) report.TraceReport {
	r := report.TraceReport{Run: run, Gaps: idle.Analyse(run)}
	r.Verdict = judge.WithGaps(run, r.Gaps)
	var beside sync.WaitGroup
	beside.Go(func() { r.Plan = advise.Rank(run, r.Verdict) })
	r.Operators, r.Roofline = operators.TabulateAndMeasure(run, r.Gaps, o)
	r.Ranks = ranks.Compare(run, r.Gaps)
	t := run.Timeline
	r.Source.Events = len(t.Host.Start) + len(t.Device.Start) + len(t.Frames.Start) + len(t.Memory.At)
	for _, n := range t.Dropped {
		r.Source.Events += n
	}
	beside.Wait()
	r.Verdict.Class = r.Plan.KeepKind(r.Verdict.Class)
	return r
}

// Read reads traces as one run. With pair, two traces that are not ranks of one job are read as two runs.
// It prints a line on stderr if that takes longer than a second.
func Read(ctx context.Context, a *cli.App, files []string, pair bool) ([]*recording.Run, error) {
	p := a.NewProgress()
	defer p.End()
	o := trace.Options{Stdin: a.Stdin, Progress: func(done, total int64) {
		p.Say("reading, %.0f %% of %.0f MB", 100*float64(done)/math.Max(1, float64(total)), float64(total)/1e6)
	}}
	if pair && len(files) == 2 {
		return trace.Pair(ctx, files[0], files[1], o)
	}
	run, err := trace.Read(ctx, files, o)
	return []*recording.Run{run}, err
}

// Judge judges traces.
func Judge(runs []*recording.Run) (all []verify.Traced) {
	for _, run := range runs {
		gaps := idle.Analyse(run)
		all = append(all, verify.Traced{Run: run, Gaps: gaps, Verdict: judge.WithGaps(run, gaps)})
	}
	return all
}

// ListPromises returns the fixes of a plan that promise an interval of gains.
func ListPromises(plan advise.Plan) (out []verify.TracedPromise) {
	for _, fix := range plan.Fixes {
		// no file can show that all of it was done
		if s := fix.Forecast.Speedup; s.Known() && fix.Name != advise.Together {
			out = append(out, verify.TracedPromise{
				Fix: fix.Name, Changes: fix.Changes, Promised: s,
				Kept: verify.PromiseUntested,
			})
		}
	}
	return out
}

// CountBytes returns the size of files on disk, including those in named folders.
func CountBytes(paths []string) int64 {
	total := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			total += info.Size()
			continue
		}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				total += info.Size()
			}
		}
	}
	return total
}
