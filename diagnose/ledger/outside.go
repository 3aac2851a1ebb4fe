package ledger

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// slowEnd is the time of ending from which a finding says so. [J] Python with PyTorch needs one to three
// seconds on a busy machine.
const slowEnd = 5.0 // seconds

// slowStart is the time that the program's own work takes before the first step from which a finding says so,
// and slowStartShare its share of the run. [J]
const (
	slowStart      = 3.0 // seconds
	slowStartShare = 0.1
)

// startsSlowly returns the start of a run, and whether a line of the program takes long there that neither imports
// nor waits for the first batch.
func startsSlowly(l diagnose.Ledger) (start diagnose.Row, slow bool) {
	start = l.Find(diagnose.RowStartUp)
	return start, isWorkOfStart(start.Line) && start.IsOwnWork() &&
		start.Seconds*start.OwnShare >= max(slowStart, slowStartShare*l.Wall)
}

// FindSlowStart tells of a run that begins late because the program itself works for long before its first step.
func FindSlowStart(l diagnose.Ledger) []diagnose.Finding {
	start, slow := startsSlowly(l)
	if !slow {
		return nil
	}
	most := "" // of it, if others have a part
	if part := diagnose.WholePercent(start.LineShare); part != diagnose.WholePercent(start.OwnShare) {
		most = fmt.Sprintf(" (%s)", part)
	}
	f := diagnose.NewTextFinding(diagnose.FindingSlowStart, fmt.Sprintf(
		"the first step comes after %s. %s of that are work of the program's own, at %s%s",
		quantity.AboutSeconds(start.Seconds), diagnose.WholePercent(start.OwnShare), start.Line.String(), most))
	f.Source, f.Advice = start.Line.Where().String(), diagnose.AdviseStart(start.Line)
	f.Seconds, f.Share = start.Seconds*start.OwnShare, start.Share*start.OwnShare
	return []diagnose.Finding{f}
}

// FindSlowEnd tells of a run whose end is held up by its loader's workers, or by a line of the program that works.
// What has to be saved is no such work.
func FindSlowEnd(l diagnose.Ledger) []diagnose.Finding {
	tail := l.Find(diagnose.RowTail)
	if tail.Seconds < slowEnd || !(tail.LineShare >= diagnose.NamedLine) {
		return nil
	}
	late := fmt.Sprintf("the program ends %s after its last step, and", quantity.AboutSeconds(tail.Seconds))
	part := diagnose.WholePercent(tail.LineShare)
	f := diagnose.NewTextFinding(diagnose.FindingSlowEnd, fmt.Sprintf(
		"%s waits for the loader's workers %s of that: each finishes the batch that it has begun", late, part))
	f.Source, f.Seconds, f.Share = tail.Line.Where().String(), tail.Seconds, tail.Share
	f.Advice = diagnose.SlowEndAdvice
	works := isWorkOfStart(tail.Line) && tail.IsOwnWork() && tail.Line.Kind != diagnose.Saving
	switch {
	case tail.Line.Kind == diagnose.EndingWorkers:
		return []diagnose.Finding{f}
	case works && tail.Seconds*tail.LineShare >= max(slowEnd, slowStartShare*l.Wall):
		f.Text = fmt.Sprintf("%s %s of that are work at %s", late, part, tail.Line.String())
		f.Advice = diagnose.LateWorkAdvice
		f.Seconds, f.Share = tail.Seconds*tail.LineShare, tail.Share*tail.LineShare
		return []diagnose.Finding{f}
	}
	return nil
}

// Shares of a run's recurring time and seconds from which work beside training is worth a word, though the device is
// busy with it. [J]
const (
	longBeside      = 0.25
	secondsOfBeside = 5.0
)

// FindBusyBeside tells of evaluation, or of work between epochs, that takes much of a run while the device works
// for it. No idle time shows it.
func FindBusyBeside(run *recording.Run, c *diagnose.Case, l diagnose.Ledger) (out []diagnose.Finding) {
	for _, r := range l.Rows {
		beside := r.Name == diagnose.RowEvaluation || r.Name == diagnose.RowEdge
		named := r.IsOwnWork() && r.LineShare >= diagnose.NamedLine
		if !beside || !named || r.Seconds < max(secondsOfBeside, longBeside*l.Recurring()) || !(r.Busy > r.Seconds/2) {
			continue
		}
		f := diagnose.NewTextFinding(diagnose.FindingBesideTraining, fmt.Sprintf(
			"%s takes %s of the run, and the device works for it %s of that: at %s",
			besideNames[r.Name], quantity.Percent(r.Share), quantity.Percent(r.Busy/r.Seconds), r.Line.String()))
		f.Source, f.Seconds, f.Share = r.Line.Where().String(), r.Seconds, r.Share
		f.Advice = diagnose.BesideAdvice
		if r.Name == diagnose.RowEvaluation && EvaluatesAlone(run, c, r) {
			f.Text += ". The other ranks do not evaluate, and wait for this one"
			f.Advice = diagnose.EvaluateOnAllAdvice
		}
		out = append(out, f)
	}
	return out
}

// EvaluatesAlone reports whether samples find no other rank of the job in functions that evaluate, while this one does.
// Of evaluation without spans, that is anywhere in the run.
func EvaluatesAlone(run *recording.Run, c *diagnose.Case, r diagnose.Row) bool {
	from, to, alone := 0.0, run.End(), false
	if n := len(r.Spans); n > 0 {
		from, to = r.Spans[0].From, r.Spans[n-1].To
	}
	for _, p := range run.Facts.Processes {
		if p.Role != recording.RoleTrainer || p.World < 2 || p.PID == c.Costs.Window.PID {
			continue
		}
		seen := live.FindLoopLines(run, p.PID, from, to)
		if seen.Looks < diagnose.FewLooks || seen.Evaluating >= (1-mostlyEvaluates)*min(seen.Seconds, r.Seconds) {
			return false
		}
		alone = true
	}
	return alone
}

// besideNames begin a sentence.
var besideNames = map[diagnose.RowName]string{
	diagnose.RowEvaluation: "evaluation", diagnose.RowEdge: "what the program does between epochs",
}
