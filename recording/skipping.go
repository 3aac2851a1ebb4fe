package recording

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/internal/stat"
)

// Start values for skipping. [J] A single batch may be discarded because it has no label or its
// loss is not a number. Gradients are accumulated over fewer batches.
const (
	leastSkipped  = 10    // batches in a row
	mostGathered  = 8     // times the usual batches between two optimizer steps
	unseenSkipped = 50    // batches in a row if no clock says what the device did
	littleWork    = 0.1   // of a step's work, or of the time if nothing has worked yet
	someWork      = 0.5   // of a step's work
	coarse        = 2.0   // seconds in which a meter also counts work before and after
	copiesMeter   = 0.05  // share of the time with a kernel, or with a copy of discarded batches
	busiestSteps  = 0.975 // of all steps are shorter than one that works, if no optimizer identifies those
)

// tellSkipping marks batches that a loop fetches and discards until it reaches the place where
// it left off: fetches that are followed by no optimizer step and no kernel. They are not
// steps, and waiting for them is not waiting of the training.
func (r *Run) tellSkipping() {
	type fed struct{ pid, loader int }
	of, trains, trained := map[fed][]int{}, map[int]bool{}, map[fed]bool{}
	for _, s := range r.Steps {
		if s.Optimized > 0 {
			trains[s.PID], trained[fed{s.PID, s.Loader}] = true, true
		}
	}
	for i, s := range r.Steps { // a job that only infers goes on where it was as well
		if (s.Phase == Train || s.Phase == Evaluate && !trains[s.PID]) && s.Loader != OwnLoop {
			key := fed{s.PID, s.Loader}
			of[key] = append(of[key], i)
		}
	}
	for key, at := range of {
		if trains[key.pid] && !trained[key] {
			continue // evaluation, or a loader that is not used for training
		}
		if r.nothingWorked(at) {
			r.setApart(at)
			continue
		}
		r.skipFetches(at, r.findWorking(at))
	}
}

func (r *Run) setApart(at []int) {
	for _, i := range at {
		r.Steps[i].Phase = Skip
	}
}

// nothingWorked reports whether no batch of a loader was used, by the device's own clock and by
// its meter. at are the indices of its steps.
func (r *Run) nothingWorked(at []int) bool {
	clocked := func(i int) bool { return !math.IsNaN(workOf(r.Steps[i])) }
	if len(at) < leastSkipped || !slices.ContainsFunc(at, clocked) {
		return false
	}
	last := r.Steps[at[len(at)-leastSkipped]] // training may just have begun
	if !r.restsFrom(at, last.N) || !r.restsFrom(at, 0) {
		return false
	}
	subject, w := r.spanOf(at)
	kernels := r.KernelSeries(subject).Between(w.Start, w.End)
	still := len(kernels.V) > 0 && slices.Max(kernels.V) == 0
	return still || r.Facts.Model == nil && r.KernelTime(subject, w).Share <= copiesMeter
}

// restsFrom reports whether the device did next to nothing in a loader's steps from number n
// on, by its own clock.
func (r *Run) restsFrom(at []int, n int) bool {
	worked, took := 0.0, 0.0
	for _, i := range at {
		s := r.Steps[i]
		if s.Optimized > 0 || worksInside(s.Inside) {
			return false
		}
		if work := workOf(s); s.N >= n && !math.IsNaN(work) { // the first and the last ones have no clock
			worked, took = worked+work, took+s.DevicePeriod
		}
	}
	return worked <= littleWork*took
}

// spanOf returns the device of consecutive steps, and the time that they take.
func (r *Run) spanOf(at []int) (subject string, w Window) {
	first, last := r.Steps[at[0]], r.Steps[at[len(at)-1]]
	return fmt.Sprintf("gpu/%d", max(first.Device, last.Device)), Window{Start: first.Start, End: last.endsAt()}
}

// workOf returns how long the device may have worked in a step, by its own clock; NaN if
// unknown. It includes what the host does besides waiting.
func workOf(s Step) float64 { return s.DevicePeriod - s.Idle }

// worksInside reports whether a step with an Inside did anything.
func worksInside(in *Inside) bool {
	return in != nil && (in.Forward+in.Backward+in.Optimizer > 0 || stat.Or(stat.Value(in.Launches), 0) > 0)
}

// working describes the steps of a loader that do work.
type working struct {
	time   float64      // of the device, seconds; NaN if its clock is unknown
	trains bool         // the optimizer steps after some of them
	gap    float64      // batches between two optimizer steps
	passes map[int]bool // in which the optimizer steps
}

