package live

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// findSkipping reports a loop that fetches batches and discards them, as frameworks do to resume
// in the middle of an epoch. Such batches are a separate phase (recording.Skip) and no steps.
func (l filler) findSkipping() (diagnose.Finding, bool) {
	n, seconds, trains, infers := 0, 0.0, false, false
	f := diagnose.NewFinding(diagnose.FindingSkippingBatches)
	for _, s := range l.run.Steps {
		if s.PID != l.Costs.Window.PID {
			continue
		}
		trains, infers = trains || s.Phase == recording.Train, infers || s.Phase == recording.Evaluate
		if s.Phase != recording.Skip {
			continue
		}
		if n == 0 {
			f.From = s.Start
			f.Source = l.whereIterated(s)
		}
		took := s.Period
		if !(took > 0) {
			took = s.Wait
		}
		n, seconds, f.To = n+1, seconds+took, s.Start+took
	}
	if n == 0 {
		return diagnose.Finding{}, false
	}
	until := "before the first was trained with"
	switch {
	case !trains && infers:
		until = "before the model was given the first"
	case !trains:
		until = "and none was trained with yet"
	}
	where := ""
	if f.Source != "" {
		where = " at " + f.Source
	}
	f.Text = fmt.Sprintf("%d batches were fetched%s and thrown away in %s, %s: behind them no optimizer stepped and the "+
		"device did nothing, as when a run is resumed in the middle of an epoch. They count in no figure above. A "+
		"sampler that begins there skips them without preparing them", n, where, quantity.AboutSeconds(seconds), until)
	f.Seconds, f.Advice = seconds, diagnose.ResumeAdvice
	return f, true
}

// Batches behind which the device does nothing. [J]
const (
	leastUnused  = 0.3  // share of the judged steps from which it is told
	workOfUnused = 0.05 // the device's work on one, of that on a step that is trained
	hostOfUnused = 0.1  // the loop's own time, of the same
	fewUnused    = 20   // judged steps whose device's clock is known, below which nothing is said
	timesMeter   = 2    // how many times the device's work by its meter that of the steps may be
)

// findUnused reports a loop that passes over many of its batches between those it trains on, as one that leaves out
// what has no label. A loop that gathers several batches for one step looks the same.
func (l filler) findUnused() (diagnose.Finding, bool) {
	var works []float64
	all, time := 0.0, 0.0
	for _, s := range l.Costs.Window.Steps {
		if work := s.DevicePeriod - s.Idle; s.Phase == recording.Train && !math.IsNaN(work) {
			works = append(works, work)
			all, time = all+work, time+s.DevicePeriod
		}
	}
	typical, unused, seconds := stat.Quantile(works, busySteps), 0, 0.0
	if len(works) < fewUnused || !(typical > 0) {
		return diagnose.Finding{}, false
	}
	if l.Util < all/time/timesMeter { // the device waits in long steps for something else than input
		return diagnose.Finding{}, false
	}
	for _, s := range l.Costs.Window.Steps {
		work := s.DevicePeriod - s.Idle
		if s.Phase == recording.Train && work <= workOfUnused*typical && s.Period-s.Wait <= hostOfUnused*typical {
			unused, seconds = unused+1, seconds+s.Period
		}
	}
	if float64(unused) < leastUnused*float64(len(works)) {
		return diagnose.Finding{}, false
	}
	if f, gathers := l.findGathered(typical); gathers {
		return f, true
	}
	f := diagnose.NewFinding(diagnose.FindingUnusedBatches)
	f.Source = l.whereIterated(l.Costs.Window.Steps[0])
	f.Text = fmt.Sprintf("behind %d of %d batches the device does nothing, and the loop asks for the next one at once: they "+
		"take %s. If the loop throws them away, nobody has to prepare them. If it gathers several for a step, nothing is lost",
		unused, len(works), quantity.AboutSeconds(seconds))
	f.Seconds, f.Advice = seconds, diagnose.UnusedAdvice
	return f, true
}

// regular is the share of a loop's steps that take as many batches as its usual one, from which it gathers batches
// rather than passing over some. [J]
const regular = 0.7

// findGathered reports a loop that takes as many batches of its loader for each step.
func (l filler) findGathered(typical float64) (diagnose.Finding, bool) {
	gaps, all, since, works := map[int]int{}, 0, 0, false
	for _, s := range l.Costs.Window.Steps {
		before := works // the device may still work on a step while the loop asks for batches of the next one
		works = s.Phase == recording.Train && s.DevicePeriod-s.Idle > workOfUnused*typical
		if since++; works && !before {
			gaps[since]++
			all, since = all+1, 0
		}
	}
	usual := 0
	for gap, n := range gaps {
		if n > gaps[usual] || n == gaps[usual] && gap < usual {
			usual = gap
		}
	}
	size, known := 0, false
	if d := l.judgedLoader(); d != nil {
		size, known = d.Settings.Int(stoker.BatchSize)
	}
	if usual < 2 || float64(gaps[usual]) < regular*float64(all) || !known {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingGatheredBatches)
	f.Source = l.whereIterated(l.Costs.Window.Steps[0])
	f.Text = fmt.Sprintf("the loop takes %d batches of %s from its loader for each step, and each is handed over by itself", usual,
		quantity.Many(size, "sample"))
	f.Advice = fmt.Sprintf(diagnose.GatheredAdvice+", here batch_size=%d", usual*size)
	return f, true
}

// busySteps is the quantile of the device's work on steps that stands for one that is trained.
const busySteps = 0.95

// whereIterated is the line that asks for a step's batches; "" if it is not known.
func (l filler) whereIterated(s recording.Step) string {
	if loader := l.run.FindLoader(s.PID, s.Loader); loader != nil {
		return loader.Where
	}
	return ""
}

// onlySkips reports whether the judged process fetches batches and has done nothing with any.
func (l filler) onlySkips() bool {
	skips := false
	for _, s := range l.run.Steps {
		if s.PID == l.Costs.Window.PID && s.Phase != recording.Skip {
			return false
		}
		skips = skips || s.Phase == recording.Skip
	}
	return skips
}
