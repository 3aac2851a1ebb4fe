package predict

import "stoker/hardware"

// weights is the device memory that a load takes whatever its batch, bytes.
func (l Load) weights() float64 {
	p := l.Workload.Params.Value
	switch {
	case !l.Training && l.Precision == hardware.FP8:
		return p
	case !l.Training:
		return p * bytesPer(l.Precision)
	case l.Workload.Family == Transformer:
		return 16 * p // 16-bit weights and gradients, 32-bit copy and two moments of Adam; 32 bits throughout: the same
	}
	return 12 * p // 32-bit weights, gradients and momentum
}

// memory is the device memory that a sample takes, bytes: what the backward pass
// needs, or at inference a layer's input and output. Libraries' workspace comes
// on top.
func (l Load) memory() float64 {
	kept := l.Workload.Stored.Value * bytesPer(l.Precision) / 2
	if !l.Training {
		kept *= min(1, 2/l.Workload.Layers)
	}
	return kept
}
