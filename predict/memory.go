package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/hardware"
)

// Shard says what data-parallel ranks share instead of keeping a copy each.
type Shard string

// What ranks share. Each stage includes those before.
const (
	NoShard Shard = ""
	ZeRO1   Shard = "zero1" // the optimiser's state
	ZeRO2   Shard = "zero2" // the gradients too
	ZeRO3   Shard = "zero3" // the weights too, gathered layer by layer: FSDP
)

// Shards are the names of what can be shared.
var Shards = []Shard{ZeRO1, ZeRO2, ZeRO3}

// state is what training keeps of a parameter, bytes.
type state struct{ weight, gradient, optimiser float64 }

// state is per parameter. Transformers are trained with Adam: in 16 bits a weight
// and its gradient, and a 32-bit copy with two moments; in 32 bits no copy; both
// are 16 bytes. Convolutional networks with momentum, 32 bits throughout. A program
// under autocast keeps 32-bit weights and gradients: as much in all, and less of it
// to share; what stands here is the least.
func (l Load) state() state {
	switch {
	case l.Workload.Family != Transformer:
		return state{4, 4, 4}
	case bytesPer(l.Precision) == 4:
		return state{4, 4, 8}
	}
	return state{2, 2, 12}
}

// weights is the device memory that a load takes whatever its batch, bytes: what
// each rank keeps, and what all of them share.
func (l Load) weights() (own, shared float64) {
	p := l.Workload.Params.Value
	if !l.Training {
		if l.Precision == hardware.FP8 {
			return p, 0
		}
		return p * bytesPer(l.Precision), 0
	}
	s := l.state()
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

// recomputed is the share of what the backward pass needs that a network of
// convolutions keeps where it recomputes block by block: of ResNet-50 the outputs
// of its blocks, 11 of 44 MB per image at 16 bits, and one block at a time in
// full, up to 5 MB (derived from its layers).
const recomputed = 0.36

// memory is the device memory that a sample takes, bytes: what the backward pass
// needs, or at inference a layer's input and output. Libraries' workspace comes
// on top.
func (l Load) memory() float64 {
	w := l.Workload
	kept := w.Stored.Value * bytesPer(l.Precision) / 2
	switch {
	case !l.Training:
		kept *= min(1, 2/w.Layers)
	case l.Recompute && w.Tokens > 0: // the input of each layer, and one layer at a time in full
		kept = kept/w.Layers + w.Layers*w.Width*w.Tokens*bytesPer(l.Precision)
	case l.Recompute:
		kept *= recomputed
	}
	return kept
}

func (l Load) checkShard() error {
	switch l.Shard {
	case NoShard:
		return nil
	case ZeRO1, ZeRO2, ZeRO3:
		if !l.Training {
			return fmt.Errorf("sharding is for training: leave %q out, or ask for training", l.Shard)
		}
		return nil
	}
	return fmt.Errorf("shard %q is not known: expected %s, %s or %s, or none for a copy each", l.Shard, ZeRO1, ZeRO2, ZeRO3)
}

// MemoryError says that a batch does not fit into device memory. Bytes.
type MemoryError struct {
	Batch, Need, Have float64
	Largest           float64 // batch that fits; 0 where not even one sample does
	GPU               string
	State             float64 // of Need, what does not depend on the batch
	Shard             Shard
	Ranks             float64
	Recompute         bool
	Training          bool
}

// Error names need, room and the largest batch that fits, or what would make room.
func (e *MemoryError) Error() string {
	text := fmt.Sprintf("batch %.0f needs at least %s of device memory and %s has %s", e.Batch, size(e.Need), e.GPU, size(e.Have))
	switch {
	case e.Largest >= 1:
		return text + fmt.Sprintf(": the largest batch that fits is about %.0f", e.Largest)
	case !e.Training:
		return text + ": not even one sample fits; spread the model over several GPUs, or choose a smaller one"
	case e.State > e.Have:
		text += fmt.Sprintf(": weights, gradients and optimiser alone take %s", size(e.State))
		if e.Shard != ZeRO3 {
			return text + "; share them over the GPUs (ZeRO stage 3, FSDP), or choose a smaller model"
		}
		return text + fmt.Sprintf(" of each of %s GPUs; share them over more, or choose a smaller model", amount(e.Ranks))
	case !e.Recompute:
		return text + ": not even one sample fits; recompute activations in the backward pass, or choose shorter or smaller samples"
	}
	return text + ": not even one sample fits; choose shorter or smaller samples"
}

// Remedy is what to ask for instead: a shard, or recomputation; nothing where
// neither helps.
func (e *MemoryError) Remedy() (Shard, bool) {
	switch {
	case !e.Training || e.Largest >= 1:
		return NoShard, false
	case e.State > e.Have && e.Shard != ZeRO3:
		return ZeRO3, false
	case e.State <= e.Have:
		return NoShard, !e.Recompute
	}
	return NoShard, false
}

func (p *numbers) tooLarge(s Setup) error {
	state := p.state()
	return &MemoryError{
		Batch: p.batch, Need: p.need(), Have: p.capacity, GPU: s.Load.GPU.Title, State: state,
		Shard: s.Load.Shard, Ranks: p.ranks(), Recompute: s.Load.Recompute, Training: s.Load.Training,
		Largest: max(0, math.Floor((p.capacity-state)/p.memory)),
	}
}
