package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// stallError is the least difference between two stall shares that counts: the error of the
// device clock on runs whose idle time is known is within 3 points.
const stallError = 0.03

// Compare says whether after is faster than before, by how much, and whether that meets the
// forecast. In a run with several trainers it compares the one with the longest wait for input
// (measure.Slowest). The zero Forecast, and one whose speed-up is unknown, promise nothing.
func Compare(before, after *recording.Run, forecast predict.Forecast) Outcome {
	return CompareAll([]*recording.Run{before}, []*recording.Run{after}, forecast)
}

// CompareAll is Compare for sides of one or more runs, all of the same work with the same
// settings. The differences between runs of a side then widen the interval.
func CompareAll(before, after []*recording.Run, forecast predict.Forecast) Outcome {
	was, now := observeAll("before", before), observeAll("after", after)
	all := slices.Concat(was, now)
	o := Outcome{
		Refused: cmp.Or(was.findRepeated(), now.findRepeated(), tooFew(all)),
		Basis:   PerStep, Before: was.makeSide(), After: now.makeSide(),
		Difference: NotCompared,
		Promise:    untestedPromise(forecast.Speedup),
		Changes:    []stoker.Change{},
		Emulated:   slices.ContainsFunc(all, func(s observed) bool { return s.run.Emulated() }),
		Warnings:   []string{},
	}
	if o.Refused != "" || o.compareServers(was, now, forecast.Speedup) {
		return o
	}
	o.Stall = compareStall(was.stallShare(), now.stallShare())
	o.Changes = append(o.Changes, Changes(before[0], after[0])...)
	work := was.compareWork(now, o.Changes)
	o.Warnings, o.Besides = append(append(o.Warnings, work.warnings...), work.besides...), work.besides
	if o.Refused = work.refusal(); o.Refused != "" {
		return o
	}
	o.Basis = work.basis
	o.judge(was, now, forecast)
	o.Work = compareEpochs(was[0], now[0], o.Before.Epoch, o.After.Epoch)
	if o.Work != "" { // for other work a ratio of times would be misleading
		o.Difference, o.Promise, o.Speedup, o.Noise = OtherWork, untestedPromise(forecast.Speedup), nil, nil
		o.Before.Needed, o.After.Needed = nil, nil
	} else if note := noteEpochs(o.Before.Epoch, o.After.Epoch); note != "" {
		o.Warnings = append(o.Warnings, note)
	}
	return o
}

// compareWork compares every run with the first run of its side, and the first runs of the two
// sides, which decide the basis.
func (g group) compareWork(now group, changed []stoker.Change) work {
	w := compareWork(g[0], now[0], changed)
	for _, other := range g[1:] {
		w.same(g[0], other)
	}
	for _, other := range now[1:] {
		w.same(now[0], other)
	}
	for _, side := range []group{g, now} {
		for _, s := range side {
			w.warnings = append(w.warnings, s.listDoubts(len(side) == 1)...)
		}
	}
	for _, other := range slices.Concat(g[1:], now) {
		w.besides = append(w.besides, circumstances(g[0], other)...)
	}
	return w
}

// same compares two runs of one side, which must not differ at all.
func (w *work) same(first, other observed) {
	changed := changes(first, other)
	between := compareWork(first, other, changed)
	w.differ, w.warnings = append(w.differ, between.differ...), append(w.warnings, between.warnings...)
	for _, c := range changed {
		w.refuse("%s from the run %s to the run %s", c, first.name, other.name)
	}
}

// judge fills in the figures for runs of the same work.
func (o *Outcome) judge(was, now group, forecast predict.Forecast) {
	unit := func(observed) float64 { return 1 }
	if o.Basis == PerSample {
		unit = observed.samples
		o.Warnings = append(o.Warnings,
			fmt.Sprintf("the batches differ (%g samples before, %g after): times are per sample",
				round(was[0].samples()), round(now[0].samples())))
		if isPromised(forecast.Speedup) {
			o.Warnings = append(o.Warnings,
				"the promise was made for steps of the same size and is held against times per sample")
		}
	}
	a, b := was.measure(unit), now.measure(unit)
	o.Before.fill(a, was[0].samples()/unit(was[0]))
	o.After.fill(b, now[0].samples()/unit(now[0]))
	o.conclude(a, b, forecast.Speedup)
}

// settle fills in the figures for the times of two sides, of which no throughput follows.
func (o *Outcome) settle(a, b sample, promised stoker.Interval) {
	o.Before.fill(a, 0)
	o.After.fill(b, 0)
	o.conclude(a, b, promised)
}

// conclude says what the times of two sides prove.
func (o *Outcome) conclude(a, b sample, promised stoker.Interval) {
	o.Warnings = append(append(o.Warnings, a.trust("before")...), b.trust("after")...)
	ratio := a.over(b)
	floor := noise(ratio)
	o.Speedup, o.Noise = &ratio, &floor
	o.Difference = differ(ratio)
	o.Promise = hold(promised, ratio)
	o.fillNeeded()
}

