package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Solve answers the setup: how long each part of the path takes per step, what binds, and what
// the device needs. The error names a field with an impossible value, or is a *MemoryError if
// the batch does not fit into device memory.
func (s Setup) Solve() (Answer, error) {
	p, err := s.compileChecked()
	if err != nil {
		return Answer{}, err
	}
	if p.fitsMemory() == No {
		return Answer{}, p.tooLarge(s)
	}
	p.exactly = true
	c := &solution{Setup: s, numbers: p}
	for v := range c.t {
		c.t[v] = p.partTimes(bounds.View(v), bounds.View(v))
	}
	point := p.solvePoint()
	a := Answer{
		Step: point.Step, Throughput: point.Throughput, PerGPU: bounds.Scale(point.Throughput, 1/(p.gpus*p.nodes)),
		Utilization: point.Utilization,
		Slowdown:    bounds.Divide(stoker.Exactly(1), point.Utilization), Stall: c.stallShare(),
	}
	a.Stages, a.Waits = c.listStages(), c.waitShare()
	a.Bound, a.Longest, a.Next, a.Gain = c.findLimits()
	a.Demand = c.deviceDemand()
	a.Crossover = c.findCrossover()
	a.Unknown = c.missingInputs(a.Demand)
	a.Wrong = c.whatWouldBind(a)
	a.Notes = c.listAssumptions()
	return a, nil
}

// compileChecked checks a setup and turns it into numbers.
func (s Setup) compileChecked() (numbers, error) {
	if err := s.checkFields(); err != nil {
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

// partTime returns how long a part takes per step; of one that is not known whole, how long at
// least.
func (c *solution) partTime(part int) stoker.Interval {
	if math.IsNaN(c.t[bounds.Likely][part]) {
		return stoker.Unknown()
	}
	i := bounds.Enclose(c.t[bounds.Optimist][part], c.t[bounds.Likely][part], c.t[bounds.Pessimist][part])
	if c.isMissing(c.t[bounds.Likely], part) {
		return atLeastLow(i)
	}
	return i
}

// stallShare returns the share of a step in which the device stalls on input.
func (c *solution) stallShare() stoker.Interval {
	if math.IsNaN(c.t[bounds.Likely][onCompute]) {
		return stoker.Unknown()
	}
	share := func(device, input bounds.View, err float64) float64 {
		step, loop, _ := c.combine(c.partTimes(device, input), input)
		return max(0, 1-loop/(step*err))
	}
	s := bounds.Enclose(share(bounds.Pessimist, bounds.Optimist, 1), share(bounds.Likely, bounds.Likely, 1),
		share(bounds.Optimist, bounds.Pessimist, lawError.High))
	for _, end := range []*float64{&s.Low, &s.Point, &s.High} {
		if *end < unseen {
			*end = 0
		}
	}
	if !c.complete(c.t[bounds.Likely]) {
		s = atLeastLow(s)
	}
	return s
}

// unseen is the share of a step that is nothing.
const unseen = 1e-4

// findLimits finds what binds, and what binds when that is free; of all that is known, where
// not all is.
func (c *solution) findLimits() (bound, longest, next Limit, gain stoker.Interval) {
	step, _, first := c.combine(c.t[bounds.Likely], bounds.Likely)
	gain = stoker.Unknown()
	none := Limit{Time: stoker.Unknown()}
	if step == 0 {
		return none, none, none, gain
	}
	longest = c.limitOf(first)
	if !c.certain(c.t[bounds.Likely], first) {
		return none, longest, none, gain
	}
	var faster [3]float64
	second := first
	for v := range c.t {
		was, _, _ := c.combine(c.t[v], bounds.View(v))
		is, _, at := c.combine(c.t[v].without(first), bounds.View(v))
		faster[v] = was / is
		if bounds.View(v) == bounds.Likely {
			second = at
		}
	}
	next = c.limitOf(second)
	if !(next.Time.Point > 0) || second == first {
		return longest, longest, none, gain // nothing else is known to take time
	}
	return longest, longest, next, bounds.Enclose(faster[bounds.Optimist], faster[bounds.Likely],
		faster[bounds.Pessimist])
}

func (c *solution) limitOf(part int) Limit {
	l := limits[part]
	l.Resource, l.Time = c.resourceOf(part), c.partTime(part)
	return l
}

// deviceDemand returns what the device needs from the path to compute all the time.
func (c *solution) deviceDemand() Demand {
	step := c.partTime(onCompute)
	samples := bounds.Scale(bounds.Divide(stoker.Exactly(c.batch), step), c.gpus)
	sample, decoded := bounds.Given(c.Sample), bounds.Given(c.Decoded)
	d := Demand{
		Samples: samples, Prepared: bounds.Multiply(samples, sample),
		Storage: bounds.Multiply(bounds.Multiply(samples, sample), missRatio(c.Cached)),
		Reads:   bounds.Multiply(samples, bounds.Given(c.PerFile)),
		Link:    bounds.Divide(bounds.Scale(decoded, c.batch), step), Cores: stoker.Unknown(),
		Workers: stoker.Unknown(),
	}
	d.Reads = bounds.Multiply(d.Reads, missRatio(c.Cached))
	if !bounds.IsSet(c.PrepareCPU) || bounds.IsSet(c.PrepareRate) {
		return d
	}
	with := c.numbers
	with.workers = math.Max(1, with.workers)
	with.derive()
	cpu := bounds.InEachView(func(v bounds.View) float64 { return with.preparing(v) })
	d.Cores = bounds.Scale(bounds.Add(bounds.Divide(cpu, step), spinning), c.gpus)
	w := bounds.Divide(bounds.Add(cpu, bounds.InEachView(with.answerTime)), step)
	d.Workers = stoker.Interval{Low: math.Ceil(w.Low), Point: math.Ceil(w.Point), High: math.Ceil(w.High)}
	return d
}

// findCrossover finds the batch at which input and compute take equally long, by
// halving: input grows with the batch, a step begins with its launches.
func (c *solution) findCrossover() Crossover {
	if math.IsNaN(c.t[bounds.Likely][onCompute]) {
		return Crossover{stoker.Unknown(), "the point at which input and compute meet is unknown: the step time is"}
	}
	if !c.curved {
		return Crossover{
			stoker.Unknown(),
			"the point at which input and compute meet is unknown: the step time is known for one batch only",
		}
	}
	at := stoker.Interval{
		Low:   c.crossing(bounds.Optimist, bounds.Pessimist),
		Point: c.crossing(bounds.Likely, bounds.Likely), High: c.crossing(bounds.Pessimist, bounds.Optimist),
	}
	switch {
	case at.Point < 1:
		return Crossover{stoker.Unknown(), "input takes longer than compute at every batch"}
	case math.IsInf(at.Point, 1) && !c.complete(c.t[bounds.Likely]):
		return Crossover{stoker.Unknown(), "input as far as it is known never takes longer than compute"}
	case math.IsInf(at.Point, 1):
		return Crossover{stoker.Unknown(), "compute takes longer than input at every batch"}
	}
	if math.IsInf(at.High, 1) {
		at.High = math.NaN() // fast input and a slow device never meet
	}
	at.Low = max(1, at.Low)
	return Crossover{at, fmt.Sprintf("up to a batch of about %.0f the device is the limit, above it input is",
		at.Point)}
}

// mostBatch ends the search for a crossover.
const mostBatch = 1 << 24

func (c *solution) crossing(device, input bounds.View) float64 {
	p := c.numbers
	above := func(batch float64) bool {
		p.batch = batch
		p.derive()
		t := p.partTimes(device, input)
		in, _ := p.slowestInput(t)
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
