package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
)

// CollateFn is the fix that names the program's own collate_fn.
const CollateFn = "collate_fn"

// mostlyCollate is the share of preparing a batch from which a collate_fn of the
// program's own is what prepares it. [J]
const mostlyCollate = 0.5

// mostlyCollates reports whether that is so.
func (a adviser) mostlyCollates() bool {
	l := a.judgedLoader()
	return a.costs.FetchCollate/a.costs.Fetch >= mostlyCollate && l != nil && slices.Contains(l.Own, CollateFn)
}

// lineOfCollate returns the program's line on which most of preparing a batch goes; false without one.
func (a adviser) lineOfCollate() (diagnose.Line, bool) {
	at := slices.IndexFunc(a.verdict.Lines, func(l diagnose.Line) bool {
		return l.Own.File != "" && l.Share.Point >= mostlyCollate
	})
	if at < 0 {
		return diagnose.Line{}, false
	}
	return a.verdict.Lines[at], true
}

// collate proposes to do beforehand what the program's own collate_fn does, such as
// tokenising: no setting does it, and its gain is only bounded.
func (a adviser) collate() (Fix, string) {
	share := a.costs.FetchCollate / a.costs.Fetch
	if !a.mostlyCollates() || a.shareOfRows() > 0 || a.idleKnown() && !a.isStarved() {
		return Fix{}, ""
	}
	waits := a.verdict.Stall
	if math.IsNaN(waits) {
		waits = min(1, a.costs.Wait/a.costs.HostStep)
	}
	fix := Fix{Name: CollateFn, Title: "make collate_fn cheaper", Effort: Code, Risk: NoRisk}
	line, seen := a.lineOfCollate()
	if seen {
		fix.Title += ": " + line.String()
	}
	how := "what it makes of a single sample, and is the same in every epoch, can be made once and stored. Padding, " +
		"or a batch of graphs, stays: worker processes do that beside the loop. Copy whole samples, not single " +
		"elements: pad_sequence, slices of an array of the full size, torch.from_numpy(numpy.stack(arrays))"
	if seen && !slices.Contains([]diagnose.Kind{diagnose.Collate, diagnose.Stacking}, line.Kind) {
		how = cmp.Or(line.Kind.Advice(), how) // of the function that it calls
	}
	if slices.ContainsFunc(a.verdict.Lines, func(l diagnose.Line) bool { return l.Kind == diagnose.Tokenizer }) {
		fix.Title, fix.Effort = "do the work of collate_fn once, before training", Data
		how = "tokens are the same in every epoch: tokenise the data set once, store it (datasets.map keeps what it " +
			"made), and only pad in collate_fn"
	}
	fix.Forecast = a.atMost(atRemoval(share * waits))
	fix.Notes = []string{
		how,
		fmt.Sprintf("collate_fn takes %s of preparing a batch (%s of %s)", quantity.Percent(min(1, share)),
			quantity.AboutSeconds(a.costs.FetchCollate), quantity.AboutSeconds(a.costs.Fetch)),
	}
	if others := a.costs.TreeCPU - a.costs.LaunchCPU; a.costs.Workers == 0 &&
		a.costs.FetchCPU < mostlyCollate*a.costs.Fetch && stat.Or(others, 0) > a.costs.FetchCPU {
		fix.Notes = append(fix.Notes, fmt.Sprintf(
			"the launching thread has %s of that on a core, and other threads of the job use %s of core time per "+
				"step: it waits for collate_fn's own threads, such as those of tokenizers",
			quantity.Percent(a.costs.FetchCPU/a.costs.Fetch), quantity.AboutSeconds(others)))
	}
	return fix, ""
}
