package language

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// Stack is the software that a model trains or serves in. Throughput on one chip differs by
// more than a factor of two between stacks, so a question has to name one.
type Stack string

// The stacks that published figures were found for.
const (
	Megatron Stack = "megatron"     // Megatron Core and its descendants, with Transformer Engine
	FSDP     Stack = "fsdp"         // PyTorch with fully sharded data parallelism: torchtitan, LLM Foundry
	XLA      Stack = "xla"          // JAX on TPUs: MaxText
	TensorRT Stack = "tensorrt-llm" // serving
	VLLM     Stack = "vllm"         // serving
	PyTorch  Stack = "pytorch"      // serving with torch.compile, as gpt-fast
)

// TrainingStacks and ServingStacks are those that a question can name.
var (
	TrainingStacks = []Stack{Megatron, FSDP, XLA}
	ServingStacks  = []Stack{TensorRT, VLLM, PyTorch}
)

// Names joins the stacks for a sentence.
func Names(stacks []Stack) string {
	words := make([]string, len(stacks))
	for i, s := range stacks {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// How far a published figure may lie from the likely one, as factors. They are judged, after
// the exam had been seen: what the rows of "exam" then say of them is no exam of the widths.
const (
	usual    = 1.4
	unseen   = 2.0 // no figure of that stack on that maker's chips was tuned on
	sparsely = 2.0 // experts: how evenly a router sends tokens, and how narrow its products are
)

// modelledInterval draws the interval around a likely rate or time.
func modelledInterval(v float64, model Model, stack Stack, gpu hardware.GPU) stoker.Interval {
	width := usual
	if model.Experts > 0 {
		width = math.Max(width, sparsely)
	}
	if !stack.tunedOn(gpu) {
		width = math.Max(width, unseen)
	}
	return stoker.Interval{Low: v / width, Point: v, High: v * width}
}

// tunedOn reports whether a row "tune" has the stack on a chip of that maker.
func (s Stack) tunedOn(gpu hardware.GPU) bool {
	tpu := strings.HasPrefix(gpu.Name, "tpu-")
	switch s {
	case XLA:
		return tpu
	case Megatron, FSDP, TensorRT, PyTorch:
		return gpu.ComputeMajor > 0
	case VLLM:
	}
	return false
}

// share is what products of large matrices reach of the sheet's peak in training. Each is
// the geometric mean over the rows "tune" of testdata/published.csv of that stack and chip.
func (s Stack) share(gpu hardware.GPU, p hardware.Precision) float64 {
	eight := p == hardware.FP8
	switch {
	case strings.HasPrefix(gpu.Name, "tpu-v6e"):
		return 0.43 // its bandwidth is small beside its peak
	case strings.HasPrefix(gpu.Name, "tpu-"):
		return 0.70
	case s == Megatron && gpu.ComputeMajor >= 10 && eight:
		return 0.35
	case s == Megatron && eight:
		return 0.38
	case s == Megatron:
		return 0.60
	case s == FSDP && eight:
		return 0.23
	case s == FSDP:
		return 0.36
	}
	return 0.50
}

// weightBytes and cacheBytes are the sizes of a weight and of a number of the cache.
func weightBytes(p hardware.Precision) float64 {
	switch p {
	case hardware.FP8, hardware.INT8:
		return 1
	case hardware.FP32, hardware.TF32:
		return 4
	case hardware.FP16, hardware.BF16:
	}
	return 2
}

// cacheBytes is one in FP8, as its published checkpoints have it, else two.
func cacheBytes(p hardware.Precision) float64 {
	if p == hardware.FP8 {
		return 1
	}
	return 2
}

// known fails if the GPU has no peak in the precision.
func known(gpu hardware.GPU, p hardware.Precision) error {
	if gpu.Peak(p).Known() || p == hardware.INT8 {
		return nil
	}
	return fmt.Errorf("%s has no known peak in %s: name another --precision", gpu.Title, p)
}

// near is what a rank sends to others of its machine, bytes/s: predict/device explains the
// share of a link's rate that sums reach.
func near(gpu hardware.GPU) float64 { return 0.65 * gpu.NVLink.Value }

// machineOf is how many GPUs share the fast links.
func machineOf(gpu hardware.GPU) float64 {
	switch {
	case gpu.Name == "gb200", gpu.Name == "gb300":
		return 72
	case strings.HasPrefix(gpu.Name, "tpu-"):
		return 256 // of a v5e or v6e pod; the others have more
	case gpu.Name == "trainium2":
		return 16
	}
	return 8
}
