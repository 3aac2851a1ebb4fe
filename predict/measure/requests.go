package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Requests is what was measured of a server in a window. NaN is unknown.
type Requests struct {
	Count   float64   // requests that were answered
	Rate    float64   // that came, a second
	None    float64   // share of the window without any request
	Flight  float64   // requests at a time, in the mean of the window
	Times   []float64 // of requests that were answered, ascending, seconds
	Firsts  []float64 // until the first byte of their answers, likewise
	Sides   int       // processes that take requests and run the model, each for its own; 0 if the model runs elsewhere
	Bunched float64   // variance over mean of how many came in a second: 1 of a Poisson process

	answered []answered // of which the hook told, in the order in which they came
	within   []bucket   // instead of Times, of a server whose metrics were read

	Passes    float64 // of the model, a second
	PassShare float64 // share of the window in which the model was called
	Batch     float64 // samples of a pass
	Pieces    float64 // passes of a request over parts of one tensor, but for the first of each
	Inputs    float64 // that a request brings, of which a pass takes Batch; NaN where each is one

	Cache     float64 // share of a language model's key-value cache in use
	Preempted float64 // requests that were put off for want of it, for each that was answered
}

// NoRequests returns the requests of a run that is not known as a server.
func NoRequests() Requests {
	nan := math.NaN()
	return Requests{
		Count: nan, Rate: nan, None: nan, Flight: nan, Bunched: nan, Passes: nan, PassShare: nan, Batch: nan,
		Inputs: nan, Cache: nan, Preempted: nan,
	}
}

// Known reports whether the run is that of a server.
func (r Requests) Known() bool { return !math.IsNaN(r.None) }

// Time returns a quantile of the requests' times, in seconds; NaN if none was answered.
func (r Requests) Time(share float64) float64 {
	if len(r.Times) == 0 {
		return timeWithin(r.within, share)
	}
	return stat.Quantile(r.Times, share)
}

// FirstByte returns a quantile of the times until the first byte of an answer was sent, in seconds; NaN unknown.
func (r Requests) FirstByte(share float64) float64 {
	if len(r.Firsts) == 0 {
		return math.NaN()
	}
	return stat.Quantile(r.Firsts, share)
}

// TimesInOrder returns what the requests took that the hook saw, in the order in which they came.
func (r Requests) TimesInOrder() []float64 {
	times := make([]float64, len(r.answered))
	for i, a := range r.answered {
		times[i] = a.done - a.came
	}
	return times
}

// Gaps returns the times from answer to answer, if nearly all answers are recorded; else none.
func (r Requests) Gaps() []float64 {
	if float64(len(r.answered)) < mostAnswers*r.Count || len(r.answered) < 2 {
		return nil
	}
	done := endsOf(r.answered)
	gaps := make([]float64, len(done)-1)
	for i := range gaps {
		gaps[i] = done[i+1] - done[i]
	}
	return gaps
}

// mostAnswers is the part of all answers whose times are recorded, from which gaps between them are the server's. [J]
const mostAnswers = 0.95

// PerPass returns how many requests one pass answers, in the mean. Below 1 a request takes several.
func (r Requests) PerPass() float64 { return r.Rate / r.Passes }

// InFlightAsked returns how many requests there are at a time, while there are any.
func (r Requests) InFlightAsked() float64 {
	if !(r.None < 1) {
		return 0
	}
	return r.Flight / (1 - r.None)
}

