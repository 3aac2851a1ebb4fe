package traced

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// stretch is a part of the recording that belongs to a row of the ledger, nanoseconds.
type stretch struct {
	from, to int64
	row      diagnose.RowName
}

// listRows accounts for the time of the recording: each nanosecond of the judged device in one row, from
// the first event to the last.
func (t *filler) listRows(run *recording.Run) []diagnose.Row {
	wall := t.t.End - t.t.Start
	if wall <= 0 {
		return nil
	}
	rows := map[diagnose.RowName]*diagnose.Row{}
	stretches := t.cutRecording(run)
	busy := t.measureBusy(stretches)
	for i, s := range stretches {
		r := rows[s.row]
		if r == nil {
			r = &diagnose.Row{Name: s.row, Saves: math.NaN(), LineShare: math.NaN()}
			rows[s.row] = r
		}
		r.Seconds, r.Busy, r.Count = r.Seconds+toSeconds(s.to-s.from), r.Busy+toSeconds(busy[i]), r.Count+1
		if s.row == diagnose.RowEarlier && t.d.Earlier {
			r.Busy = math.NaN() // the file holds no work of that time
		}
		r.Idle, r.Share = r.Seconds-r.Busy, r.Seconds/toSeconds(wall)
		r.Spans = append(r.Spans, diagnose.Stretch{From: toSeconds(s.from), To: toSeconds(s.to)})
	}
	judged := rows[t.judgedRow()]
	if judged == nil {
		return nil
	}
	judged.Count, judged.Waits, judged.Saves = t.countOf(run, t.judgedRow()), t.listWaits(), judged.Idle
	var out []diagnose.Row
	for _, w := range diagnose.LedgerRows {
		if r := rows[diagnose.RowName(w.Name)]; r != nil {
			out = append(out, *r)
		}
	}
	return out
}

// countOf is how many steps a row has: those that are judged, and the others of it that were recorded.
func (t *filler) countOf(run *recording.Run, row diagnose.RowName) (n int) {
	if t.d.Seen > 1 && row != diagnose.RowJudged {
		for _, s := range t.recordedSteps(run) {
			if s.row == row {
				n++
			}
		}
	}
	return max(n, len(t.d.Steps))
}

// cutRecording cuts the recording: the time before the first step or the judged window is the start, the
// steps are their phase's, and the time after them is the tail.
func (t *filler) cutRecording(run *recording.Run) []stretch {
	var out []stretch
	at := t.t.Start
	add := func(to int64, row diagnose.RowName) {
		if to = min(to, t.t.End); to > at {
			out = append(out, stretch{at, to, row})
			at = to
		}
	}
	steps := t.recordedSteps(run)
	first := t.d.From
	if len(steps) > 0 && t.d.Seen > 1 {
		first = min(first, steps[0].from)
	}
	before := diagnose.RowStartUp
	if t.d.Earlier || t.all.Runs(t.d) {
		before = diagnose.RowEarlier
	}
	add(first, before)
	for _, s := range steps {
		if s.to <= t.d.From && t.d.Seen > 1 {
			add(min(s.to, t.d.From), leftOut(s.row, diagnose.RowEarlier))
		}
	}
	add(t.d.From, leftOut(t.judgedRow(), diagnose.RowEarlier))
	add(t.d.To, t.judgedRow())
	for _, s := range steps {
		if s.to > t.d.To && t.d.Seen > 1 {
			add(s.to, leftOut(s.row, diagnose.RowTail))
		}
	}
	add(t.t.End, diagnose.RowTail)
	return out
}

// leftOut is the row of a step that is not judged: its own, but for that of judged steps.
func leftOut(row, instead diagnose.RowName) diagnose.RowName {
	if row == diagnose.RowJudged {
		return instead
	}
	return row
}

// recordedSteps are all steps of the judged process on the host's clock, in order.
func (t *filler) recordedSteps(run *recording.Run) (out []stretch) {
	rank := t.judgedRank()
	apart := t.judgedRow() == diagnose.RowTraining && slices.ContainsFunc(run.Steps, func(s recording.Step) bool {
		return s.Rank == rank && s.Phase == recording.Train
	})
	for _, s := range run.Steps {
		if s.Rank != rank || !(s.Period > 0) {
			continue
		}
		row := diagnose.RowOf(s.Phase)
		if row == diagnose.RowTraining || s.Phase == recording.Evaluate && !apart {
			row = t.judgedRow()
		}
		out = append(out, stretch{int64(1e9 * s.Start), int64(1e9 * (s.Start + s.Period)), row})
	}
	slices.SortFunc(out, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return out
}

// judgedRow is the row of the judged window.
func (t *filler) judgedRow() diagnose.RowName {
	switch {
	case t.d.StartUp:
		return diagnose.RowStartUp
	case t.d.Apart != "":
		return diagnose.RowOf(t.d.Apart)
	case t.grounds.Program == diagnose.Training:
		return diagnose.RowTraining
	case t.grounds.Program == diagnose.Inference && len(t.d.Steps) > 1 && !diagnose.IsBare(t.grounds.Framework):
		return diagnose.RowInference
	}
	return diagnose.RowJudged
}

// measureBusy is for how long anything ran on the judged device in each of some stretches, which are in
// order and disjoint. It goes over the work once.
func (t *filler) measureBusy(stretches []stretch) []int64 {
	busy := make([]int64, len(stretches))
	w, end, at := &t.t.Device, t.t.Start, 0
	for i, device := range w.Device {
		from := max(w.Start[i], end)
		if device != t.d.Index || w.End[i] <= from {
			continue
		}
		end = w.End[i]
		for at < len(stretches) && stretches[at].to <= from {
			at++
		}
		for k := at; k < len(stretches) && stretches[k].from < end; k++ {
			busy[k] += min(end, stretches[k].to) - max(from, stretches[k].from)
		}
	}
	return busy
}

// waitsOf is the reason of a device's idle time, by cause.
var waitsOf = map[idle.Cause]diagnose.WaitFor{
	idle.DataLoader: diagnose.WaitInput, idle.Launch: diagnose.WaitLaunch, idle.CPUOp: diagnose.WaitLaunch,
	idle.CopyIssue: diagnose.WaitCopy, idle.Communication: diagnose.WaitRanks, idle.Python: diagnose.WaitHost,
	idle.HostCode: diagnose.WaitHost,
	idle.Sync:     diagnose.WaitHost, idle.Allocator: diagnose.WaitHost, idle.GC: diagnose.WaitHost,
	idle.WarmUp: diagnose.WaitHost,
}

// listWaits are the reasons of the device's idle time in the judged window, longest first.
func (t *filler) listWaits() (out []diagnose.Wait) {
	seconds := map[diagnose.WaitFor]float64{}
	for c, ns := range t.d.Causes {
		why := waitsOf[idle.Cause(c)]
		if why == "" {
			why = diagnose.WaitUnknown
		}
		seconds[why] += toSeconds(ns)
	}
	for why, s := range seconds {
		if s > 0 {
			out = append(out, diagnose.Wait{For: why, Seconds: s})
		}
	}
	slices.SortFunc(out, func(a, b diagnose.Wait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.For, b.For))
	})
	return out
}
