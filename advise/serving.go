package advise

import (
	"cmp"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
)

// serving advises a server: what the class names, in words of servers, with its line and a bound of
// its worth. A server that keeps up is advised nothing.
func (a adviser) serving() Plan {
	v := a.verdict
	if v.Class == diagnose.LaunchBound {
		change := v.Grounds.LaunchChange()
		return Plan{Fixes: []Fix{{
			Name: string(change.Setting), Title: v.Grounds.LaunchAdvice(), Changes: []stoker.Change{change},
			Forecast: a.atMost(atRemoval(v.Measured.Parts.Host)), Effort: Code, Risk: NoRisk,
		}}}
	}
	if !(v.Most > 1) || !isOfServer(v.Class) {
		return Plan{}
	}
	fix := Fix{
		Name: string(v.Class), Title: cmp.Or(v.Class.SettingsOf(v.Grounds.Server), v.Class.Do()),
		Forecast: a.atMost(v.Most), Effort: Code, Risk: NoRisk,
	}
	if top, found := findServerLine(v); found {
		fix.Title, fix.At = cmp.Or(top.Kind.Advice(), fix.Title), top.Short()
	}
	if holder, waits := v.Measured.LoopLines.BeforeLock(); v.Class == diagnose.ServerWaits && waits {
		fix.Notes = append(fix.Notes, holder.Short()+": most requests wait there for a lock, which its owner keeps meanwhile")
	}
	fix.Notes = append(fix.Notes, "the figure is requests a second at the most: what else the server does per request stays")
	if !worthIt(fix.Forecast) {
		return Plan{Rejected: []Rejected{{Name: fix.Name, Why: notWorth(fix.Forecast)}}}
	}
	return Plan{Fixes: []Fix{fix}}
}

// findServerLine is the line that a server's class is about: where the host works, or where requests are held; false
// where none was seen.
func findServerLine(v diagnose.Verdict) (diagnose.LoopLine, bool) {
	lines := v.Measured.LoopLines
	switch v.Class {
	case diagnose.ServerHost, diagnose.Tokenizing:
		return lines.FirstWork()
	case diagnose.ServerWaits:
		return lines.FirstHeld()
	default:
		return diagnose.LoopLine{}, false
	}
}

// isOfServer reports whether a class is one that servers alone have.
func isOfServer(c diagnose.Class) bool {
	switch c {
	case diagnose.BatchTooSmall, diagnose.ServerHost, diagnose.Tokenizing, diagnose.ServerWaits, diagnose.CacheFull:
		return true
	default:
		return false
	}
}
