package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
)

// Solve answers the setup: how long each part of the path takes per step, what
// binds, what the device needs. An error says which field cannot be, a
// *MemoryError that the batch does not fit into device memory.
func (s Setup) Solve() (Answer, error) {
	p, err := s.ready()
	if err != nil {
		return Answer{}, err
	}
	if p.fits() == No {
		return Answer{}, p.tooLarge(s)
	}
	p.exactly = true
	c := &solution{Setup: s, numbers: p}
	for v := range c.t {
		c.t[v] = p.times(view(v), view(v))
	}
	point := p.point()
	a := Answer{
		Step: point.Step, Throughput: point.Throughput, PerGPU: scaled(point.Throughput, 1/(p.gpus*p.nodes)), Utilization: point.Utilization,
		Slowdown: over(stoker.Exactly(1), point.Utilization), Stall: c.stall(),
	}
	a.Stages = c.stages()
	a.Bound, a.Longest, a.Next, a.Gain = c.limits()
	a.Demand = c.demand()
	a.Crossover = c.crossover()
	a.Unknown = c.missingInputs(a.Demand)
	a.Wrong = c.wrong(a)
	a.Notes = c.notes()
	return a, nil
}

// ready checks a setup and turns it into numbers.
func (s Setup) ready() (numbers, error) {
	if err := s.check(); err != nil {
		return numbers{}, err
	}
	return s.compile()
}

// solution is a setup on its way to an Answer, with its parts in each view.
type solution struct {
	Setup
	numbers
	t [3]times
}

// time is how long a part takes per step; of one that is not known whole, how long at
// least.
func (c *solution) time(part int) stoker.Interval {
	if math.IsNaN(c.t[likely][part]) {
		return stoker.Unknown()
	}
	i := sorted(c.t[optimist][part], c.t[likely][part], c.t[pessimist][part])
	if c.missing(c.t[likely], part) {
		return atLeastLow(i)
	}
	return i
}

// stall is the share of a step in which the device waits for input.
func (c *solution) stall() stoker.Interval {
	if math.IsNaN(c.t[likely][onCompute]) {
		return stoker.Unknown()
	}
	share := func(device, input view, err float64) float64 {
		step, loop, _ := c.combine(c.times(device, input), input)
		return max(0, 1-loop/(step*err))
	}
	s := sorted(share(pessimist, optimist, 1), share(likely, likely, 1), share(optimist, pessimist, lawError.High))
	for _, end := range []*float64{&s.Low, &s.Point, &s.High} {
		if *end < unseen {
			*end = 0
		}
	}
	if !c.complete(c.t[likely]) {
		s = atLeastLow(s)
	}
	return s
}

// unseen is the share of a step that is nothing.
const unseen = 1e-4

// limits finds what binds, and what binds when that is free; of what is known, where
// not all is.
func (c *solution) limits() (bound, longest, next Limit, gain stoker.Interval) {
	step, _, first := c.combine(c.t[likely], likely)
	gain = stoker.Unknown()
	none := Limit{Time: stoker.Unknown()}
	if step == 0 {
		return none, none, none, gain
	}
	longest = c.limit(first)
	if !c.certain(c.t[likely], first) {
		return none, longest, none, gain
	}
	var faster [3]float64
	second := first
	for v := range c.t {
		was, _, _ := c.combine(c.t[v], view(v))
		is, _, at := c.combine(c.t[v].without(first), view(v))
		faster[v] = was / is
		if view(v) == likely {
			second = at
		}
	}
	next = c.limit(second)
	if !(next.Time.Point > 0) || second == first {
		return longest, longest, none, gain // nothing else is known to take time
	}
	return longest, longest, next, sorted(faster[optimist], faster[likely], faster[pessimist])
}

func (c *solution) limit(part int) Limit {
	l := limits[part]
	l.Resource, l.Time = c.resource(part), c.time(part)
	return l
}

