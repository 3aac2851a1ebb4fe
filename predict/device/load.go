package device

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	return fmt.Errorf("shard %q is not known: expected %s, %s or %s, or none for a copy each", l.Shard, ZeRO1, ZeRO2,
		ZeRO3)
}

// unitsOf returns the precision whose units a precision uses: bf16 uses those of fp16.
func unitsOf(p hardware.Precision) hardware.Precision {
	if p == hardware.BF16 {
		return hardware.FP16
	}
	return p
}

// training tells the two kinds of load apart.
type training bool

func (t training) String() string {
	if t {
		return "training"
	}
	return "inference"
}

// Load is what a device is asked to do in a step.
type Load struct {
	Workload  Workload
	GPU       hardware.GPU
	Precision hardware.Precision // AnyPrecision if not said
	Software  Software           // AnySoftware if not said
	Training  bool
	Recompute bool  // training computes the forward pass again instead of keeping what the backward pass needs
	Shard     Shard // what data-parallel ranks share; NoShard: a copy each

	stepwise bool // attention is known to be in single steps, where PyTorch could fuse it: a published step's
}

// AnyPrecision says that no precision was named. It covers everything from 16 bits to the
// default of a program that names none.
const AnyPrecision hardware.Precision = ""

// variants returns the loads that a load may be if a part of it is not named.
func (l Load) variants() (all []Load) {
	for _, family := range l.families() {
		l.Workload.Family = family
		for _, p := range l.precisions() {
			for _, class := range l.classes() {
				one := l
				one.Precision, one.Software = p, class
				all = append(all, one)
			}
		}
	}
	return all
}

// nameOpenChoices names the choices that the curve covers.
func (l Load) nameOpenChoices() string {
	var what []string
	if l.Workload.Family == AnyFamily {
		what = append(what, "any kind of network")
	}
	if l.Precision == AnyPrecision {
		all := l.precisions()
		what = append(what, fmt.Sprintf("any precision (%s to %s)", all[0], all[len(all)-1]))
	}
	if l.Software == AnySoftware {
		what = append(what, "any software")
	}
	return strings.Join(what, ", ")
}

// precisions returns those that a load may run in: the named one; else 16 bits, and
// what PyTorch computes in by default: since 1.12 convolutions in TF32 and
// matrix products in fp32 (torch.backends, allow_tf32).
func (l Load) precisions() []hardware.Precision {
	if l.Precision != AnyPrecision {
		return []hardware.Precision{l.Precision}
	}
	var all []hardware.Precision
	if l.GPU.Peak(hardware.FP16).Known() {
		all = append(all, hardware.FP16)
	}
	if l.Workload.Family != Transformer && l.GPU.Peak(hardware.TF32).Known() {
		return append(all, hardware.TF32)
	}
	if l.GPU.Peak(hardware.FP32).Known() {
		all = append(all, hardware.FP32)
	}
	return all
}

// classes returns the software classes that a load may run in: the named one; else
// those that differ for a workload: the memory layout means nothing to a network
// without images.
func (l Load) classes() []Software {
	if l.Software != AnySoftware {
		return []Software{l.Software}
	}
	classes := []Software{Compiled, Eager}
	if l.Workload.Family != Transformer {
		classes = append(classes, ChannelsLast)
	}
	if !l.Training {
		classes = append(classes, Engine)
	}
	return classes
}

// launchesSingly reports whether the host launches one kernel after the other, so
// that its CPU decides what a small batch takes.
func (l *Load) launchesSingly() bool { return l.Software == Eager || l.Software == ChannelsLast }

// mayFlash reports whether attention in PyTorch as it comes may be FlashAttention, which moves no scores and
// leaves out the pairs that a causal mask hides: PyTorch has it since 2.0 (2023), on Ampere and later, in
// 16 bits (torch.nn.functional.scaled_dot_product_attention).
func (l *Load) mayFlash() bool {
	return l.launchesSingly() && l.GPU.ComputeMajor >= 8 && bytesPer(l.Precision) == 2 && !l.stepwise
}

// flashes reports whether it is likely so: decoders and networks of images took it up at once (timm, torchvision
// and Llama in 2023). BERT did in 2024, and no step of it has been published since.
func (l *Load) flashes() bool { return l.mayFlash() && (l.Workload.Masked > 0 || l.Workload.Side > 0) }

// scoresKey returns the key of the moves of attention's scores. In single steps they depend on the
// precision, for autocast turns 16 bits into 32 and back.
func (l *Load) scoresKey() string {
	switch {
	case l.flashes():
		return "scores/" + string(Compiled)
	case l.launchesSingly():
		return "scores/" + string(Eager) + "/" + string(unitsOf(l.Precision))
	}
	return "scores/" + string(l.Software)
}

// singleMoves returns how often attention in single steps moves a score, in PyTorch as it comes:
// written, scaled (2), masked (2), softmax (2), dropped out (2) and read. Under autocast it is
// made wider for softmax (3), softmax is at 32 bits (4), and it is made narrower (3), between
// written, scaled (2) and read. Derived.
func (l *Load) singleMoves() float64 {
	switch {
	case !l.launchesSingly() || l.Workload.Fused:
		return 0
	case unitsOf(l.Precision) == hardware.FP16:
		return 14
	}
	return 10
}

// groupedSlowly returns how long a sample's convolutions by groups of channels may take, in
// seconds: at a 25th of the peak outside Tensor Cores, as RegNets of 16 to 24 channels a group
// in training on an RTX 3090 (huggingface/pytorch-image-models,
// results/benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv, 2022: five networks, a 24th to a
// 14th). ResNeXt's are quick, so only the high end uses it.
func (l *Load) groupedSlowly() float64 {
	if !positive(l.Workload.Grouped) || !positive(l.GPU.FP32.Value) {
		return 0
	}
	return 25 * l.passes() * l.Workload.Grouped / l.GPU.FP32.Value
}

