package language

import (
	"math"

	"github.com/stoker-dev/stoker/hardware"
)

// trainingLaw holds the constants that were fitted together on testdata/training_fit.csv, each source as
// one (go test -run FitTraining -fit ./predict/language), and then rounded.
type trainingLaw struct {
	// inModels is the rate of a model's products over the rate of the best large products:
	// shapes and power limits cost the rest. inXLA is a further share in XLA on GPUs, narrow
	// one for products of experts.
	inModels, inXLA, narrow float64
	// The rate of attention over the rate of the best products: FlashAttention on an A100,
	// PyTorch's attention on later chips, and cuDNN's on later chips.
	attentionAmpere, attentionLater, attentionFused float64
	// onBlackwell is a further share of products and attention in PyTorch on Blackwell, for whose chips
	// its kernels are new.
	onBlackwell float64
	// v5pShare and v6eShare are the shares of the sheet's peak that those TPUs reach. Others take the mean.
	v5pShare, v6eShare float64
	// How often the numbers of layerNumbers pass device memory: with one operator after the other (eager
	// PyTorch, Megatron), and compiled into few.
	apart, together float64
	// castBytes are the bytes that a number costs before a product in FP8: it is read, cast and transposed.
	castBytes float64
	// reachedNetwork is the share of a port's rate that rings between machines reach.
	reachedNetwork float64
	// hiddenGather is the share of a micro-batch with which FSDP's exchange overlaps, hiddenTensor the share
	// of sums within layers that overlaps with products.
	hiddenGather, hiddenTensor float64
}

var law = trainingLaw{
	inModels: 0.78, inXLA: 0.94, narrow: 0.85,
	attentionAmpere: 0.40, attentionLater: 0.23, attentionFused: 0.50,
	onBlackwell: 0.71, v5pShare: 0.78, v6eShare: 0.55,
	apart: 2.1, together: 0.67, castBytes: 1.7,
	reachedNetwork: 0.5, hiddenGather: 0.9, hiddenTensor: 0.45,
}

const (
	// reachedMemory is the share of the sheet's memory bandwidth that simple operators reach.
	reachedMemory = 0.8
	// logitBytes are the bytes that a word of the vocabulary costs a token: logits are widened
	// to 32 bits, and go through softmax and its gradient; if compiled, they are read and
	// written once in each direction. Derived.
	logitBytes, compiledLogitBytes = 28, 12
	// layerLaunch is how long PyTorch launches a layer's forward or backward pass, seconds. BERT-base
	// of 12 layers at batch 1 takes 2.8 ms in one public table and 8.0 ms in another
	// (predict/RESULTS.md); this is the geometric mean.
	layerLaunch = 0.4e-3
	// backwardAttention is the work of FlashAttention's backward pass over its forward pass:
	// five products for two, one of them a recomputation (arXiv:2205.14135).
	backwardAttention = 2.5
	// onBlackwell is the rate of FlashAttention 2, which PyTorch has, on a GB200 over an H200: 373.9 and
	// 329.3 TFLOP/s (github.com/Azure/AI-benchmarking-guide, Azure_Results, 2025). It uses none of
	// Blackwell's new instructions, so it gains little.
	onBlackwell = 373.9 / 329.3
)

// Generations by compute capability: from Hopper on, data centre chips have instructions that
// FlashAttention 2 does not use. GeForce's Blackwell has none of those.
const hopperMajor, blackwellMajor, geforceMajor = 9, 10, 12

// hopper is the chip on which FlashAttention 2 was timed next to Blackwell.
var hopper, _ = hardware.FindGPU("h200")

// passes returns how often products are computed: forward, twice that for backward, and again for
// activations that are not kept. Frozen weights have no gradient (LoRA).
func (t Training) passes() (forward, backward, again float64) {
	forward, backward = 1, 2
	if t.LoRA {
		backward = 1
	}
	switch t.Activations {
	case Recompute:
		again = 1
	case Selective:
		if t.Stack != Megatron { // which makes attention's inner part again, as FlashAttention does anyway
			again = 0.5 // every second product
		}
	case Keep, AnyActivations:
	}
	return forward, backward, again
}

// tokensOfMicro returns a rank's tokens of a micro-batch.
func (t Training) tokensOfMicro() float64 { return t.MicroBatch * t.Tokens / t.Context }

// chipTimes are the parts of a micro-batch on one stage, seconds.
type chipTimes struct{ products, attention, moved float64 }

func (c chipTimes) sum() float64 { return c.products + c.attention + c.moved }

