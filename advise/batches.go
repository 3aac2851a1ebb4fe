package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
)

// tinySample is the time of a sample, with its part of collating, up to which the calls for each sample are what
// takes it: rows of arrays in memory took 8 to 17 us here, on a busy machine. [J]
const tinySample = 50e-6

// tinyIndex is the time of a sample up to which it can be no more than an index into what is in memory: a row of a
// tensor took 3 us. [J]
const tinyIndex = 8e-6

// Shares of preparing a batch that stacking takes beside a tiny __getitem__ of the program's own, and both
// together. [J]
const (
	partlyStacking = 0.25
	mostlyCalls    = 0.75
)

// shareOfRows is how much of preparing a batch goes into reading rows in memory one by one and stacking them
// again; 0 if that is not what takes the time.
func (a adviser) shareOfRows() float64 {
	l := a.judgedLoader()
	if n, known := a.base.Settings.Int(stoker.BatchSize); !known || n < 2 || l == nil || l.Iterable { // they come whole
		return 0
	}
	rows, stacking, code, collates := 0.0, 0.0, 0.0, 0.0
	for _, line := range a.verdict.Lines {
		switch line.Kind {
		case diagnose.Rows:
			rows += line.Share.Point
		case diagnose.Collate, diagnose.Stacking:
			switch {
			case line.Own.File == "":
				stacking += line.Share.Point
			case l.Padding.Padded == 0: // rows alike, joined by the program's own function
				collates += line.Share.Point
			}
		case diagnose.OfLists, diagnose.Unpacking, diagnose.Drawing:
			code += line.Share.Point
		default:
			if slices.Contains(diagnose.OfCode, line.Kind) {
				code += line.Share.Point
			}
		}
	}
	fetch := a.costs.Fetch - stat.Or(a.costs.FetchQueue, 0) // without the wait for a core
	tiny := fetch <= tinySample*a.base.Batch
	switch {
	case tiny && stacking >= mostlyCollate:
		rows += stacking
	case tiny && stacking >= partlyStacking && stacking+code >= mostlyCalls:
		rows += stacking + code
	case fetch <= tinyIndex*a.base.Batch && stacking+code+collates >= mostlyCalls:
		rows += stacking + code + collates
	}
	if rows < diagnose.NamedLine {
		return 0
	}
	return min(1, rows)
}

// wholeBatches proposes to index arrays in memory by whole batches, if reading them row by row is what takes the time.
func (a adviser) wholeBatches() (Fix, string) {
	share := a.shareOfRows()
	if share == 0 || !a.isStarved() {
		return Fix{}, ""
	}
	at := ""
	for _, line := range a.verdict.Lines {
		if strings.HasSuffix(line.Own.Function, "__getitem__") {
			at = line.Short()
			break
		}
	}
	return Fix{
		Name: "whole-batches", Effort: Code, Risk: NoRisk, At: at,
		Title: "fetch whole batches, not row by row: __getitems__(self, indices) of the data set, or batch_size=None with a " +
			"BatchSampler as the sampler",
		Cause: true, Forecast: a.atMost(atRemoval(a.verdict.Stall)), Notes: []string{
			fmt.Sprintf("reading rows one by one and stacking them takes %s of preparing a batch", diagnose.WholePercent(share)),
			diagnose.Rows.Advice(),
		},
	}, ""
}
