package verify

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

// RowChange is a row of two runs' time: what got shorter, and what grew, for the same work.
type RowChange struct {
	Row    string  `json:"row"`
	Before float64 `json:"before_s"` // seconds for a thousand samples that were trained, steps where samples are unknown
	After  float64 `json:"after_s"`
}

// RunChange is what a change did to the whole run, not to its steps alone.
type RunChange struct {
	Rows    []RowChange `json:"rows"`
	Per     string      `json:"per"`     // "samples" or "steps"
	Speedup float64     `json:"speedup"` // time of all rows before over after
}

// perThousand is the work that rows are compared by.
const perThousand = 1000

// CompareRuns compares where the time of two runs went, by the work that they trained. What comes once, such as the
// start, is left out: a longer run has no more of it. Nil where no steps were seen.
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

// trainedBy is how many samples a run trained, or how many steps it made.
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
