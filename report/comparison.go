package report

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/verify"
)

// Comparison is what verify found of two runs, in words.
type Comparison struct {
	Title   string
	Rows    [][]string // what, before, after; the first is a heading
	Changes []string
}

// DescribeOutcome puts an outcome into words; before and after name the two runs.
func DescribeOutcome(o verify.Outcome, before, after string) Comparison {
	c := Comparison{Title: string(o.Difference), Rows: [][]string{{"run", before, after}, {"class", o.Was, o.Now}}}
	if o.Speedup != nil {
		c.Title += ": " + stoker.Factor(*o.Speedup)
	}
	for _, change := range o.Changes {
		c.Changes = append(c.Changes, change.String())
	}
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
	c.Rows = append(c.Rows, []string{"time " + string(o.Basis), times(o.Before), times(o.After)})
	if o.Before.Throughput != nil || o.After.Throughput != nil {
		c.Rows = append(c.Rows, []string{"throughput of a rank", rates(o.Before), rates(o.After)})
	}
	if o.Stall.Before != nil || o.Stall.After != nil {
		c.Rows = append(c.Rows, []string{"waiting for input", share(o.Stall.Before), share(o.Stall.After)})
	}
	return c
}

// FormatDifference prints a difference of times.
func FormatDifference(v float64) string {
	if v < 0 {
		return "-" + stoker.AboutSeconds(-v)
	}
	return "+" + stoker.AboutSeconds(v)
}
