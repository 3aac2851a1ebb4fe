package device

import "math"

// updates is how many times a training step reads or writes a parameter's bytes:
// weights in both passes, gradient, and an optimiser with two moments. An
// estimate; it matters for batches of a few samples only.
const updates = 5

// ideal is the cost of a load on a device without losses.
type ideal struct {
	load    Load
	compute float64 // seconds per sample at the peak
	masked  float64 // part of compute in pairs of tokens that a causal mask hides
	move    float64 // seconds per sample at the memory bandwidth
	scores  float64 // seconds per sample to move the attention's scores once
	weights float64 // seconds per step to read the parameters once, and update them
	layers  float64 // launched per step, those of all passes
}

func (l Load) withoutLosses() ideal {
	passes := l.passes()
	weights := l.Workload.Params.Value * bytesPer(l.Precision) / l.GPU.MemoryRate.Value
	if l.Training {
		weights *= updates
	}
	return ideal{
		load:    l,
		compute: passes * l.Workload.Forward.Value / l.GPU.Peak(l.Precision).Value,
		masked:  passes * l.Workload.Masked / l.GPU.Peak(l.Precision).Value,
		move:    passes * l.Workload.Activations.Value * bytesPer(l.Precision) / 2 / l.GPU.MemoryRate.Value,
		scores:  passes * l.Workload.attentionScores() * bytesPer(l.Precision) / l.GPU.MemoryRate.Value,
		weights: weights,
		layers:  passes * l.Workload.Layers,
	}
}

// DeviceBytes returns what a step moves through device memory; NaN if that is unknown.
func (l Load) DeviceBytes(batch float64) float64 {
	i := l.withoutLosses()
	moved := (i.move*batch + i.weights) * l.GPU.MemoryRate.Value
	if !(moved > 0) {
		return math.NaN()
	}
	return moved
}
