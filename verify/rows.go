package verify

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

// RowChange compares one row of the time of two runs, for the same amount of work.
type RowChange struct {
	Row    string  `json:"row"`
	Before float64 `json:"before_s"` // seconds per thousand samples trained, or steps if samples are unknown
	After  float64 `json:"after_s"`
}

// RunChange is the effect of a change on the whole run.
type RunChange struct {
	Rows    []RowChange `json:"rows"`
	Per     string      `json:"per"`     // "samples" or "steps"
	Speedup float64     `json:"speedup"` // time of all rows before over that after
}

// perThousand is the amount of work for which rows are compared.
const perThousand = 1000

// CompareRuns compares how the time of two runs was spent, per amount of work trained. It
// leaves out rows that occur once per run, such as the start, which do not grow with the length
// of a run. Nil if no steps were recorded.
func CompareRuns(before, after diagnose.Verdict) *RunChange {
	c := &RunChange{Rows: []RowChange{}, Per: "samples"}
	was, now := trainedBy(before, true), trainedBy(after, true)
	if !(was > 0) || !(now > 0) {
		c.Per, was, now = "steps", trainedBy(before, false), trainedBy(after, false)
	}
	if !(was > 0) || !(now > 0) {
		return nil
	}
	all := [2]float64{}
	for _, w := range diagnose.LedgerRows {
		name := diagnose.RowName(w.Name)
		if name.ComesOnce() || name == diagnose.RowProfiling {
			continue
		}
		r := RowChange{
			Row: w.Name, Before: before.Ledger.Find(name).Seconds * perThousand / was,
			After: after.Ledger.Find(name).Seconds * perThousand / now,
		}
		if r.Before > 0 || r.After > 0 {
			c.Rows = append(c.Rows, r)
			all[0], all[1] = all[0]+r.Before, all[1]+r.After
		}
	}
	if !(all[0] > 0) || !(all[1] > 0) {
		return nil
	}
	c.Speedup = all[0] / all[1]
	return c
}

// trainedBy returns the number of samples that a run trained, or the number of its steps.
func trainedBy(v diagnose.Verdict, samples bool) float64 {
	steps := 0
	for _, r := range v.Ledger.Rows {
		if r.Name.IsSteps() {
			steps += r.Count
		}
	}
	if !samples {
		return float64(steps)
	}
	return stat.Or(v.Costs.Window.Samples(), math.NaN()) * float64(steps)
}