// ReadRequests reads a server's requests in a span of time from its processes' signals, and its
// passes from the window's steps. It adds up the processes that take requests. The time without
// requests is that of processes which are asked independently: one waits while another is asked. The server's own
// metrics count if the hook reports nothing.
func ReadRequests(run *recording.Run, w recording.Window, from, to float64) Requests {
	r := NoRequests()
	pieces, shared, sides, own := math.NaN(), 1.0, 0, false
	add := func(into *float64, v float64) {
		if !math.IsNaN(v) {
			*into = stat.Or(*into, 0) + v
		}
	}
	for _, s := range preferHook(run.All(recording.Unasked)) {
		none := min(1, s.Rate(from, to))
		if math.IsNaN(none) {
			continue
		}
		if lasts(s.Between(from, to), (to-from)/2) {
			shared *= none
			sides++
		} else { // one of several that took turns, as workers that start anew
			r.None = min(stat.Or(r.None, 1), none)
		}
		own = own || s.Subject == fmt.Sprintf("process/%d", w.PID)
		add(&r.Rate, run.Find(recording.RequestsCame, s.Subject).Rate(from, to))
		done, _ := run.Find(recording.RequestsDone, s.Subject).Growth(from, to)
		add(&r.Count, done)
		add(&r.Flight, run.Find(recording.InFlight, s.Subject).Rate(from, to))
		add(&pieces, run.Find(recording.Pieces, s.Subject).Rate(from, to))
		r.addAnswered(run.Find(recording.RequestTime, s.Subject).Between(from, to))
		r.Firsts = append(r.Firsts, run.Find(recording.FirstByteTime, s.Subject).Between(from, to).V...)
	}
	if sides > 0 {
		r.None = shared
	}
	if own {
		r.Sides = sides
	}
	if r.Pieces = pieces / r.Rate; !(r.Pieces > 0) {
		r.Pieces = 0
	}
	slices.Sort(r.Times)
	slices.Sort(r.Firsts)
	slices.SortFunc(r.answered, func(a, b answered) int { return cmp.Compare(a.came, b.came) })
	r.within = readWithin(run, from, to)
	r.Bunched = bunching(run, from, to)
	r.addPasses(w, from, to)
	r.addEngines(run, from, to)
	return r
}

// lasts reports whether samples span so many seconds.
func lasts(s recording.Series, seconds float64) bool {
	return len(s.T) > 1 && s.T[len(s.T)-1]-s.T[0] >= seconds
}

// addAnswered adds requests as they are recorded: how long each took, at its end.
func (r *Requests) addAnswered(s recording.Series) {
	r.Times = append(r.Times, s.V...)
	for i, took := range s.V {
		r.answered = append(r.answered, answered{s.T[i] - took, s.T[i]})
	}
}

// preferHook leaves out the server's own metrics that the hook reports as well.
func preferHook(all []recording.Series) []recording.Series {
	told := func(s recording.Series) bool { return strings.HasPrefix(s.Subject, recording.FromMetrics) }
	if hooked := slices.DeleteFunc(slices.Clone(all), told); len(hooked) > 0 {
		return hooked
	}
	return all
}

// addEngines adds what engines say of their cache and, where no step is known, of their passes.
func (r *Requests) addEngines(run *recording.Run, from, to float64) {
	var caches, batches []float64
	for _, s := range preferHook(run.All(recording.EngineCache)) {
		if cache := s.Mean(from, to); !math.IsNaN(cache) {
			caches = append(caches, cache)
		}
	}
	r.Cache = stat.Mean(caches)
	for _, s := range preferHook(run.All(recording.EnginePreempted)) {
		if put, _ := s.Growth(from, to); !math.IsNaN(put) {
			r.Preempted = stat.Or(r.Preempted, 0) + put/max(1, stat.Or(r.Count, 0))
		}
	}
	if r.Passes > 0 {
		return
	}
	for _, s := range run.All(recording.EnginePasses) {
		passes, _ := s.Growth(from, to)
		if !(passes > 0) {
			continue
		}
		r.Passes = stat.Or(r.Passes, 0) + s.Rate(from, to)
		if samples, _ := run.Find(recording.EngineSamples, s.Subject).Growth(from, to); samples > 0 {
			batches = append(batches, samples/passes)
		}
	}
	for _, s := range preferHook(run.All(recording.EngineRunning)) {
		if len(batches) == 0 {
			batches = append(batches, s.Mean(from, to)/(1-r.None))
		}
	}
	if batch := stat.Mean(batches); batch > 0 {
		r.Batch = max(1, batch)
	}
}

