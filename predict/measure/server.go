package measure

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/serving"
	"github.com/stoker-dev/stoker/recording"
)

// leastRequests is the number of answered requests below which a recording says too little of a server. [J]
const leastRequests = 30

// FitServer takes a server's law from its requests and the passes of a window. most is how many requests a pass
// takes at most; 0: as many as were seen.
func FitServer(r Requests, w recording.Window, most int) (serving.Server, error) {
	if !r.Known() || !(r.Passes > 0) {
		return serving.Server{}, errors.New("it holds no requests and passes of a model: record a server with stoker observe -- CMD")
	}
	if r.Sides > 1 {
		return serving.Server{}, fmt.Errorf("its %d processes take requests, each with a model of its own: expected one (uvicorn: "+
			"--workers 1), whose figures each of the others has as well", r.Sides)
	}
	if r.Count < leastRequests {
		return serving.Server{}, fmt.Errorf("it holds %.0f answered requests, too few to tell: expected %d", r.Count, leastRequests)
	}
	f := serving.Fit{
		Rate: r.Rate, P50: r.Time(0.5), P99: r.Time(0.99), Busy: (1 - r.None) / r.Passes,
		Batch: max(1, stat.Or(r.Batch, r.PerPass())), Most: most, CV: spreadOfPasses(w),
		Passes: tellApart(r.answered, w),
	}
	if most <= 0 {
		f.Most = 1
		for _, s := range w.Steps {
			f.Most = max(f.Most, int(stat.Or(s.Samples, 1)))
		}
	}
	shareInputs(&f, r)
	f.PerRequest = boundSlope(w, f.Busy, f.Batch)
	return serving.FitServer(f), nil
}

// severalInputs is how many inputs of passes a request has in the mean, from which it has several: fewer are of
// requests that fail, or end outside of the window. [J]
const severalInputs = 1.5

// shareInputs tells inputs of passes from requests. More inputs in a pass than requests at a time are of the same
// request. Otherwise a request has one in each of several passes, as tokens.
func shareInputs(f *serving.Fit, r Requests) {
	inputs := f.Batch / r.PerPass()
	switch {
	case !(inputs >= severalInputs):
	case f.Batch > r.InFlightAsked()*severalInputs:
		f.Batch, f.Most = max(1, f.Batch/inputs), max(1, int(float64(f.Most)/inputs))
	default:
		f.Rounds = inputs
	}
}

// answered is a request: when it came, and when its answer was done.
type answered struct{ came, done float64 }

// tellApart returns passes with what each cost. While any request is there the server works: a pass lasts from the end
// of the one before, or from the request that found the server idle, to the last answer that it gives. Times of work in
// which passes and requests do not add up are left out.
func tellApart(all []answered, w recording.Window) (passes []serving.Pass) {
	if w.OneIn > 1 {
		return nil
	}
	steps := slices.SortedFunc(slices.Values(w.Steps), func(a, b recording.Step) int {
		return cmp.Compare(a.Start, b.Start)
	})
	for work := range busyTimes(all) {
		begin, done := work[0].came, endsOf(work)
		first, _ := slices.BinarySearchFunc(steps, begin, startsBefore)
		last, _ := slices.BinarySearchFunc(steps, done[len(done)-1], startsBefore)
		passes = append(passes, passesOf(steps[first:last], begin, done)...)
	}
	return passes
}

// startsBefore compares a step's start with a time.
func startsBefore(s recording.Step, at float64) int { return cmp.Compare(s.Start, at) }

// busyTimes yields the requests of each time in which any is there. They are sorted by when they came.
func busyTimes(all []answered) iter.Seq[[]answered] {
	return func(yield func([]answered) bool) {
		for len(all) > 0 {
			n, until := 1, all[0].done
			for n < len(all) && all[n].came <= until {
				until, n = max(until, all[n].done), n+1
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// endsOf returns when answers were done, in order.
func endsOf(work []answered) []float64 {
	done := make([]float64, len(work))
	for i, a := range work {
		done[i] = a.done
	}
	slices.Sort(done)
	return done
}

// passesOf gives answers to passes in the order of both; nil if they do not add up.
func passesOf(steps []recording.Step, begin float64, done []float64) (passes []serving.Pass) {
	for _, s := range steps {
		n := int(stat.Or(s.Samples, 1))
		if n < 1 || n > len(done) {
			return nil
		}
		passes = append(passes, serving.Pass{Requests: float64(n), Took: done[n-1] - begin})
		begin, done = done[n-1], done[n:]
	}
	if len(done) > 0 {
		return nil
	}
	return passes
}

// boundSlope returns the least and the most that each further request of a pass may cost: what
// the device's clock says about passes of several sizes, without and with all the host's time.
// Without a device clock, it is between nothing and the cost of the first request.
func boundSlope(w recording.Window, busy, batch float64) [2]float64 {
	slope, first, ok := FitPasses(w)
	if !ok {
		return [2]float64{0, busy / batch}
	}
	slope = min(max(0, slope), busy/batch)
	host := max(0, busy-first-slope*batch)
	return [2]float64{slope, min(slope+host/batch, busy/batch)}
}

// FewerPasses returns by how much the device's work would shrink if one pass took all requests that
// are there at a time. If nothing tells how a pass grows, it is the number of passes.
func FewerPasses(r Requests, w recording.Window) float64 {
	waiting, batch := r.InFlightAsked(), r.Batch
	if slope, first, ok := FitPasses(w); ok && slope >= 0 && first >= 0 && first+slope > 0 {
		return waiting / batch * (first + slope*batch) / (first + slope*waiting)
	}
	return waiting / batch
}

// For passes that were not traced. [J]
const (
	unknownSpread = 0.5
	fewLooked     = 5
)

// spreadOfPasses returns the coefficient of variation of the time that passes take on the device.
func spreadOfPasses(w recording.Window) float64 {
	var t []float64
	for _, s := range w.Steps {
		if i := s.Inside; i != nil && i.Forward > 0 {
			t = append(t, i.Forward)
		}
	}
	if len(t) < fewLooked {
		return unknownSpread
	}
	mean, sum := stat.Mean(t), 0.0
	for _, v := range t {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum/float64(len(t))) / mean
}
