package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// evidence is what a plan has to pass: the grounds of the recording, and what limits it.
type evidence struct {
	adviser
	saturated bool // workers always have a batch to prepare: steps come as fast as they do
}

// onEvidence is what a plan is judged by, of a replayed trace where t is not nil.
func (a adviser) onEvidence(t *replay.Trace) evidence { return evidence{a, t != nil && t.Saturated()} }

// ofInput are settings that make batches come faster. With saturated workers nothing
// else makes a step shorter.
var ofInput = []stoker.Setting{
	stoker.NumWorkers, stoker.PrefetchFactor, stoker.PersistentWorkers, stoker.StorageKind, stoker.Cores,
	stoker.LoaderKind, stoker.InOrder, stoker.Split, stoker.Shards,
}

// reject says why a fix is not advised. A setting of another framework gets
// try here: no word of it.
func (p *Plan) reject(name, why string) { p.refuse(Rejected{Name: name, Why: why}) }

// refuse is reject with the gate that a gain did not pass.
func (p *Plan) refuse(r Rejected) {
	if r.Why != "" && !r.foreign() {
		p.Rejected = append(p.Rejected, r)
	}
}

// refuses says why nothing here carries a fix; "" if something does.
func (e evidence) refuses(fix Fix) string {
	if why := cmp.Or(e.verdict.Grounds.RefuseAny(fix.Changes), e.verdict.Grounds.LacksAnyUnit(fix.Changes)); why != "" {
		return why
	}
	if why := e.verdict.Crowded(); why != "" && e.moreWorkers(fix) {
		return why
	}
	if e.saturated && fix.Name != Together && !slices.ContainsFunc(fix.Changes,
		func(c stoker.Change) bool { return slices.Contains(ofInput, c.Setting) }) {
		return "worth 1.00x: the workers are the limit, and everything else waits for their batches"
	}
	return ""
}

// unseenHost is the part of the idle time from which what the host did then decides. [J]
const unseenHost = 0.5

// bound leaves only the upper end of a replayed gain, if the host of a program without a
// framework does nothing in most of the idle time that was recorded: it may wait there for
// a timer, and then nothing that shortens its way there is won.
func (e evidence) bound(fix *Fix) {
	if !diagnose.IsBare(e.verdict.Grounds.Framework) {
		return
	}
	for _, c := range e.verdict.Causes {
		if c.Cause == idle.Unrecorded.String() && c.Share > unseenHost*e.verdict.Idle {
			fix.Forecast.Speedup = stoker.Interval{Low: 1, Point: math.NaN(), High: fix.Forecast.Speedup.High}
			fix.Mind = fmt.Sprintf("the host does nothing that was recorded %s of the window: if it waits there "+
				"for a timer or for input, nothing is gained", quantity.Percent(c.Share))
		}
	}
}

// ofWorkers are settings that change how many workers there are and how they hand over,
// and not what a batch takes of a core, nor how many cores there are.
var ofWorkers = []stoker.Setting{stoker.NumWorkers, stoker.PrefetchFactor, stoker.PersistentWorkers, stoker.InOrder}

// moreWorkers reports whether a fix is to have more workers, and nothing else.
func (e evidence) moreWorkers(fix Fix) bool {
	more := false
	for _, c := range fix.Changes {
		to, counted := c.To.(int)
		more = more || c.Setting == stoker.NumWorkers && counted && to > e.costs.Workers
		if !slices.Contains(ofWorkers, c.Setting) {
			return false
		}
	}
	return more
}

// ofLoader are settings that are written where a DataLoader is made.
var ofLoader = append([]stoker.Setting{
	stoker.PinMemory, stoker.LoaderKind, stoker.BatchSize, stoker.Split, stoker.Shards,
}, ofWorkers...)

// where is the line of the DataLoader that a fix is about: the line that makes it, or, if a
// library makes it, where the program iterates it.
func (e evidence) where(fix Fix) string {
	l := e.judgedLoader()
	if l == nil || fix.Name != string(stoker.Shards) && !slices.ContainsFunc(fix.Changes, func(c stoker.Change) bool {
		return slices.Contains(ofLoader, c.Setting)
	}) {
		return ""
	}
	return placeOfLoader(l)
}

// placeOfLoader is where a DataLoader is made, or, if a library makes it, where the program iterates it.
func placeOfLoader(l *recording.Loader) string {
	if l.Call == "" || strings.Contains(l.Call, "/site-packages/") || strings.Contains(l.Call, "/dist-packages/") {
		return l.Where
	}
	return l.Call
}

// admit takes from a plan what the evidence does not carry: every plan goes through it.
func (e evidence) admit(plan Plan) Plan {
	now := e.run.SettingsOf(e.costs.Window.PID, e.costs.Window.Loader)
	for _, fixes := range []*[]Fix{&plan.Fixes, &plan.Doubtful} {
		*fixes = slices.DeleteFunc(*fixes, func(f Fix) bool {
			why := e.refuses(f)
			if len(f.Changes) > 0 && len(now.Settle(f.Changes)) == 0 {
				why = "it is set already"
			}
			plan.reject(f.Name, why)
			return why != ""
		})
		for i := range *fixes {
			f := &(*fixes)[i]
			f.Where, f.Changes = e.where(*f), now.Settle(f.Changes)
			if plan.Replay == nil { // a replay tells the device from the host
				f.Forecast.Bound = e.costs.LimitOf(f.Forecast)
			}
		}
	}
	plan.Rejected = slices.DeleteFunc(plan.Rejected, func(r Rejected) bool {
		return e.verdict.Grounds.Refuse(stoker.Setting(r.Name)) == diagnose.ForeignSetting
	})
	plan.settleRejected()
	slices.SortStableFunc(plan.Fixes, func(a, b Fix) int { return e.repairs(b) - e.repairs(a) })
	return plan
}

// repairs is 1 of a fix without which the program trains on each sample several times.
func (e evidence) repairs(fix Fix) int {
	if l := e.verdict.Grounds.Loader; fix.Name == string(stoker.Split) && l != nil && l.Repeats() > 1 {
		return 1
	}
	return 0
}
