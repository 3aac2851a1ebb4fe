package advise

import (
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
)

// leadWithLine puts a cheaper line before another or a free machine, if most of preparing a batch goes into that line:
// a program is changed sooner than a machine, and then needs fewer cores. If the verdict is that other programs have
// the cores, it comes after that.
func (a adviser) leadWithLine(fixes []Fix) {
	if len(fixes) == 0 || len(a.verdict.Lines) == 0 {
		return
	}
	title := fixes[0].Title
	if title != anotherMachine && title != freeMachine && !a.startsPrograms() {
		return
	}
	share, first := 0.0, a.verdict.Lines[0] // of its whole function
	for _, line := range a.verdict.Lines {
		if line.Own.File == first.Own.File && line.Own.Function == first.Own.Function {
			share += line.Share.Point
		}
	}
	if share < mostOfBatch {
		return
	}
	if at := slices.IndexFunc(fixes, func(f Fix) bool { return f.Name == diagnose.SlowTransform }); at > 0 {
		to := 0
		if title == freeMachine && a.verdict.Class == diagnose.Neighbour {
			to = 1
		}
		line := fixes[at]
		copy(fixes[to+1:], fixes[to:at])
		fixes[to] = line
	}
}

// mostOfBatch is the share of preparing a batch from which a line comes before another machine. [J]
const mostOfBatch = 0.5

// slow proposes to make the line cheaper on which most of preparing a batch goes: there
// is no setting for it, and its gain is bounded by that of a line that takes no
// time at all.
func (a adviser) slow() (Fix, string) {
	at := slices.IndexFunc(a.verdict.Findings,
		func(f diagnose.Finding) bool { return f.Name == diagnose.SlowTransform })
	if at < 0 || a.mostlyCollates() { // collate says that
		return Fix{}, ""
	}
	line := a.verdict.Lines[0]
	if line.Kind.Advice() == "" { // its share is given, and no more
		return Fix{}, ""
	}
	title := "make this line cheaper: "
	if line.Data != "" { // it is no line of the program's
		title = "make this cheaper: "
	}
	if line.Kind == diagnose.Chunks {
		title = "read whole chunks, or store the array in chunks of one sample: "
	}
	return Fix{
		Name: diagnose.SlowTransform, Title: title + line.String(), Effort: Code, Risk: riskOfLine(line.Kind),
		Forecast: a.atMost(line.Without.Speedup.High),
		Notes:    []string{line.Kind.Advice()},
	}, ""
}
