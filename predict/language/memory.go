package language

import (
	"math"

	"github.com/stoker-dev/stoker"
)

// Shard is what replicas share instead of keeping a copy each.
type Shard string

// What replicas share. Each includes those before.
const (
	AnyShard Shard = "" // as the stack usually has it
	NoShard  Shard = "none"
	ZeRO1    Shard = "zero1" // the optimiser's state
	ZeRO2    Shard = "zero2" // the gradients too
	ZeRO3    Shard = "zero3" // the weights too, gathered layer by layer: FSDP
)

// Shards lists the sharding levels that a question can name.
var Shards = []Shard{NoShard, ZeRO1, ZeRO2, ZeRO3}

// sharing returns what replicas share: as given, or as is usual in the stack.
func (t Training) sharing() Shard {
	switch {
	case t.Shard != AnyShard:
		return t.Shard
	case t.Stack == Megatron:
		return ZeRO1
	}
	return ZeRO3
}

// Activations says which activations are kept for the backward pass.
type Activations string

// What may be kept.
const (
	AnyActivations Activations = ""          // as much as memory holds
	Keep           Activations = "keep"      // all of it
	Selective      Activations = "selective" // PyTorch: every second product is made again; Megatron: attention alone
	Recompute      Activations = "recompute" // all of it is made again
)

// AllActivations lists the ways to keep activations that a question can name.
var AllActivations = []Activations{Keep, Selective, Recompute}

const (
	// runtimeBytes is the memory that CUDA, NCCL and the allocator use. Assumption.
	runtimeBytes = 3e9
	// estimate is how far activations may be off: engines keep more or less of a layer. Assumption.
	estimate = 1.3
	// Bytes of a parameter: a weight and a gradient of 16 bits each; Adam's weight of 32 bits
	// with two moments, or two moments of 8 bits alone.
	weightState, gradientState, optimizerState, smallOptimizer = 2, 2, 12, 2
	// logitBytesKept are the bytes of a logit: in 16 bits, in 32, and its gradient.
	logitBytesKept = 2 + 4 + 4
)

// Memory is the memory that a GPU needs, bytes.
type Memory struct {
	State       stoker.Interval // weights, gradients, optimizer
	Activations stoker.Interval // and logits, and what runs the program
	Total       stoker.Interval
}

// estimateMemory returns the memory that a GPU needs.
func (t Training) estimateMemory() Memory {
	kept := t.activationBytes(logitBytesKept)
	m := Memory{
		State: stoker.Interval{
			Low: t.stateBytes(smallOptimizer, oneMatrix), Point: t.stateBytes(optimizerState, twoLayers),
			High: t.stateBytes(optimizerState, twoLayers),
		},
		Activations: stoker.Interval{
			Low: t.leastActivations() / estimate, Point: kept + runtimeBytes, High: kept*estimate + runtimeBytes,
		},
	}
	m.Total = stoker.Interval{
		Low: m.State.Low + m.Activations.Low, Point: m.State.Point + m.Activations.Point,
		High: m.State.High + m.Activations.High,
	}
	return m
}

// What ZeRO 3 has gathered at once, in layers: one matrix of the feed-forward part, or a layer in
// use and one on its way.
const oneMatrix, twoLayers = 1. / 4, 2.

// stateBytes returns the bytes of weights, gradients and optimizer, for an optimizer of so many bytes a
// parameter and so many gathered layers.
func (t Training) stateBytes(optimizerBytes, gathered float64) float64 {
	own, group := t.ownWeights(), t.replicas().group
	gathered *= own / (t.Model.Layers / t.Pipeline)
	weights, gradients, optimizer := weightState*own, gradientState*own, optimizerBytes*own
	if t.LoRA { // adapters are about a hundredth
		gradients, optimizer = 0, 0.01*optimizer
	}
	switch t.sharing() {
	case ZeRO3, AnyShard:
		return (weights+gradients+optimizer)/group + weightState*gathered
	case ZeRO2:
		return weights + (gradients+optimizer)/group
	case ZeRO1:
		return weights + gradients + optimizer/group
	case NoShard:
	}
	return weights + gradients + optimizer
}

// activationBytes returns the bytes that are kept for the backward pass on the fullest stage, for logits
// of so many bytes.
func (t Training) activationBytes(logitBytes float64) float64 {
	m := t.Model
	tokens := t.tokensOfMicro() / t.Tensor
	layer := 2 * tokens * (6*m.Width + 2*m.KVHeads*m.HeadSize + m.innerKept())
	layers := m.Layers / t.Pipeline
	waiting := math.Min(t.micros(), t.Pipeline) // micro-batches under way in the first stage
	if t.Virtual > 1 {
		waiting *= 1 + (t.Pipeline-1)/(t.Pipeline*t.Virtual)
	}
	kept := layer
	switch t.Activations {
	case Recompute:
		kept = 2 * tokens * m.Width
	case Selective:
		switch t.Stack {
		case Megatron:
		case XLA: // the rest is in the host's memory
			kept = 2 * tokens * m.Width
		case FSDP, DeepSpeed, TensorRT, VLLM, SGLang, PyTorch:
			kept = layer / 2
		}
	case Keep, AnyActivations:
	}
	logits := tokens * m.Words * logitBytes
	first := kept*layers*waiting + layer
	if t.Pipeline == 1 {
		return first + logits
	}
	return math.Max(first, kept*layers+layer+logits)
}

// leastActivations returns the bytes of a program that saves memory: logits stay at 16 bits, and XLA and
// DeepSpeed move what layers keep to the host.
func (t Training) leastActivations() float64 {
	if t.Stack == XLA || t.Stack == DeepSpeed {
		t.Model.Layers, t.Pipeline = 1, 1
	}
	return t.activationBytes(2)
}

// innerKept returns the numbers of feed-forward parts that a layer keeps for a token, in the
// mean of all layers.
func (m Model) innerKept() float64 {
	sparse := m.sparseLayers() / m.Layers
	return (1-sparse)*gated*m.Inner + sparse*(m.Chosen+m.Always)*(gated*m.ExpertInner+m.Width)
}

// settle chooses which activations are kept if none are given: as many as fit into memory.
func (t Training) settle() Training {
	if t.Activations != AnyActivations {
		return t
	}
	for _, t.Activations = range AllActivations {
		if t.estimateMemory().Total.Point-runtimeBytes <= t.GPU.MemoryBytes.Value {
			return t
		}
	}
	return t
}

// Fit says whether a job fits into memory.
type Fit string

// The answers.
const (
	Fits     Fit = "fits"
	Unlikely Fit = "likely does not fit"
	TooLarge Fit = "does not fit"
)

func (m Memory) fit(room float64) Fit {
	switch {
	case m.Total.Low > room:
		return TooLarge
	case m.Total.Point > room:
		return Unlikely
	}
	return Fits
}
