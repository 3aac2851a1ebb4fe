package language

import (
	"cmp"
	"math"
	"slices"
)

// Layout is a split of a job, with its forecast.
type Layout struct {
	Training
	Step TrainingStep
}

// longSequence is the length from which a sequence is split over GPUs. Below it, attention is a small part.
const longSequence = 32 << 10

// Layouts returns the splits of the job that fit into memory, the fastest first. Each has its fastest
// micro-batch and number of virtual stages.
func (t Training) Layouts() []Layout {
	var all []Layout
	for _, tensor := range dividers(t.Model.Heads, math.Min(t.perMachine(), t.GPUs)) {
		for _, pipeline := range dividers(t.Model.Layers, math.Min(64, t.GPUs/tensor)) {
			for _, context := range t.contexts() {
				for _, expert := range dividers(math.Max(1, t.Model.Experts), t.GPUs/pipeline) {
					one := t
					one.Tensor, one.Pipeline, one.Context, one.Expert = tensor, pipeline, context, expert
					one.Virtual, one.Group = 1, 0
					if best, found := one.fastest(); found {
						all = append(all, best)
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Layout) int { return cmp.Compare(a.Step.Time.Point, b.Step.Time.Point) })
	return all
}

// contexts returns how many GPUs may share a sequence.
func (t Training) contexts() []float64 {
	all := []float64{1}
	for n := 2.; t.Tokens >= longSequence && n <= math.Min(64, t.GPUs); n *= 2 {
		all = append(all, n)
	}
	return all
}

// fastest returns the split with its fastest micro-batch and number of virtual stages.
func (t Training) fastest() (best Layout, found bool) {
	stages := []float64{1}
	if t.Pipeline > 1 {
		stages = dividers(t.Model.Layers/t.Pipeline, 8)
	}
	for _, t.MicroBatch = range []float64{1, 2, 4, 8} {
		for _, t.Virtual = range stages {
			step, err := t.Solve()
			if err == nil && step.Fit == Fits && (!found || step.Time.Point < best.Step.Time.Point) {
				best, found = Layout{t, step}, true
			}
		}
	}
	return best, found
}

// dividers returns the numbers up to most that divide n.
func dividers(n, most float64) (all []float64) {
	for d := 1.; d <= math.Min(n, most); d++ {
		if math.Mod(n, d) == 0 {
			all = append(all, d)
		}
	}
	return all
}
