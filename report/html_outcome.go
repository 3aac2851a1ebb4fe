package report

import (
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/verify"
)

// htmlOutcome is two runs side by side.
type htmlOutcome struct {
	Title    string
	Refused  string
	Was, Is  *bar // where the device's time went before, and goes now
	Sheets   []htmlSheet
	Rows     [][]string // what, before, after
	Promised *whisker
	Achieved *whisker
	Promise  string
	Changes  []string
	Warnings []string
}

// outcomeOf sets an earlier run beside the one that the page is about.
func outcomeOf(b Before, now Subject, bar *bar) *htmlOutcome {
	h := comparedOf(b.Outcome, b.Name, now.Name)
	h.Was, h.Is = stepBar(b.Verdict), bar
	if b.Outcome.Stall.Before == nil && b.Outcome.Stall.After == nil {
		h.Rows = append(h.Rows, []string{"waiting for input", stoker.Percent(b.Verdict.Stall), stoker.Percent(now.Verdict.Stall)})
	}
	if t := b.Traces; t != nil {
		inTime := slices.DeleteFunc(slices.Clone(t.Rows), func(r verify.Row) bool { return r.Unit == "ratio" }) // the bars have them, of the whole window
		h.Sheets = []htmlSheet{htmlSheetOf(stepSheet(inTime)), htmlSheetOf(workSheet(t.Work, shownRows))}
	}
	return h
}

// comparedOf is what verify found.
func comparedOf(o verify.Outcome, before, after string) *htmlOutcome {
	h := &htmlOutcome{Title: string(o.Difference), Refused: o.Refused, Warnings: o.Warnings}
	for _, c := range o.Changes {
		h.Changes = append(h.Changes, c.String())
	}
	h.Rows = [][]string{{"run", before, after}, {"class", o.Was, o.Now}}
	times := func(s verify.Side) string {
		if s.Time == nil {
			return "unknown"
		}
		return stoker.Around(s.Time.Mean, stoker.AboutSeconds)
	}
	rates := func(s verify.Side) string {
		if s.Throughput == nil {
			return "unknown"
		}
		return stoker.Around(s.Throughput.Mean, stoker.AboutSamples)
	}
	share := func(v *float64) string {
		if v == nil {
			return "unknown"
		}
		return stoker.Percent(*v)
	}
	h.Rows = append(h.Rows, []string{"time " + string(o.Basis), times(o.Before), times(o.After)})
	if o.Before.Throughput != nil || o.After.Throughput != nil {
		h.Rows = append(h.Rows, []string{"throughput of a rank", rates(o.Before), rates(o.After)})
	}
	if o.Stall.Before != nil || o.Stall.After != nil {
		h.Rows = append(h.Rows, []string{"waiting for input", share(o.Stall.Before), share(o.Stall.After)})
	}
	most := 1.0
	for _, i := range []*stoker.Interval{o.Promise.Promised, o.Speedup} {
		if i != nil {
			most = max(most, upper(*i))
		}
	}
	if o.Speedup != nil {
		h.Title += ": " + stoker.Factor(*o.Speedup)
		h.Achieved = rangeOf(*o.Speedup, most)
	}
	if o.Promise.Promised != nil {
		h.Promised, h.Promise = rangeOf(*o.Promise.Promised, most), string(o.Promise.Kept)
		if h.Promised != nil && h.Achieved != nil {
			h.Promised.Achieved = h.Achieved.Point
		}
	}
	return h
}
