package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/verify"
)

// LedgerLine is a row of a ledger as text.
type LedgerLine struct {
	Name, Time, Share, Count string
	Idle                     string // "idle 81 %: next batch"
	Where                    string // "train.py:41"
}

// LedgerLines returns the rows of a run's ledger with a share of at least diagnose.ShownRow, in
// the order of the run; none if only one row remains.
func LedgerLines(l diagnose.Ledger) (lines []LedgerLine) {
	for _, r := range l.Rows {
		if r.Share >= diagnose.ShownRow || r.Name == diagnose.RowJudged {
			lines = append(lines, LedgerLine{
				string(r.Name), quantity.AboutSeconds(r.Seconds), quantity.Percent(r.Share), timesText(r), idleText(r),
				r.Line.Short(),
			})
		}
	}
	if len(lines) < 2 {
		return nil
	}
	return lines
}

// countedIn is the noun for what a row counts.
var countedIn = map[diagnose.RowName]string{
	diagnose.RowTraining: "step", diagnose.RowInference: "step", diagnose.RowSkipping: "batch",
	diagnose.RowBetween: "time", diagnose.RowEvaluation: "time", diagnose.RowCheckpoint: "time",
	diagnose.RowEdge: "time",
}

func timesText(r diagnose.Row) string {
	noun := countedIn[r.Name]
	switch {
	case noun == "" || r.Count == 0:
		return ""
	case noun == "batch":
		return fmt.Sprintf("%d batch%s", r.Count, quantity.Ending(r.Count, "", "es"))
	}
	return quantity.Many(r.Count, noun)
}

// waitWords names what an idle device waits for. Others are a lock, a timer or another service.
var waitWords = map[diagnose.WaitFor]string{
	diagnose.WaitInput: "input", diagnose.WaitHost: "the host", diagnose.WaitLaunch: "launches",
	diagnose.WaitRequest: "requests", diagnose.WaitOthers: "others",
	diagnose.WaitCopy: "copies", diagnose.WaitRanks: "other ranks", diagnose.WaitCore: "a CPU core",
}

// idleText says for how much of a row the device is idle, and what it mostly waits for.
func idleText(r diagnose.Row) string {
	if !(r.Idle >= LeastIdle*r.Seconds) {
		return ""
	}
	text := "idle " + quantity.Percent(r.Idle/r.Seconds)
	if why := waitWords[r.MostlyWaitsFor()]; why != "" {
		text += ": " + why
	}
	return text
}

// SumUpLedger says in one line how most of a run's time was spent.
func SumUpLedger(l diagnose.Ledger) string {
	var parts []string
	for _, r := range l.Rows {
		if r.Share >= diagnose.ShownRow {
			parts = append(parts, fmt.Sprintf("%s %s", r.Name, quantity.Percent(r.Share)))
		}
	}
	return strings.Join(parts, ", ")
}

// BusyBetween is the share of a run without its start and end in which its device is busy; NaN if that is unknown.
func BusyBetween(l diagnose.Ledger) float64 {
	busy, whole := 0.0, 0.0
	for _, r := range l.Rows {
		if !r.Name.ComesOnce() {
			busy, whole = busy+r.Busy, whole+r.Seconds
		}
	}
	if !(whole > 0) {
		return math.NaN()
	}
	return busy / whole
}

// MostlySteps reports whether a run consists almost only of its steps, its start and its end.
func MostlySteps(l diagnose.Ledger) bool {
	beside := 0.0
	for _, r := range l.Rows {
		if r.Name == diagnose.RowJudged {
			return !HasMuchElse(l)
		}
		if !r.Name.ComesOnce() && !r.Name.IsSteps() {
			beside += r.Seconds
		}
	}
	return beside < leastBeside*l.Recurring()
}

// HasMuchElse reports whether much of a recording's time was spent on rows that occur once. Steps that are left out
// before the judged ones, whose busy share is known, are more of the same.
func HasMuchElse(l diagnose.Ledger) bool {
	once := 0.0
	for _, r := range l.Rows {
		leftOut := r.Name == diagnose.RowEarlier && !math.IsNaN(r.Busy)
		if r.Name.ComesOnce() && r.Name != diagnose.RowUnknown && r.Name != diagnose.RowJudged && !leftOut {
			once += r.Share
		}
	}
	return once >= muchElse && once < 1
}

// muchElse is the share of a recording before and after its steps from which a page says so. [J]
const muchElse = 0.10

// leastBeside is the share of a run outside its steps from which a page shows how its time was
// spent. [J]
const leastBeside = 0.05

// SayRun describes the effect of a change on the whole run, row by row; "" if the run has only
// steps.
func SayRun(c *verify.RunChange) string {
	if c == nil || len(c.Rows) < 2 {
		return ""
	}
	all := 0.0
	for _, r := range c.Rows {
		all += max(r.Before, r.After)
	}
	var parts []string
	for _, r := range c.Rows {
		if max(r.Before, r.After) >= leastBeside*all {
			parts = append(parts, fmt.Sprintf("%s %s -> %s", r.Row, quantity.AboutSeconds(r.Before),
				quantity.AboutSeconds(r.After)))
		}
	}
	if len(parts) < 2 {
		return ""
	}
	return fmt.Sprintf("%s as fast as before, for the same work: %s for 1,000 %s", quantity.AboutRatio(c.Speedup),
		strings.Join(parts, ", "), c.Per)
}
