package page

import (
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// htmlOutcome compares two runs.
type htmlOutcome struct {
	Title    string
	Refused  string
	Was, Is  *bar // how the device's time was spent before, and is now
	Sheets   []htmlSheet
	Rows     [][]string // name, before, after
	Promised *whisker
	Achieved *whisker
	Promise  string
	Changes  []string
	Warnings []string
}

// outcomeOf compares an earlier run with the run of the page.
func outcomeOf(b EarlierRun, now Subject, bar *bar) *htmlOutcome {
	h := comparedOutcome(b.Outcome, b.Name, now.Name)
	h.Was, h.Is = stepBar(b.Verdict), bar
	if b.Outcome.Stall.Before == nil && b.Outcome.Stall.After == nil {
		h.Rows = append(h.Rows, []string{
			"waiting for input", quantity.Percent(b.Verdict.Stall),
			quantity.Percent(now.Verdict.Stall),
		})
	}
	if t := b.Traces; t != nil {
		// the bars show them for the whole window
		inTime := slices.DeleteFunc(slices.Clone(t.Rows), func(r verify.Row) bool { return r.Unit == "ratio" })
		h.Sheets = []htmlSheet{
			htmlSheetOf(report.CompareSteps(inTime)),
			htmlSheetOf(report.CompareWork(t.Work, shownRows)),
		}
	}
	return h
}

// comparedOutcome shows the result of verify with all intervals on one scale.
func comparedOutcome(o verify.Outcome, before, after string) *htmlOutcome {
	c := report.DescribeOutcome(o, before, after)
	h := &htmlOutcome{Title: c.Title, Refused: o.Refused, Warnings: o.Warnings, Changes: c.Changes, Rows: c.Rows}
	most := 1.0
	for _, i := range []*stoker.Interval{o.Promise.Promised, o.Speedup} {
		if i != nil {
			most = max(most, upper(*i))
		}
	}
	if o.Speedup != nil {
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