// anyEngine reports whether the step time depends on who made the engine's plan. For
// transformers, libraries differ: FasterTransformer moves attention's scores through device
// memory, TensorRT fuses all of it.
func (l *Load) anyEngine() bool { return l.Software == Engine && l.Workload.Family == Transformer }

func (l Load) checkFields() error {
	w, g := l.Workload, l.GPU
	switch {
	case !positive(w.Forward.Value) || !positive(w.Params.Value) || !positive(w.Layers) ||
		!(w.Activations.Value >= 0) || math.IsInf(w.Activations.Value, 0):
		return fmt.Errorf("step time of %q: its FLOP, bytes, parameters and layers are not known: name one of the "+
			"known models, or give the step time itself", w.Name)
	case !positive(g.MemoryRate.Value):
		return fmt.Errorf("step time of %s on %q: the memory bandwidth of this GPU is not known: name a known "+
			"GPU, or give the step time itself", w.Title, g.Name)
	}
	if err := l.CheckPrecision(); err != nil {
		return fmt.Errorf("step time of %s on %s in %s: %w", w.Title, g.Title, l.Precision, err)
	}
	if l.Recompute && !l.Training {
		return fmt.Errorf("step time of %s: inference keeps nothing for a backward pass, so that nothing is "+
			"recomputed: leave recomputation out, or ask for training", w.Title)
	}
	if err := l.checkShard(); err != nil {
		return err
	}
	switch l.Software {
	case AnySoftware, Eager, ChannelsLast, Compiled:
		return nil
	case Engine:
		if l.Training {
			return fmt.Errorf("step time of %s in training: software class %q is for inference: choose %s, %s or %s",
				w.Title, Engine, Eager, ChannelsLast, Compiled)
		}
		return nil
	}
	return fmt.Errorf("software class %q is not known: expected %s, %s, %s or %s, or none for the whole spread",
		l.Software, Eager, ChannelsLast, Compiled, Engine)
}

// PrecisionError says why a device does not run a precision.
type PrecisionError struct {
	Precision, Instead hardware.Precision // what was asked, what to take
	why                string
}

// Error returns the reason.
func (e *PrecisionError) Error() string { return e.why }

// CheckPrecision says why a precision cannot be, and what to use instead.
func (l Load) CheckPrecision() error {
	p, g := l.Precision, l.GPU
	instead := ListPrecisions(g)
	switch {
	case p == AnyPrecision && len(l.precisions()) > 0:
		return nil
	case p == hardware.INT8 && l.Training:
		return fmt.Errorf("networks are not trained in int8: choose another precision, or ask for inference")
	case p == AnyPrecision || !slices.Contains(hardware.Precisions, p):
		return fmt.Errorf("no peak of this GPU is known for it: choose %s, or give the step time itself", instead)
	case g.Peak(p).Known():
		return nil
	case p == hardware.BF16 && g.FP16.Known():
		return &PrecisionError{
			p, hardware.FP16,
			"its Tensor Cores know fp16 and no bf16, which would run many times slower: use fp16, in training " +
				"with a gradient scaler (torch.amp.GradScaler)",
		}
	case p == hardware.TF32 && g.FP32.Known():
		return &PrecisionError{
			p, hardware.FP32,
			"its Tensor Cores know no tf32, so that allow_tf32 changes nothing there: use fp32, or fp16 with autocast",
		}
	case p == hardware.FP8 && g.HasBF16() && g.FP16.Known():
		return &PrecisionError{p, hardware.BF16, "it has no fp8 units, which came with Ada and Hopper: use bf16"}
	case p == hardware.FP8 && g.FP16.Known():
		return &PrecisionError{p, hardware.FP16, "it has no fp8 units, which came with Ada and Hopper: use fp16"}
	}
	return fmt.Errorf("this GPU has no such unit, or its peak is not known: choose %s, or give the step time itself",
		instead)
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// ListPrecisions lists the precisions for which a GPU has peaks: "one of fp32, tf32, fp16".
func ListPrecisions(g hardware.GPU) string {
	var all []string
	for _, p := range hardware.Precisions {
		if g.Peak(p).Value > 0 {
			all = append(all, string(p))
		}
	}
	if len(all) == 0 {
		return "a known GPU"
	}
	return "one of " + strings.Join(all, ", ")
}

// bytesPer returns the width of an activation in device memory, bytes. FP8 is a width of
// matrix products: between them numbers have 16 bits. If the question names no
// precision it is the least that it may be.
func bytesPer(p hardware.Precision) float64 {
	switch p {
	case hardware.FP16, hardware.BF16, hardware.FP8, AnyPrecision:
		return 2
	case hardware.INT8:
		return 1
	case hardware.FP32, hardware.TF32:
	}
	return 4
}

// passes returns how often a network is run through in a step: training goes back
// through it for the gradients of inputs and of weights, and forward once more
// if it recomputes.
func (l Load) passes() float64 {
	switch {
	case l.Recompute:
		return 4
	case l.Training:
		return 3
	}
	return 1
}

// StepFLOP returns the work of a step on one GPU.
func (l Load) StepFLOP(batch float64) float64 { return l.passes() * l.Workload.Forward.Value * batch }

// families returns the families that a load's network may belong to; its samples decide if none
// was named.
func (l Load) families() []Family {
	switch {
	case l.Workload.Family != AnyFamily:
		return []Family{l.Workload.Family}
	case l.Workload.Tokens > 0:
		return []Family{Transformer}
	}
	return Families
}
