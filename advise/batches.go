package advise

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
)

// wholeBatches proposes to index tensors in memory by whole batches, where reading them row by row is what takes
// the time.
func (a adviser) wholeBatches() (Fix, string) {
	share := 0.0
	if n, known := a.base.Settings.Int(stoker.BatchSize); !known || n < 2 { // batches come whole already
		return Fix{}, ""
	}
	for _, line := range a.verdict.Lines {
		if line.Kind == diagnose.Rows {
			share += line.Share.Point
		}
	}
	if share < diagnose.NamedLine || !a.isStarved() {
		return Fix{}, ""
	}
	return Fix{
		Name: "whole-batches", Title: "index the tensors by whole batches, not row by row", Effort: Code, Risk: NoRisk,
		Cause: true, Forecast: a.atMost(atRemoval(a.verdict.Stall)), Notes: []string{
			fmt.Sprintf("reading rows of tensors one by one takes %s of preparing a batch", diagnose.WholePercent(min(1, share))),
			diagnose.Rows.Advice(),
		},
	}, ""
}
