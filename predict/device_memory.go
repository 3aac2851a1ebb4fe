package predict

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/quantity"
)

// fitsMemory reports whether the batch fits into device memory. It is unknown if the memory or
// the need is.
func (p *numbers) fitsMemory() Truth {
	need := p.memoryNeed()
	switch {
	case need > p.capacity:
		return No
	case need <= p.capacity:
		return Yes
	}
	return NotKnown
}

func (p *numbers) memoryNeed() float64 { return p.memoryKept() + p.memory*p.batch }

// memoryKept returns what a rank keeps in device memory at any batch size.
func (p *numbers) memoryKept() float64 { return p.weights + p.sharded/p.rankCount() }

// MemoryError says that a batch does not fit into device memory. Bytes.
type MemoryError struct {
	Batch, Need, Have float64
	Largest           float64 // batch that fits; 0 where not even one sample does
	GPU               string
	State             float64 // of Need, what does not depend on the batch
	Shard             device.Shard
	Ranks             float64
	Recompute         bool
	Training          bool
}

// Error names need, room and the largest batch that fits, or what would make room.
func (e *MemoryError) Error() string {
	text := fmt.Sprintf("batch %.0f needs at least %s of device memory and %s has %s", e.Batch,
		quantity.AboutBytes(e.Need), e.GPU, quantity.AboutBytes(e.Have))
	switch {
	case e.Largest >= 1:
		text += fmt.Sprintf(": the largest batch that fits is about %.0f", e.Largest)
		if e.Training {
			text += fmt.Sprintf(", and gradients that accumulate over %.0f such batches make one of that size",
				math.Ceil(e.Batch/e.Largest))
		}
		return text
	case !e.Training:
		return text + ": not even one sample fits: spread the model over several GPUs, or choose a smaller one"
	case e.State > e.Have:
		text += fmt.Sprintf(": weights, gradients and optimiser alone take %s", quantity.AboutBytes(e.State))
		if e.Shard != device.ZeRO3 {
			return text + ": share them over the GPUs (ZeRO stage 3, FSDP), or choose a smaller model"
		}
		return text + fmt.Sprintf(" of each of %s GPUs: share them over more, or choose a smaller model",
			quantity.About(e.Ranks))
	case !e.Recompute:
		return text + ": not even one sample fits: recompute activations in the backward pass, or choose shorter " +
			"or smaller samples"
	}
	return text + ": not even one sample fits: choose shorter or smaller samples"
}

// Remedy returns what to ask for instead: a shard, or recomputation; nothing where
// neither helps.
func (e *MemoryError) Remedy() (device.Shard, bool) {
	switch {
	case !e.Training || e.Largest >= 1:
		return device.NoShard, false
	case e.State > e.Have && e.Shard != device.ZeRO3:
		return device.ZeRO3, false
	case e.State <= e.Have:
		return device.NoShard, !e.Recompute
	}
	return device.NoShard, false
}

func (p *numbers) tooLarge(s Setup) error {
	state := p.memoryKept()
	return &MemoryError{
		Batch: p.batch, Need: p.memoryNeed(), Have: p.capacity, GPU: s.Load.GPU.Title, State: state,
		Shard: s.Load.Shard, Ranks: p.rankCount(), Recompute: s.Load.Recompute, Training: s.Load.Training,
		Largest: max(0, math.Floor((p.capacity-state)/p.memory)),
	}
}