// bucket is how many requests were answered within a time.
type bucket struct{ most, count float64 }

// readWithin returns the histogram of requests that were answered in a span of time, in order of time.
func readWithin(run *recording.Run, from, to float64) (all []bucket) {
	sums := map[float64]float64{}
	for _, s := range run.All(recording.RequestsWithin) {
		if most, ok := recording.TimeWithin(s.Subject); ok {
			count, _ := s.Growth(from, to)
			sums[most] += stat.Or(count, 0)
		}
	}
	for most, count := range sums {
		all = append(all, bucket{most, count})
	}
	slices.SortFunc(all, func(a, b bucket) int { return cmp.Compare(a.most, b.most) })
	return all
}

// timeWithin returns a quantile of a histogram: within its bucket, times are taken as even. Of
// the last, without an upper end, it is the lower one.
func timeWithin(all []bucket, share float64) float64 {
	if len(all) == 0 || !(all[len(all)-1].count > 0) {
		return math.NaN()
	}
	want, low, before := share*all[len(all)-1].count, 0.0, 0.0
	for _, b := range all {
		if b.count >= want && b.count > before {
			if math.IsInf(b.most, 1) {
				return low
			}
			return low + (b.most-low)*(want-before)/(b.count-before)
		}
		low, before = b.most, b.count
	}
	return low
}

// bunching returns the variance over the mean of the requests between two samples of their counter.
func bunching(run *recording.Run, from, to float64) float64 {
	var counts []float64
	for _, s := range preferHook(run.All(recording.RequestsCame)) {
		part := s.Between(from, to)
		for i := 1; i < len(part.V); i++ {
			if span := part.T[i] - part.T[i-1]; span > 0 {
				counts = append(counts, (part.V[i]-part.V[i-1])/span)
			}
		}
	}
	cv := stat.CV(counts)
	return cv * cv * stat.Mean(counts)
}

func (r *Requests) addPasses(w recording.Window, from, to float64) {
	ran, passes, samples, counted := 0.0, 0.0, 0.0, 0.0
	for _, s := range w.Steps {
		if !(s.Ran > 0) {
			continue
		}
		passes++
		ran += s.Ran
		if s.Samples > 0 {
			samples, counted = samples+s.Samples, counted+1
		}
	}
	if passes == 0 || !(to > from) {
		return
	}
	kept := float64(max(1, w.OneIn))
	r.Passes, r.PassShare = kept*passes/(to-from), min(1, kept*ran/(to-from))
	if counted > passes/2 {
		r.Batch = samples / counted
	}
}

// Passes count as being of several sizes from fewSizes samples on, if their sizes vary by
// leastVaried. [J]
const (
	fewSizes    = 5
	leastVaried = 0.25 // samples^2
)

// FitPasses fits the device's time in a pass, first + slope for each sample, by least squares over the
// traced passes. ok is false if their sizes hardly vary.
func FitPasses(w recording.Window) (slope, first float64, ok bool) {
	var n, t []float64
	for _, s := range w.Steps {
		if i := s.Inside; i != nil && s.Samples > 0 && i.Clock != recording.HostClock {
			n, t = append(n, s.Samples), append(t, i.Forward)
		}
	}
	if len(n) < fewSizes {
		return 0, 0, false
	}
	mn, mt := stat.Mean(n), stat.Mean(t)
	above, below := 0.0, 0.0
	for i := range n {
		above, below = above+(n[i]-mn)*(t[i]-mt), below+(n[i]-mn)*(n[i]-mn)
	}
	if below/float64(len(n)) < leastVaried {
		return 0, 0, false
	}
	slope = above / below
	return slope, mt - slope*mn, true
}