// onChip returns the time of a micro-batch on one stage. passing is how often activations pass memory.
func (t Training) onChip(passing float64) chipTimes {
	m := t.Model
	forward, backward, again := t.passes()
	rate := t.productRate(t.Precision)
	head := m.Words * m.Width
	chosen := 0.0
	if m.Experts > 0 {
		chosen = m.expertWeights() * m.Chosen / m.Experts
	}
	all := forward + backward + again
	flop := 2*(m.sharedWeights()-head)*all + 2*head*(forward+backward) + 2*chosen*all/law.narrow
	pairs := forward + backwardAttention
	if t.Activations == Recompute {
		pairs++
	}
	part := t.tokensOfMicro() / (t.Tensor * t.Pipeline)
	return chipTimes{
		products:  part * flop / rate,
		attention: part * pairs * m.attention(t.Tokens/2) / t.attentionRate(),
		moved:     part * t.movedBytes(passing) / (t.GPU.MemoryRate.Value * reachedMemory),
	}
}

// launchTime returns how long the host takes to launch a micro-batch.
func (t Training) launchTime() float64 {
	forward, _, again := t.passes()
	if t.Stack == XLA || t.Compiled == On {
		return 0 // a program of few launches
	}
	return t.Model.Layers / t.Pipeline * layerLaunch * (2*forward + again)
}

// productRate returns the rate of large products, FLOP/s.
func (t Training) productRate(p hardware.Precision) float64 {
	peak := t.GPU.Peak(p).Value
	switch {
	case t.GPU.Name == "tpu-v6e":
		return peak * law.v6eShare
	case t.GPU.Name == "tpu-v5p":
		return peak * law.v5pShare
	case isTPU(t.GPU):
		return peak * math.Sqrt(law.v5pShare*law.v6eShare)
	case t.Stack == XLA:
		return peak * t.GPU.ProductShare(p).Value * law.inModels * law.inXLA
	}
	return peak * t.GPU.ProductShare(p).Value * law.inModels * t.blackwellShare()
}

// blackwellShare returns what PyTorch reaches on Blackwell, over its share of peak on earlier chips.
func (t Training) blackwellShare() float64 {
	major := t.GPU.ComputeMajor
	if !t.isPyTorch() || major < blackwellMajor || major >= geforceMajor {
		return 1
	}
	return law.onBlackwell
}

// isPyTorch reports whether the stack is plain PyTorch, without kernels of Transformer Engine or XLA.
func (t Training) isPyTorch() bool { return t.Stack == FSDP || t.Stack == DeepSpeed }

// attentionRate returns the rate of attention, FLOP/s. Attention is computed in 16 bits.
func (t Training) attentionRate() float64 {
	if isTPU(t.GPU) {
		return t.productRate(hardware.BF16) * law.attentionFused
	}
	best := t.GPU.FP16.Value * t.GPU.ProductShare(hardware.FP16).Value
	switch {
	case t.GPU.ComputeMajor > 0 && t.GPU.ComputeMajor < hopperMajor, t.GPU.ComputeMajor >= geforceMajor:
		return best * law.attentionAmpere
	case t.Stack == Megatron || t.Stack == XLA:
		return best * law.attentionFused
	case t.GPU.ComputeMajor >= blackwellMajor:
		best = onBlackwell * hopper.FP16.Value * hopper.ProductShare(hardware.FP16).Value
		return best * law.attentionLater * t.blackwellShare()
	}
	return best * law.attentionLater
}

// movedBytes returns the bytes that pass device memory for a token, without the inputs of products.
func (t Training) movedBytes(passing float64) float64 {
	forward, backward, again := t.passes()
	if t.LoRA {
		backward = 2 // gradients of activations move as always
	}
	logits := logitBytes
	if t.Stack == Megatron || passing < law.apart {
		logits = compiledLogitBytes
	}
	bytes := 2*t.Model.layerNumbers()*(forward+backward+again)*passing + float64(logits)*t.Model.Words
	if t.Precision == hardware.FP8 || t.Precision == hardware.INT8 {
		bytes += law.castBytes * t.Model.productInputs() * (forward + backward + again)
	}
	return bytes
}

// passings returns how often activations go through device memory. If Compiled is not given,
// PyTorch may be compiled or not.
func (t Training) passings() (likely, least, most float64) {
	switch {
	case t.Stack == XLA || t.Compiled == On:
		return law.together, law.together, law.together
	case t.Stack == Megatron || t.Compiled == Off:
		return law.apart, law.apart, law.apart
	}
	return math.Sqrt(law.apart * law.together), law.together, law.apart
}

// layerNumbers returns how many numbers all layers read and write for a token in a forward pass,
// not counting products: two norms with their sums, rotation, the activation, and what goes to
// experts and back.
func (m Model) layerNumbers() float64 {
	inner := (m.Layers-m.sparseLayers())*gated*m.Inner + m.sparseLayers()*(m.Chosen+m.Always)*gated*m.ExpertInner
	sent := m.sparseLayers() * m.Chosen * 4 * m.Width
	return m.Layers*(8*m.Width+2*(m.Heads+m.KVHeads)*m.HeadSize) + inner + sent
}

// productInputs returns how many numbers enter products for a token in a forward pass.
func (m Model) productInputs() float64 {
	inner := m.Inner + 2*m.Width
	if m.Experts > 0 {
		inner = (m.Chosen + m.Always) * (m.ExpertInner + m.Width)
	}
	return m.Layers * (4*m.Width + inner)
}
