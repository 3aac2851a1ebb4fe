// Package serving says how long requests take at another load than the one that was recorded.
//
// The model is one queue: requests wait in order, and a free server takes up to a number of them into
// one pass. How long a pass takes follows from a recording: from the end of the pass before, or from the request that
// found the server idle, to its last answer. Where passes cannot be told apart so, one costs the time with requests
// over their number. Kinds of models and devices do not matter.
//
// A request of several passes, as one for each token, joins and leaves between two of them.
//
// It does not know servers that answer requests side by side in several processes.
package serving

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
)

// Line is a server as one line of requests. Seconds.
type Line struct {
	PerPass    float64 // of a pass, however many requests it takes
	PerRequest float64 // and for each of them
	Most       int     // requests of a pass
	CV         float64 // of the time of a pass
	Rounds     float64 // passes that a request is in, as those of its tokens; 0: one

	spread []float64 // what recorded passes took over what the line says of them; empty: only CV is known
}

// Capacity returns how many requests a second a line answers at most.
func (l Line) Capacity() float64 {
	return float64(l.Most) / (l.PerPass + float64(l.Most)*l.PerRequest) / max(1, l.Rounds)
}

// Server is what a recording says about a server: several lines that explain it. The answer is
// between that of the first and that of the last line.
type Server struct {
	Lines    []Line
	Rate     float64 // requests/s that were recorded
	P50, P99 float64 // that were recorded, seconds
}

// Start values. [J]
const (
	fewRequests = 30   // below which a recording says too little
	mostLoad    = 0.95 // of the capacity, above which a queue is not predicted
	fullLoad    = 0.85 // of the capacity, from which clients may have waited for answers before they asked again
	leastCV     = 0.05
	mostCV      = 1.5
	replicates  = 40
	minute      = 60.0 // of requests that a forecast is about
)

// Fit is what was measured of a server. Seconds; NaN is unknown.
type Fit struct {
	Rate, P50, P99 float64    // requests/s, and how long they took
	Busy           float64    // of a pass, with all that the host does for it
	Batch          float64    // requests of a pass, in the mean
	Most           int        // and at most
	PerRequest     [2]float64 // what each further request of a pass costs, at least and at most
	CV             float64    // of the time of a pass
	Passes         []Pass     // each that was told apart
	Rounds         float64    // passes that a request is in; 0: one
}

// FitServer returns the lines that explain what was measured.
func FitServer(f Fit) Server {
	s := Server{Rate: f.Rate, P50: f.P50, P99: f.P99}
	if len(f.Passes) >= fewPasses {
		s.Lines = linesThrough(f)
		return s
	}
	for _, perRequest := range f.PerRequest {
		for _, cv := range []float64{leastCV, min(mostCV, f.CV+leastCV)} {
			perPass := max(0, f.Busy-perRequest*f.Batch)
			s.Lines = append(s.Lines, Line{perPass, perRequest, f.Most, cv, f.Rounds, nil})
		}
	}
	return s
}

// Capacity returns how many requests a second the server answers at most.
func (s Server) Capacity() stoker.Interval {
	var all []float64
	for _, l := range s.Lines {
		all = append(all, l.Capacity())
	}
	return middleNine(all)
}

// Forecast is what requests take at a load, seconds.
type Forecast struct {
	Rate     float64         // requests/s
	Use      stoker.Interval // share of the capacity
	P50, P99 stoker.Interval // seconds; NaN where the load is more than the server takes
}

// Servers returns how many such servers take the load, each below its capacity.
func (f Forecast) Servers() float64 { return math.Ceil(f.Use.Point / mostLoad) }

// Million returns the hours in which so many servers take a million requests, of all of them together.
func (f Forecast) Million() (hours float64) { return f.Servers() * 1e6 / f.Rate / secondsPerHour }

const secondsPerHour = 3600

