package language

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
)

// Stack is the software that a model trains or serves in.
type Stack string

// The stacks that published figures were found for.
const (
	Megatron  Stack = "megatron"     // Megatron Core and its descendants, with Transformer Engine
	FSDP      Stack = "fsdp"         // PyTorch: FSDP, HSDP or plain data parallelism
	DeepSpeed Stack = "deepspeed"    // ZeRO 1 to 3 beside models of transformers
	XLA       Stack = "xla"          // JAX: MaxText
	TensorRT  Stack = "tensorrt-llm" // serving
	VLLM      Stack = "vllm"         // serving
	PyTorch   Stack = "pytorch"      // serving with torch.compile, as gpt-fast
)

// TrainingStacks and ServingStacks are those that a question can name.
var (
	TrainingStacks = []Stack{Megatron, FSDP, DeepSpeed, XLA}
	ServingStacks  = []Stack{TensorRT, VLLM, PyTorch}
)

// UsualTraining is the stack of a question that names none: most people train in PyTorch, and on
// a TPU there is one.
func UsualTraining(gpu hardware.GPU) Stack {
	if isTPU(gpu) {
		return XLA
	}
	return FSDP
}

// Names joins the stacks for a sentence.
func Names(stacks []Stack) string {
	words := make([]string, len(stacks))
	for i, s := range stacks {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// How far a figure may lie from the likely one, as factors. Training's were chosen before its test
// half was asked, on sources left out of the fit in turn: within 1.35 lie 99 % of the dense
// figures, within 2 lie 92 % of those with experts. The rest is margin for sources that tune less.
const (
	usual    = 1.4
	unseen   = 1.7 // no figure of that stack, or of that chip, was fitted
	sparsely = 2.0 // experts: how evenly a router sends tokens, how new the software is
	rarely   = 2.0 // serving: no figure of that stack on that maker's chips was tuned on
)

// trainingWidth is how far a training figure may lie from the likely one.
func (t Training) width() float64 {
	width := usual
	if t.Model.Experts > 0 {
		width = sparsely
	}
	if t.Stack == DeepSpeed || !fittedChip(t.GPU) {
		width = math.Max(width, unseen)
	}
	return width
}

// fittedChip reports whether testdata/training_fit.csv has a figure of the chip.
func fittedChip(gpu hardware.GPU) bool {
	switch gpu.Name {
	case "a100-40gb-sxm", "a100-80gb-sxm", "h100-sxm", "h200", "b200", "gb200", "gb300", "tpu-v5p", "tpu-v6e":
		return true
	}
	return false
}

// servingWidth is how far a serving figure may lie from the likely one.
func servingWidth(model Model, stack Stack, gpu hardware.GPU) float64 {
	width := usual
	if model.Experts > 0 {
		width = sparsely
	}
	if stack == VLLM || gpu.ComputeMajor == 0 {
		width = math.Max(width, rarely)
	}
	return width
}

func isTPU(gpu hardware.GPU) bool { return strings.HasPrefix(gpu.Name, "tpu-") }

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

// checkPeak fails if the GPU has no peak in the precision.
func checkPeak(gpu hardware.GPU, p hardware.Precision) error {
	if gpu.Peak(p).Known() || p == hardware.INT8 {
		return nil
	}
	return fmt.Errorf("%s has no known peak in %s: name another --precision", gpu.Title, p)
}
