package language

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// Training is a question: a model on so many GPUs, split in so many ways.
type Training struct {
	Model     Model
	GPU       hardware.GPU
	Precision hardware.Precision
	Stack     Stack

	GPUs float64
	// How the model is split: within its layers, by its layers, along its sequences, over its
	// experts. 1 is not split. Sequence parallelism goes with Tensor and sends as many bytes.
	Tensor, Pipeline, Context, Expert float64
	Virtual                           float64 // stages that a rank holds, interleaved

	Tokens      float64 // of a sequence
	MicroBatch  float64 // sequences that a rank computes at once
	GlobalBatch float64 // sequences of a step
	Recompute   bool    // activations are computed again in the backward pass

	Network float64 // bytes/s between machines per GPU, one direction; 0 is InfiniBand NDR's 50 GB/s
}

// TrainingStep is the answer.
type TrainingStep struct {
	Time      stoker.Interval // seconds
	TokenRate stoker.Interval // tokens/s of each GPU
	MFU       float64         // FLOP of the model over the sheet's peak

	// What the time goes into, shares of it.
	Compute, TensorLinks, ExpertLinks, Bubble, Gradients float64

	State float64 // bytes of weights, gradients and optimiser on a GPU, the optimiser shared
}

// ndr is what a port of InfiniBand NDR carries, bytes/s.
const ndr = 50e9

const (
	// hiddenTensor is the part of messages within layers that runs beside products.
	hiddenTensor = 0.5
	// smallDense is what products of experts, narrow and many, reach beside those of a dense
	// model: the rows "tune" with experts.
	smallDense = 0.42
	// gradientsHidden is the part of the exchange that runs behind the backward pass.
	gradientsHidden = 0.7
)

// Solve solves the question.
func (t Training) Solve() (TrainingStep, error) {
	if err := t.validate(); err != nil {
		return TrainingStep{}, err
	}
	micros := t.GlobalBatch / (t.data() * t.MicroBatch)
	compute, tensor, expert := t.computeTime(), t.tensorTime(), t.expertTime()
	once := compute + tensor + expert
	bubble := (t.Pipeline - 1) / math.Max(1, t.Virtual) * once
	gradients := t.gradientTime(micros * compute)
	time := micros*once + bubble + gradients
	tokens := t.GlobalBatch * t.Tokens
	return TrainingStep{
		Time:      modelledInterval(time, t.Model, t.Stack, t.GPU),
		TokenRate: modelledInterval(tokens/time/t.GPUs, t.Model, t.Stack, t.GPU),
		MFU:       3 * t.Model.forward(t.Tokens/2) * tokens / time / t.GPUs / t.GPU.Peak(t.Precision).Value,
		Compute:   micros * compute / time, TensorLinks: micros * tensor / time, ExpertLinks: micros * expert / time,
		Bubble: bubble / time, Gradients: gradients / time, State: t.stateBytes(),
	}, nil
}

// data is the number of replicas.
func (t Training) data() float64 { return t.GPUs / (t.Tensor * t.Pipeline * t.Context) }

// passes are forward, twice that for backward, and once more to compute again.
func (t Training) passes() float64 {
	if t.Recompute {
		return 4
	}
	return 3
}

// tokensOfMicro are those of a micro-batch that one rank has.
func (t Training) tokensOfMicro() float64 { return t.MicroBatch * t.Tokens / t.Context }

// computeTime is that of a micro-batch on one stage.
func (t Training) computeTime() float64 {
	m := t.Model
	rate := t.GPU.Peak(t.Precision).Value * t.Stack.share(t.GPU, t.Precision)
	flop := m.forward(t.Tokens / 2)
	narrow := 0.0
	if m.Experts > 0 {
		narrow = 2 * m.expertWeights() * m.Chosen / m.Experts
	}
	work := (flop - narrow) + narrow/smallDense
	return t.passes() * t.tokensOfMicro() * work / (t.Tensor * t.Pipeline) / rate
}

