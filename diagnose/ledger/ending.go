package ledger

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// slowEnd is the time of ending from which a finding says so. [J] Python with PyTorch needs one to three
// seconds on a busy machine.
const slowEnd = 5.0 // seconds

// FindSlowEnd tells of a run whose loader's workers hold up its end.
func FindSlowEnd(l diagnose.Ledger) []diagnose.Finding {
	tail := l.Find(diagnose.RowTail)
	if tail.Seconds < slowEnd || tail.Line.Kind != diagnose.EndingWorkers || tail.LineShare < diagnose.NamedLine {
		return nil
	}
	f := diagnose.NewTextFinding(diagnose.FindingSlowEnd, fmt.Sprintf(
		"the program ends %s after its last step, and waits for the loader's workers %s of that: each finishes the batch "+
			"that it has begun", quantity.AboutSeconds(tail.Seconds), diagnose.WholePercent(tail.LineShare)))
	f.Source, f.Seconds, f.Share = tail.Line.Where().String(), tail.Seconds, tail.Share
	return []diagnose.Finding{f}
}
