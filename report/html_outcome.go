package report

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/verify"
)

// htmlOutcome is two runs side by side.
type htmlOutcome struct {
	Title    string
	Refused  string
	Rows     [][]string // what, before, after
	Promised *whisker
	Achieved *whisker
	Promise  string
	Changes  []string
	Warnings []string
}

func outcomeOf(b Before, after string) *htmlOutcome {
	o := b.Outcome
	h := &htmlOutcome{Title: string(o.Difference), Refused: o.Refused, Warnings: o.Warnings}
	for _, c := range o.Changes {
		h.Changes = append(h.Changes, c.String())
	}
	h.Rows = [][]string{{"run", b.Name, after}, {"class", o.Was, o.Now}}
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
	h.Rows = append(h.Rows, []string{"time " + string(o.Basis), times(o.Before), times(o.After)}, []string{"throughput of a rank", rates(o.Before), rates(o.After)},
		[]string{"waiting for input", share(o.Stall.Before), share(o.Stall.After)})
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