// tensorTime is that of the sums within layers: two a pass and layer.
func (t Training) tensorTime() float64 {
	if t.Tensor == 1 {
		return 0
	}
	sums := 2 * (t.passes() - 1) * t.Model.Layers / t.Pipeline
	bytes := 2 * (t.Tensor - 1) / t.Tensor * t.tokensOfMicro() * t.Model.Width * 2
	return (1 - hiddenTensor) * sums * bytes / t.linkRate(t.Tensor)
}

// expertTime is that of sending tokens to experts and back, in both passes.
func (t Training) expertTime() float64 {
	if t.Expert <= 1 || t.Model.Experts == 0 {
		return 0
	}
	sent := t.tokensOfMicro() / t.Tensor * math.Min(t.Model.Chosen,
		t.Expert) * t.Model.Width * 2 * (t.Expert - 1) / t.Expert
	return 4 * t.Model.sparseLayers() / t.Pipeline * sent / t.linkRate(t.Expert*t.Tensor)
}

// linkRate is what a rank of so many neighbours sends.
func (t Training) linkRate(ranks float64) float64 {
	if ranks <= machineOf(t.GPU) {
		return near(t.GPU)
	}
	return 0.6 * t.exchangeSeconds()
}

func (t Training) exchangeSeconds() float64 {
	if t.Network > 0 {
		return t.Network
	}
	return ndr
}

// gradientTime is what the exchange between replicas adds to a step: gradients go out and
// weights come back, 16 bits each; with FSDP weights are gathered for either pass.
func (t Training) gradientTime(compute float64) float64 {
	if t.data() <= 1 {
		return 0
	}
	moves := 2.0
	if t.Stack != Megatron {
		moves = 3
	}
	own := (t.Model.Params() - t.Model.expertWeights() + t.Model.expertWeights()/math.Max(1,
		t.Expert)) / (t.Tensor * t.Pipeline)
	all := moves * 2 * own / t.linkRate(t.GPUs)
	return math.Max((1-gradientsHidden)*all, all-compute)
}

// stateBytes is what a GPU keeps: weights and gradients in 16 bits, and 12 bytes per parameter
// of optimiser that all replicas share; FSDP shares all of it.
func (t Training) stateBytes() float64 {
	m := t.Model
	own := (m.Params() - m.expertWeights() + m.expertWeights()/math.Max(1, t.Expert)) / (t.Tensor * t.Pipeline)
	if t.Stack != Megatron {
		return 16 * own / t.data()
	}
	return own*4 + own*12/t.data()
}

func (t Training) validate() error {
	for _, f := range []struct {
		flag  string
		value float64
	}{
		{"gpus", t.GPUs},
		{"tp", t.Tensor},
		{"pp", t.Pipeline},
		{"cp", t.Context},
		{"ep", t.Expert},
		{"tokens", t.Tokens},
		{"micro-batch", t.MicroBatch},
		{"global-batch", t.GlobalBatch},
	} {
		if !(f.value >= 1) || math.IsInf(f.value, 0) {
			return fmt.Errorf("--%s is %v: expected 1 or more", f.flag, f.value)
		}
	}
	replicas := t.data()
	switch {
	case replicas < 1 || replicas != math.Trunc(replicas):
		return fmt.Errorf("%v GPUs cannot be split into --tp %v x --pp %v x --cp %v: expected a multiple of %v",
			t.GPUs, t.Tensor, t.Pipeline, t.Context, t.Tensor*t.Pipeline*t.Context)
	case t.GlobalBatch < replicas*t.MicroBatch:
		return fmt.Errorf("--global-batch %v is less than one micro-batch of %v on each of %v replicas",
			t.GlobalBatch, t.MicroBatch, replicas)
	case t.Stack == "":
		return errors.New("--software is not named, and it decides more than all else: " + Names(TrainingStacks))
	}
	return known(t.GPU, t.Precision)
}
