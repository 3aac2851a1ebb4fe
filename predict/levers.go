package predict

import (
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// lever is one input on which a part's time depends: base + slope x, where x is a cost,
// or one over a rate.
type lever struct {
	input input
	part  int
	value stoker.Interval
	cost  bool    // else it is a rate
	took  float64 // seconds that the part takes
	base  float64 // seconds that it would take if the input were free

	find func(time float64) float64 // the value by a search, where the time is no such line
}

// input is what a lever changes.
type input int

const (
	storageRate input = iota
	readRate
	prepareRate
	prepareTime
	readLatency
	coreCount
	handOverTime
	linkRate
	stepTime
)

// valueAt returns the value at which the part takes this long; NaN if no value does.
func (l lever) valueAt(time float64) float64 {
	if l.find != nil {
		return l.find(time)
	}
	x := l.value.Point
	if !l.cost {
		x = 1 / x
	}
	x = (time - l.base) / ((l.took - l.base) / x)
	switch {
	case !(x > 0) || math.IsInf(x, 0):
		return math.NaN()
	case l.cost:
		return x
	}
	return 1 / x
}

// levers returns the inputs that are known, of the parts that take time.
func (c *solution) levers() []lever {
	all := append([]lever{c.storageLever()}, c.workerLevers()...)
	all = append(all,
		lever{input: coreCount, part: onCPU, value: stoker.Exactly(c.cores[bounds.Likely]), find: c.coresTaking},
		lever{input: handOverTime, part: onCollect, value: bounds.Scale(c.partTime(onCollect), 1/c.batch), cost: true},
		lever{input: linkRate, part: onCopy, value: c.linkRate()},
		lever{input: stepTime, part: onCompute, value: c.partTime(onCompute), cost: true},
	)
	for i := range all {
		all[i].took = c.t[bounds.Likely][all[i].part]
	}
	return slices.DeleteFunc(all, func(l lever) bool { return !bounds.IsSet(l.value) || !(l.took > 0) })
}

// storageLever returns what storage is asked for: bytes, or reads where they take longer.
func (c *solution) storageLever() lever {
	byReads := orNone(c.perFile[bounds.Likely] / c.reads[bounds.Likely])
	if byReads > c.sample[bounds.Likely]/c.storage[bounds.Likely] {
		return lever{input: readRate, part: onRead, value: bounds.Given(c.Reads)}
	}
	return lever{input: storageRate, part: onRead, value: bounds.Given(c.Storage)}
}

// workerLevers returns the levers of a worker: it reads, prepares and passes on a batch.
func (c *solution) workerLevers() []lever {
	if bounds.IsSet(c.PrepareRate) {
		return []lever{{input: prepareRate, part: onWorker, value: c.PrepareRate}}
	}
	base := func(free func(p *numbers)) float64 {
		p := c.numbers
		free(&p)
		return p.partTimes(bounds.Likely, bounds.Likely)[onWorker]
	}
	all := []lever{{
		input: prepareTime, part: onWorker, value: bounds.Given(c.PrepareCPU), cost: true,
		base: base(func(p *numbers) { p.prepare[bounds.Likely] = 0 }),
	}}
	if bounds.IsSet(c.PerFile) {
		all = append(all, lever{
			input: readLatency, part: onWorker, value: bounds.Given(c.Latency), cost: true,
			base: base(func(p *numbers) { p.latency[bounds.Likely] = 0 }),
		})
	}
	return all
}

// coresTaking finds by halving the number of cores at which their part takes this long. A thread
// that waits for a core does not spin on one, so the time is not proportional to 1/cores.
func (c *solution) coresTaking(time float64) float64 {
	few, many := 1e-6, 1e12
	for many/few > 1+rounding {
		p := c.numbers
		middle := math.Sqrt(few * many)
		p.cores[bounds.Likely] = middle
		if p.partTimes(bounds.Likely, bounds.Likely)[onCPU] > time {
			few = middle
		} else {
			many = middle
		}
	}
	return many
}