// measure estimates the mean time of a step, or of a sample, from all runs.
func (g group) measure(unit func(observed) float64) sample {
	samples := make([]sample, len(g))
	for i, s := range g {
		samples[i] = takeSample(scaleAll(s.window.StepTimes(), 1/unit(s)))
	}
	return poolRuns(samples)
}

// stallShare returns the mean share of a step in which the device waited; NaN if a run does not
// record it.
func (g group) stallShare() float64 {
	sum := 0.0
	for _, s := range g {
		sum += s.costs.Idle / s.costs.Step
	}
	return sum / float64(len(g))
}

// makeSide returns the sums over the runs of a side.
func (g group) makeSide() Side {
	side := g[0].makeSide()
	for _, s := range g[1:] {
		more := s.makeSide()
		side.Steps, side.Seconds = side.Steps+more.Steps, side.Seconds+more.Seconds
	}
	if side.Runs = len(g); side.Runs > 1 {
		side.Needed = nil
	}
	return side
}

// makeSide returns the run's number of steps and seconds and, if it is too short, the length
// needed.
func (s observed) makeSide() Side {
	side := Side{Steps: len(s.window.Steps), Seconds: s.window.End - s.window.Start, Epoch: s.measureEpoch()}
	if n := s.samples(); n > 0 {
		side.Samples = &n
	}
	if n := float64(side.Steps); n > 0 && n < leastSteps {
		side.Needed = &Length{Steps: leastSteps, Seconds: side.Seconds * leastSteps / n}
	} else if side.Seconds > 0 && side.Seconds < leastSeconds { // a run of length zero gives no estimate
		side.Needed = &Length{Steps: math.Ceil(n * leastSeconds / side.Seconds), Seconds: leastSeconds}
	}
	return side
}

// fill fills in the estimates of a side. samples is the number of samples per unit of time
// counted: 0 if unknown.
func (side *Side) fill(s sample, samples float64) {
	side.Independent = &s.independent
	if s.runs > 1 {
		spread := math.Sqrt(s.scatter / (s.runs - 1))
		side.Spread = &spread
	}
	side.Time = &Estimate{Mean: s.meanInterval(), Median: s.median}
	if samples > 0 {
		t := side.Time
		side.Throughput = &Estimate{
			Mean: stoker.Interval{
				Low: samples / t.Mean.High, Point: samples / t.Mean.Point,
				High: samples / t.Mean.Low,
			},
			Median: samples / t.Median,
		}
	}
}

// findRepeated returns a refusal if one run is given twice for a side, or "". Two copies of a
// run agree exactly, which would make the interval too narrow.
func (g group) findRepeated() string {
	for i, a := range g {
		for _, b := range g[:i] {
			x, y := a.run.Facts, b.run.Facts
			if x.Started > 0 && x.Started == y.Started && x.Monotonic == y.Monotonic && a.window.PID == b.window.PID {
				return fmt.Sprintf("the runs %s and %s are the same run", b.name, a.name)
			}
		}
	}
	return ""
}

// tooFew returns a refusal if a run is too short, or "".
func tooFew(runs []observed) string {
	for _, side := range runs {
		n := len(side.window.Steps)
		if n == 0 {
			return fmt.Sprintf(
				"the run %s has no steady training steps to judge (%d steps were recorded, %d are needed behind the warm-up)",
				side.name, len(side.run.Steps), leastSteps)
		}
		if n < leastSteps {
			return fmt.Sprintf(
				"the run %s is too short: %d steady steps in %.1f s, %d are needed, about %.1f s at the least",
				side.name, n, side.makeSide().Seconds, leastSteps, side.makeSide().Needed.Seconds)
		}
		if !(side.costs.Step > 0) {
			return fmt.Sprintf("the run %s has steps whose length is unknown", side.name)
		}
		if seconds := side.makeSide().Seconds; seconds < leastSeconds {
			return fmt.Sprintf("the run %s is too short: %d steady steps in %.2f s, about %.0f s are needed at the least",
				side.name, n, seconds, leastSeconds)
		}
	}
	return ""
}

// compareStall compares the shares of time that the device waited for input, as far as its
// clock recorded them.
func compareStall(was, now float64) Stall {
	var s Stall
	if !math.IsNaN(was) {
		s.Before = &was
	}
	if !math.IsNaN(now) {
		s.After = &now
	}
	if s.Before != nil && s.After != nil {
		fell := *s.Before-*s.After > stallError
		s.Fell = &fell
	}
	return s
}

// scaleAll multiplies all numbers in place.
func scaleAll(x []float64, by float64) []float64 {
	for i := range x {
		x[i] *= by
	}
	return x
}

// round rounds to three decimal places, for sentences.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
