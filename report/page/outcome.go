package page

import (
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
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
func outcomeOf(b EarlierRun, now Subject, bar *bar) *htmlOutcome {
	h := compared(b.Outcome, b.Name, now.Name)
	h.Was, h.Is = stepBar(b.Verdict), bar
	if b.Outcome.Stall.Before == nil && b.Outcome.Stall.After == nil {
		h.Rows = append(h.Rows, []string{
			"waiting for input", quantity.Percent(b.Verdict.Stall),
			quantity.Percent(now.Verdict.Stall),
		})
	}
	if t := b.Traces; t != nil {
		// the bars have them, of the whole window
		inTime := slices.DeleteFunc(slices.Clone(t.Rows), func(r verify.Row) bool { return r.Unit == "ratio" })
		h.Sheets = []htmlSheet{
			htmlSheetOf(report.CompareSteps(inTime)),
			htmlSheetOf(report.CompareWork(t.Work, shownRows)),
		}
	}
	return h
}

// compared is what verify found, with its intervals on one scale.
func compared(o verify.Outcome, before, after string) *htmlOutcome {
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
