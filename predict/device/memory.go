package device

import (
	"github.com/stoker-dev/stoker/hardware"
)

// state is what training keeps of a parameter, bytes.
type state struct{ weight, gradient, optimiser float64 }

// bytesKept is per parameter. Transformers are trained with Adam: in 16 bits a weight
// and its gradient, and a 32-bit copy with two moments; in 32 bits no copy; both
// are 16 bytes. Convolutional networks with momentum, 32 bits throughout. A program
// under autocast keeps 32-bit weights and gradients: as much in all, and less of it
// to share; this is the least.
func (l Load) bytesKept() state {
	switch {
	case l.Workload.Family != Transformer:
		return state{4, 4, 4}
	case bytesPer(l.Precision) == 4:
		return state{4, 4, 8}
	}
	return state{2, 2, 12}
}

// weights returns the device memory that a load takes regardless of its batch, bytes: what
// each rank keeps, and what all of them share.
func (l Load) weights() (own, shared float64) {
	p := l.Workload.Params.Value
	if !l.Training {
		if l.Precision == hardware.FP8 {
			return p, 0
		}
		return p * bytesPer(l.Precision), 0
	}
	s := l.bytesKept()
	switch l.Shard {
	case ZeRO1:
		return p * (s.weight + s.gradient), p * s.optimiser
	case ZeRO2:
		return p * s.weight, p * (s.gradient + s.optimiser)
	case ZeRO3: // the layer at work is whole
		return p * s.weight / l.Workload.Layers, p * (s.weight + s.gradient + s.optimiser)
	case NoShard:
	}
	return p * (s.weight + s.gradient + s.optimiser), 0
}

// recomputed is the share of the activations that a convolutional network keeps if it recomputes
// block by block: of ResNet-50 the outputs of its blocks, 11 of 44 MB per image at 16 bits, and
// one block at a time in full, up to 5 MB (derived from its layers).
const recomputed = 0.36

// liveInBlock is the share of a transformer block's activations that is in memory at once at
// inference: 6 of 17 model widths, at the widest point of the feed-forward part (derived: the
// block's input, the residual that is added later, and four widths inside, with the activation
// in place).
const liveInBlock = 6. / 17

// sampleMemory returns the least device memory of a sample, in bytes. In training that is what
// the backward pass needs. At inference it is what a block keeps at once, or the input and
// output of a convolution. The workspace of libraries comes on top.
func (l Load) sampleMemory() float64 {
	w := l.Workload
	kept := w.Stored.Value * bytesPer(l.Precision) / 2
	switch {
	case !l.Training && w.Family == Transformer:
		kept *= liveInBlock / w.Layers
	case !l.Training:
		kept *= min(1, 2/w.Layers)
	case l.Recompute && w.Tokens > 0: // the input of each layer, and one layer at a time in full
		kept = kept/w.Layers + w.Layers*w.Width*w.Tokens*bytesPer(l.Precision)
	case l.Recompute:
		kept *= recomputed
	}
	return kept
}