// demand is what the device asks of the path to compute all the time.
func (c *solution) demand() Demand {
	step := c.time(onCompute)
	samples := scaled(over(stoker.Exactly(c.batch), step), c.gpus)
	sample, decoded := given(c.Sample), given(c.Decoded)
	d := Demand{
		Samples: samples, Prepared: by(samples, sample), Storage: by(by(samples, sample), missed(c.Cached)),
		Reads: by(samples, given(c.PerFile)), Link: over(scaled(decoded, c.batch), step), Cores: stoker.Unknown(), Workers: stoker.Unknown(),
	}
	d.Reads = by(d.Reads, missed(c.Cached))
	if !set(c.PrepareCPU) || set(c.PrepareRate) {
		return d
	}
	with := c.numbers
	with.workers = math.Max(1, with.workers)
	with.settle()
	cpu := inViews(func(v view) float64 { return with.preparing(v) })
	d.Cores = scaled(sum(over(cpu, step), spinning), c.gpus)
	w := over(sum(cpu, inViews(with.answered)), step)
	d.Workers = stoker.Interval{Low: math.Ceil(w.Low), Point: math.Ceil(w.Point), High: math.Ceil(w.High)}
	return d
}

// crossover finds the batch at which input and compute take equally long, by
// halving: input grows with the batch, a step begins with its launches.
func (c *solution) crossover() Crossover {
	if math.IsNaN(c.t[likely][onCompute]) {
		return Crossover{stoker.Unknown(), "where input and compute meet is unknown: the step time is"}
	}
	if !c.curved {
		return Crossover{stoker.Unknown(), "where input and compute meet is unknown: the step time is known for one batch only"}
	}
	at := stoker.Interval{Low: c.crossing(optimist, pessimist), Point: c.crossing(likely, likely), High: c.crossing(pessimist, optimist)}
	switch {
	case at.Point < 1:
		return Crossover{stoker.Unknown(), "input takes longer than compute at every batch"}
	case math.IsInf(at.Point, 1) && !c.complete(c.t[likely]):
		return Crossover{stoker.Unknown(), "input as far as it is known never takes longer than compute"}
	case math.IsInf(at.Point, 1):
		return Crossover{stoker.Unknown(), "compute takes longer than input at every batch"}
	}
	if math.IsInf(at.High, 1) {
		at.High = math.NaN() // fast input and a slow device never meet
	}
	at.Low = max(1, at.Low)
	return Crossover{at, fmt.Sprintf("up to a batch of about %.0f the device is the limit, above it input is", at.Point)}
}

// mostBatch ends the search for a crossover.
const mostBatch = 1 << 24

func (c *solution) crossing(device, input view) float64 {
	p := c.numbers
	above := func(batch float64) bool {
		p.batch = batch
		p.settle()
		t := p.times(device, input)
		in, _ := p.input(t)
		return in > orNone(t[onCompute])
	}
	if above(1) {
		return 0
	}
	if !above(mostBatch) {
		return math.Inf(1)
	}
	low, high := 1.0, float64(mostBatch)
	for high/low > 1+1e-9 {
		if middle := math.Sqrt(low * high); above(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// The arithmetic of intervals of positive, independent quantities.

func given(i stoker.Interval) stoker.Interval {
	if !set(i) {
		return stoker.Unknown()
	}
	return i
}

func inViews(f func(view) float64) stoker.Interval {
	return sorted(f(optimist), f(likely), f(pessimist))
}

func scaled(i stoker.Interval, k float64) stoker.Interval {
	return stoker.Interval{Low: i.Low * k, Point: i.Point * k, High: i.High * k}
}

func over(a, b stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: a.Low / b.High, Point: a.Point / b.Point, High: a.High / b.Low}
}

func by(a, b stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: a.Low * b.Low, Point: a.Point * b.Point, High: a.High * b.High}
}

func sum(a, b stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: a.Low + b.Low, Point: a.Point + b.Point, High: a.High + b.High}
}
