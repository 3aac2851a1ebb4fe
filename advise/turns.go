package advise

import (
	"fmt"
	"path"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// spreadOverTurns turns the gain of the judged loader into one of the program, if other loaders, as one for validation,
// take turns with it: their turns take as long as before.
func (a adviser) spreadOverTurns(plan *Plan) {
	w := a.costs.Window
	part := a.costs.Step / (a.costs.Step + w.TurnPerStep())
	for _, fixes := range []*[]Fix{&plan.Fixes, &plan.Doubtful} {
		for i := range *fixes {
			f := &(*fixes)[i]
			if f.Where == "" || f.Beside {
				continue
			}
			s, rate := &f.Forecast.Speedup, &f.Forecast.Throughput
			*s = stoker.Interval{Low: overRun(s.Low, part), Point: overRun(s.Point, part), High: overRun(s.High, part)}
			if f.Name == string(stoker.PersistentWorkers) && len(f.Changes) > 0 {
				a.keepOthers(f)
			}
			now := a.costs.Rate()
			*rate = stoker.Interval{Low: now * s.Low, Point: now * s.Point, High: now * s.High}
		}
	}
	plan.Fixes = slices.DeleteFunc(plan.Fixes, func(f Fix) bool {
		little := f.Where != "" && !f.Beside && f.Saves == "" && !a.worthIt(f.Forecast)
		if little {
			plan.reject(f.Name, notWorth(f.Forecast))
		}
		return little
	})
}

// keepOthers proposes persistent workers for the other loaders too, if these restart theirs each turn, and adds that
// gain.
func (a adviser) keepOthers(fix *Fix) {
	w := a.costs.Window
	steps := float64(len(w.Steps))
	for i := range a.run.Facts.Loaders {
		l := &a.run.Facts.Loaders[i]
		stays, known := l.Settings.Bool(stoker.PersistentWorkers)
		workers, _ := l.Settings.Int(stoker.NumWorkers)
		if l.PID != w.PID || l.Kind != "" || l.Anew || l.Changes || workers == 0 || stays || !known {
			continue
		}
		firsts, usual := waitsOfTurns(w, l.ID)
		all, own := 0.0, max(usual, stat.Or(a.costs.Fetch, 0))
		likely := 0.0
		for _, wait := range firsts {
			all, likely = all+wait, likely+max(0, wait-own)
		}
		if likely < refillWorth*w.TurnTime {
			continue
		}
		s, now := &fix.Forecast.Speedup, a.costs.Step+w.TurnPerStep()
		*s = stoker.Interval{ // at worst half of it has another cause, as for the judged loader's workers
			Low: now / (now/s.Low - likely/2/steps), Point: now / (now/s.Point - likely/steps),
			High: now / (now/s.High - all/steps),
		}
		place := placeOfLoader(l)
		fix.Also = append(fix.Also, place)
		fix.Notes = append(fix.Notes, fmt.Sprintf("the gain is that of both: the first batch of the DataLoader of %s is "+
			"waited for %s each time", path.Base(place), quantity.AboutSeconds(stat.Mean(firsts))))
	}
}

// waitsOfTurns returns the waits for the first batches of a loader that takes turns with the judged one, and how long
// its other batches are waited for.
func waitsOfTurns(w recording.Window, loader int) (firsts []float64, usual float64) {
	var others []float64
	for _, s := range w.Turns {
		switch wait := stat.Or(s.Idle, stat.Or(s.Wait, 0)); {
		case s.Loader != loader:
		case s.First:
			firsts = append(firsts, wait)
		default:
			others = append(others, wait)
		}
	}
	return firsts, stat.Or(stat.Median(others), 0)
}