// findWorking describes the steps of a loader that do work.
func (r *Run) findWorking(at []int) working {
	w := working{time: math.NaN(), gap: 1, passes: map[int]bool{}}
	var trained, all, gaps []float64
	gap := 0.0
	for _, i := range at {
		s := r.Steps[i]
		work := workOf(s)
		if gap++; s.Optimized > 0 {
			if w.trains { // skipped ones may come before the first
				gaps = append(gaps, gap)
			}
			gap, w.trains, w.passes[s.Pass] = 0, true, true
			trained = append(trained, keepNumber(work)...)
		}
		all = append(all, keepNumber(work)...)
	}
	if len(gaps) > 0 {
		w.gap = stat.Median(gaps)
	}
	if len(trained) > 0 {
		w.time = stat.Median(trained)
	} else if len(all) > 0 && !w.trains {
		// the last ones count, in case it has just begun to train
		w.time = max(stat.Quantile(all, busiestSteps), stat.Median(all[max(0, len(all)-leastSkipped):]))
	}
	return w
}

func keepNumber(v float64) []float64 {
	if math.IsNaN(v) {
		return nil
	}
	return []float64{v}
}

// skipFetches marks rows of a loader's fetches that are followed by no work. If no optimizer is
// visible, only those at the beginning of a pass count, because a resumed run skips there.
func (r *Run) skipFetches(at []int, w working) {
	for begin := 0; begin < len(at); {
		end := begin
		for end < len(at) && (w.mayBeSkipped(r.Steps[at[end]]) || end > begin && r.isLate(at[end:], w)) {
			end++
		}
		begins := begin == 0 || begin < len(at) && r.Steps[at[begin]].Pass != r.Steps[at[begin-1]].Pass
		// from there on it works all the time
		goesOn := w.trains || begins && r.medianWork(at[end:]) >= someWork*w.time
		if row := at[begin:end]; len(row) >= w.leastRow() && goesOn && r.confirmsSkipping(row, w) {
			r.setApart(row)
		}
		begin = max(end, begin+1)
	}
}

// isLate reports whether the first of a loader's steps is one of a row of discarded fetches all the same: the host was
// late for it alone, and the device's clock counts that.
func (r *Run) isLate(at []int, w working) bool {
	s := r.Steps[at[0]]
	return !w.trains && !worksInside(s.Inside) && len(at) > leastSkipped &&
		!slices.ContainsFunc(at[1:leastSkipped+1], func(i int) bool { return !w.mayBeSkipped(r.Steps[i]) })
}

// leastRow returns how many fetches in a row are neither an accident nor accumulated gradients.
func (w working) leastRow() int {
	switch {
	case !w.trains:
		return leastSkipped
	case math.IsNaN(w.time):
		return max(unseenSkipped, int(mostGathered*w.gap))
	}
	return max(leastSkipped, int(mostGathered*w.gap))
}

// mayBeSkipped reports whether a single fetch may be discarded.
func (w working) mayBeSkipped(s Step) bool {
	switch {
	case s.Optimized > 0 || worksInside(s.Inside):
		return false
	case !w.trains && s.N == 0: // its time has the program's first calls as well
		return true
	case !w.trains && math.IsNaN(workOf(s)):
		return s.Period-s.Wait <= littleWork*w.time
	case !w.trains:
		return workOf(s) <= someWork*w.time
	case math.IsNaN(w.time):
		return s.Optimized == 0 && w.passes[s.Pass]
	}
	return s.Optimized == 0
}

// confirmsSkipping reports whether clock and meter of the device agree that nothing was done
// with a row of fetches.
func (r *Run) confirmsSkipping(row []int, w working) bool {
	work := r.medianWork(row)
	subject, span := r.spanOf(row)
	share := r.KernelTime(subject, span).Share
	switch {
	case math.IsNaN(w.time):
		return !(share > copiesMeter)
	case w.trains:
		return work <= someWork*w.time
	case math.IsNaN(work):
		return share <= copiesMeter
	}
	return work <= littleWork*w.time && (share <= copiesMeter || span.End-span.Start < coarse)
}

// medianWork returns the median work of the device in some steps; NaN if unknown.
func (r *Run) medianWork(at []int) float64 {
	var works []float64
	for _, i := range at {
		works = append(works, keepNumber(workOf(r.Steps[i]))...)
	}
	return stat.Median(works)
}
