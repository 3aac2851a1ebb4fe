package ledger

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// fewLooks is the number of looks at the launching thread below which they name no line. [J]
const fewLooks = 20

// nameLines says on which line of the program each row's time goes.
func (f *filler) nameLines() {
	for name, r := range f.rows {
		switch name {
		case diagnose.RowEvaluation:
			r.Line = lineOf(f.whereIterated(recording.Evaluate))
		case diagnose.RowSkipping:
			r.Line = lineOf(f.whereIterated(recording.Skip))
		case diagnose.RowEdge:
			if l := f.run.FindLoader(f.Costs.Window.PID, f.Costs.Window.Loader); l != nil {
				r.Line = lineOf(l.Where)
			}
		case diagnose.RowCheckpoint, diagnose.RowStartUp, diagnose.RowTail:
			f.nameFrom(r)
		case diagnose.RowAwaited:
			if line, found := f.LoopLines.FirstOf(diagnose.Held); found {
				r.Line, r.LineShare = line.Line, line.Share.Point
			}
		case diagnose.RowBetween:
			if line, found := f.LoopLines.FirstWork(); found && f.Requests.Known() {
				r.Line, r.LineShare = line.Line, line.Share.Point
				break
			}
			r.Line, r.LineShare = f.lineBetween(r.Seconds)
		case diagnose.RowTraining, diagnose.RowInference:
			if r.MostlyWaitsFor() == diagnose.WaitInput && len(f.Lines) > 0 {
				r.Line, r.LineShare = f.Lines[0], f.Lines[0].Share.Point
			}
		default:
		}
	}
}

// nameFrom takes a row's line from the looks while it lasted: of a checkpoint the line that saves.
func (f *filler) nameFrom(r *diagnose.Row) {
	n := len(r.Spans)
	if n == 0 {
		return
	}
	seen := live.FindLoopLines(f.run, f.Costs.Window.PID, r.Spans[0].From, r.Spans[n-1].To)
	if !(seen.Looks >= fewLooks) || len(seen.Lines) == 0 {
		return
	}
	line, found := seen.Lines[0], true
	if r.Name == diagnose.RowCheckpoint {
		line, found = seen.FirstOf(diagnose.Saving)
	}
	if found {
		r.Line, r.LineShare = line.Line, line.Share.Point
	}
}

// beside are kinds of lines that are the steps themselves.
var beside = []diagnose.Kind{diagnose.Awaiting, diagnose.HandOver, diagnose.DeviceWait, diagnose.Launching}

// besideSteps is the share of the looks at the launching thread that find it on lines of the program that are
// neither the steps nor a wait for a batch: of all but waits. 0 where no line of them stands out.
func (f *filler) besideSteps() float64 {
	if !(f.LoopLines.Looks >= fewLooks) {
		return 0
	}
	on, all, first := 0.0, 0.0, 0.0
	for _, line := range f.LoopLines.Lines {
		switch {
		case line.Kind != diagnose.Launching && slices.Contains(beside, line.Kind), line.Own.IsAt(f.Costs.SyncsAt):
			continue
		case line.Kind != diagnose.Launching && line.Own.File != "" && !f.isSaved(line):
			on, first = on+line.Seconds, max(first, line.Seconds)
		}
		all += line.Seconds
	}
	if !(first >= diagnose.NamedLine*all) {
		return 0
	}
	return on / all
}

// lineOfSync is the line on which steps wait for the device, where the host's work beside that is
// short enough to hide behind the device's: without the wait it would cost nothing. The zero Line elsewhere.
func (f *filler) lineOfSync() diagnose.Line {
	c := f.Costs
	at := lineOf(c.SyncsAt)
	busy := f.Util * c.Step
	own := c.HostStep - stat.Or(c.Window.Asks().SyncTime, 0) - stat.Or(c.Wait, 0)
	rare := c.Rare.Count > 0 && c.RareShare() >= f.Parts.Long
	if at.Own.File == "" || !(c.Window.Asks().Syncs >= 1) || !(own <= busy) || rare {
		return diagnose.Line{}
	}
	at.Kind = diagnose.Syncing
	return at
}

// isSaved reports whether a line's time is that of the row of checkpoints.
func (f *filler) isSaved(line diagnose.LoopLine) bool {
	return line.Kind == diagnose.Saving && f.rows[diagnose.RowCheckpoint] != nil
}

// lineBetween is the line on which the launching thread is seen most beside its steps, if that
// accounts for a good part of the time.
func (f *filler) lineBetween(seconds float64) (diagnose.Line, float64) {
	if line := f.lineOfSync(); line.Kind != "" {
		return line, math.NaN()
	}
	for _, line := range f.LoopLines.Lines {
		if f.isSaved(line) || slices.Contains(beside, line.Kind) || line.Own.IsAt(f.Costs.SyncsAt) {
			continue
		}
		if f.LoopLines.Looks >= fewLooks && line.Seconds >= diagnose.NamedLine*seconds {
			return line.Line, line.Share.Point
		}
		break
	}
	return diagnose.Line{}, math.NaN()
}

// whereIterated is the line that asks for most of the batches of a phase; "" unknown.
func (f *filler) whereIterated(phase recording.Phase) string {
	seconds := map[int]float64{}
	best := recording.OwnLoop
	for _, s := range f.steps {
		if s.Phase != phase || s.Loader == recording.OwnLoop || math.IsNaN(s.Period) {
			continue
		}
		if seconds[s.Loader] += s.Period; seconds[s.Loader] > seconds[best] {
			best = s.Loader
		}
	}
	if l := f.run.FindLoader(f.Costs.Window.PID, best); l != nil {
		return l.Where
	}
	return ""
}

// lineOf reads "train.py:41"; the zero Line where that is unknown.
func lineOf(where string) (l diagnose.Line) {
	at := strings.LastIndexByte(where, ':')
	if at < 0 {
		return l
	}
	n, err := strconv.Atoi(where[at+1:])
	if err != nil {
		return l
	}
	l.Own = recording.Place{File: where[:at], Line: n}
	return l
}