// At forecasts one minute of a load of requests/s that arrive one by one, at random. It scales
// the recorded times by the ratio between the lines' times at this load and at the recorded
// load, so the recorded load gives the recorded times. The part of the recorded load that the
// lines do not explain widens the interval. Of a recorded load that is the server's capacity, the lines alone tell.
func (s Server) At(rate float64) Forecast {
	nan := math.NaN()
	unknown := stoker.Interval{Low: nan, Point: nan, High: nan}
	c := s.Capacity()
	use := stoker.Interval{Low: rate / c.High, Point: rate / c.Point, High: rate / c.Low}
	f := Forecast{Rate: rate, Use: use, P50: unknown, P99: unknown}
	if f.Use.Point > mostLoad {
		return f
	}
	var p50, p99, plain50, plain99 []float64
	for i, l := range s.Lines {
		for k := range max(1, replicates/len(s.Lines)) {
			was := l.simulate(s.Rate, rand.New(rand.NewPCG(uint64(i), uint64(replicates+k))))
			now := l.simulate(rate, rand.New(rand.NewPCG(uint64(i), uint64(k))))
			plain50, plain99 = append(plain50, stat.Quantile(now, 0.5)), append(plain99, stat.Quantile(now, 0.99))
			p50 = append(p50, s.P50*stat.Quantile(now, 0.5)/stat.Quantile(was, 0.5))
			p99 = append(p99, s.P99*stat.Quantile(now, 0.99)/stat.Quantile(was, 0.99))
		}
	}
	if s.Rate > fullLoad*c.Point { // clients that wait for answers: no queue at random had the recorded times
		p50, p99 = plain50, plain99
	}
	f.P50 = fromRunToRun(middleNine(p50), middleNine(plain50))
	f.P99 = fromRunToRun(middleNine(p99), middleNine(plain99))
	return f
}

// runToRun is the difference between two recordings of the same server. [J] verify/RESULTS.md
// works with jobs whose pace varies as much.
const runToRun = 0.10

// fromRunToRun returns a scaled time, in an interval that also covers what the lines alone say.
func fromRunToRun(scaled, plain stoker.Interval) stoker.Interval {
	return stoker.Interval{
		Low: min(scaled.Low, plain.Low) * (1 - runToRun), Point: scaled.Point,
		High: max(scaled.High, plain.High) * (1 + runToRun),
	}
}

// middleNine returns the median of values, and the interval that holds nine in ten of them.
func middleNine(values []float64) stoker.Interval {
	return stoker.Interval{
		Low: stat.Quantile(values, 0.05), Point: stat.Median(values), High: stat.Quantile(values, 0.95),
	}
}

// simulate returns how long each request of a minute takes, shortest first. A pass takes all requests that are there,
// and they leave after as many passes as they need.
func (l Line) simulate(rate float64, chance *rand.Rand) []float64 {
	var came []float64
	for at := chance.ExpFloat64() / rate; at < minute || len(came) < fewRequests; at += chance.ExpFloat64() / rate {
		came = append(came, at)
	}
	type request struct {
		came float64
		left int // passes
	}
	var running []request
	rounds, most := int(math.Round(max(1, l.Rounds))), max(1, l.Most)
	times, now := make([]float64, 0, len(came)), 0.0
	for i := 0; i < len(came) || len(running) > 0; {
		if len(running) == 0 {
			now = max(now, came[i])
		}
		for ; i < len(came) && len(running) < most && came[i] <= now; i++ {
			running = append(running, request{came[i], rounds})
		}
		now += (l.PerPass + float64(len(running))*l.PerRequest) * l.draw(chance)
		for k := range running {
			running[k].left--
		}
		running = slices.DeleteFunc(running, func(r request) bool {
			if r.left == 0 {
				times = append(times, now-r.came)
			}
			return r.left == 0
		})
	}
	slices.Sort(times)
	return times
}

// draw returns the ratio of a pass's time to the line's, at random.
func (l Line) draw(chance *rand.Rand) float64 {
	if len(l.spread) > 0 {
		return l.spread[chance.IntN(len(l.spread))]
	}
	sigma := math.Sqrt(math.Log1p(l.CV * l.CV))
	return math.Exp(sigma*chance.NormFloat64() - sigma*sigma/2)
}
