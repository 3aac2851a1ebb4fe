package verify

import (
	"fmt"
	"math"

	"stoker"
	"stoker/predict"
	"stoker/recording"
)

// stallError is by how much two stalls must differ to count: what the device
// clock is off by on runs whose idle time is known (issue: within 3 points).
const stallError = 0.03

// Compare says whether after is faster than before, by how much, and whether
// that is what forecast promised. Of a run with several trainers the one that
// waits most for input is compared (predict.Slowest). A forecast whose speed-up
// is unknown, and the zero Forecast, promise nothing.
func Compare(before, after *recording.Run, forecast predict.Forecast) Outcome {
	was, now := observe(before), observe(after)
	o := Outcome{
		Refused: tooFew(was, now),
		Basis:   PerStep, Before: was.side(), After: now.side(),
		Difference: NotCompared,
		Promise:    untested(forecast.Speedup),
		Changes:    []stoker.Change{},
		Emulated:   before.Emulated() || after.Emulated(),
		Warnings:   []string{},
	}
	if o.Refused != "" {
		return o
	}
	o.Stall = stall(was.costs, now.costs)
	o.Changes = append(o.Changes, Changes(before, after)...)
	work := compareWork(was, now, o.Changes)
	o.Warnings = append(append(o.Warnings, work.warnings...), doubts(was, now)...)
	if o.Refused = work.refusal(); o.Refused != "" {
		return o
	}
	o.Basis = work.basis
	o.judge(was, now, forecast)
	return o
}

// judge fills in the figures of two runs of the same work.
func (o *Outcome) judge(was, now observed, forecast predict.Forecast) {
	unit := func(observed) float64 { return 1 }
	if o.Basis == PerSample {
		unit = observed.samples
		o.Warnings = append(o.Warnings, fmt.Sprintf("the batches differ (%g samples before, %g after): times are per sample", round(was.samples()), round(now.samples())))
		if promised(forecast.Speedup) {
			o.Warnings = append(o.Warnings, "the promise was made for steps of the same size and is held against times per sample")
		}
	}
	a := measure(scaled(was.window.Times(), 1/unit(was)))
	b := measure(scaled(now.window.Times(), 1/unit(now)))
	o.Before.fill(a, was.samples()/unit(was))
	o.After.fill(b, now.samples()/unit(now))
	o.Warnings = append(append(o.Warnings, a.trust("before")...), b.trust("after")...)
	ratio := a.over(b)
	floor := noise(ratio)
	o.Speedup, o.Noise = &ratio, &floor
	o.Difference = differ(ratio)
	o.Promise = hold(forecast.Speedup, ratio)
	o.need()
}

// observed is one run's steady steps, all of them, with the costs of its judged window.
type observed struct {
	run    *recording.Run
	window recording.Window
	costs  predict.Costs
}

func observe(run *recording.Run) observed {
	costs, _ := predict.Slowest(run) // without a window there are no steps, which tooFew sees
	return observed{run: run, window: run.Whole(costs.Window), costs: costs}
}

// samples is the mean number of samples per step: as counted, else as set; 0
// where neither is known.
func (s observed) samples() float64 {
	if n := s.window.Samples(); n > 0 || len(s.window.Steps) == 0 {
		return n
	}
	n, _ := s.loader().Settings.Float(stoker.BatchSize)
	return n
}

// loader is the judged loader; an empty one where it is unknown.
func (s observed) loader() recording.Loader {
	if l := s.run.Loader(s.window.PID, s.window.Loader); l != nil {
		return *l
	}
	return recording.Loader{}
}

func (s observed) side() Side {
	side := Side{Steps: len(s.window.Steps), Seconds: s.window.End - s.window.Start}
	if n := s.samples(); n > 0 {
		side.Samples = &n
	}
	if n := float64(side.Steps); n > 0 && n < leastSteps {
		side.Needed = &Length{Steps: leastSteps, Seconds: side.Seconds * leastSteps / n}
	}
	return side
}

// fill adds the figures of a side; samples is how many one of its times covers,
// 0 where unknown.
func (side *Side) fill(s sample, samples float64) {
	side.Independent = &s.independent
	side.Time = &Estimate{Mean: s.interval(), Median: s.median}
	if samples > 0 {
		t := side.Time
		side.Throughput = &Estimate{
			Mean:   stoker.Interval{Low: samples / t.Mean.High, Point: samples / t.Mean.Point, High: samples / t.Mean.Low},
			Median: samples / t.Median,
		}
	}
}

// tooFew is the refusal of runs that were too short, "" for others.
func tooFew(was, now observed) string {
	for _, side := range []struct {
		name string
		observed
	}{{"before", was}, {"after", now}} {
		n := len(side.window.Steps)
		if n == 0 {
			return fmt.Sprintf("the run %s has no steady training steps to judge (%d steps were recorded, %d are needed behind the warm-up)",
				side.name, len(side.run.Steps), leastSteps)
		}
		if n < leastSteps {
			return fmt.Sprintf("the run %s is too short: %d steady steps in %.1f s, %d are needed, about %.1f s at the least",
				side.name, n, side.side().Seconds, leastSteps, side.side().Needed.Seconds)
		}
		if !(side.costs.Step > 0) {
			return fmt.Sprintf("the run %s has steps whose length is unknown", side.name)
		}
	}
	return ""
}

// stall compares how long the device waited for input, where its clock tells.
func stall(was, now predict.Costs) Stall {
	var s Stall
	if share := was.Idle / was.Step; !math.IsNaN(share) {
		s.Before = &share
	}
	if share := now.Idle / now.Step; !math.IsNaN(share) {
		s.After = &share
	}
	if s.Before != nil && s.After != nil {
		fell := *s.Before-*s.After > stallError
		s.Fell = &fell
	}
	return s
}

// changes are the settings that differ between the judged loaders, and the
// device that the model computes on.
func changes(was, now observed) []stoker.Change {
	list := func(s observed) stoker.Settings {
		settings := s.loader().Settings.With()
		if m := s.run.Facts.Model; m != nil && m.Device != "" {
			settings[stoker.ComputeOn] = deviceKind(m.Device)
		}
		return settings
	}
	before, after := list(was), list(now)
	if predict.Feeds(before) != predict.Feeds(after) {
		named(before, was)
		named(after, now)
	}
	return before.Diff(after)
}

// named makes settings say whose loader they are of, and how many threads stoker's
// chose by itself. What else they hold means something to one of the two loaders
// alone.
func named(settings stoker.Settings, of observed) {
	if len(settings) == 0 {
		return // nothing is known of the loader
	}
	if !predict.Feeds(settings) {
		settings[stoker.LoaderKind] = "torch"
	}
	settings[stoker.NumWorkers] = of.costs.Workers
	delete(settings, stoker.PersistentWorkers)
	delete(settings, stoker.InOrder)
}

func scaled(x []float64, by float64) []float64 {
	for i := range x {
		x[i] *= by
	}
	return x
}

// round leaves three digits behind the point, for sentences.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
