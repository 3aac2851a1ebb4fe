package hardware

import "strings"

// GPU describes one model of GPU.
type GPU struct {
	Name        string // our key: "a100-80gb-sxm"
	Title       string // the driver's name
	Match       []string
	FP32        Figure // FLOP/s without Tensor Cores
	TF32        Figure // dense FLOP/s; zero if the device does not support it
	FP16        Figure // dense FLOP/s with Tensor Cores, fp16 or bf16, fp32 accumulate
	FP8         Figure // dense FLOP/s, fp32 accumulate; zero if the device does not support it
	INT8        Figure // dense operations/s; zero if the device does not support them
	SMs         Figure // streaming multiprocessors (AMD: compute units)
	MemoryBytes Figure
	MemoryRate  Figure // bytes/s
	Link        string // key of the host link
	// bytes/s to all other GPUs of the machine together, one direction; zero if there are no
	// links, or only a bridge that is sold separately
	NVLink       Figure
	PowerLimit   Figure // watts
	IdlePower    Figure // watts with no process on the device
	Price        Figure // dollars per hour, on demand, one GPU with its share of the host
	ComputeMajor int    // compute capability; 0.0 for devices of other vendors
	ComputeMinor int
}

// Precision is a data type that a model computes in.
type Precision string

// The precisions that peaks are known for.
const (
	FP32 Precision = "fp32" // without Tensor Cores
	TF32 Precision = "tf32"
	FP16 Precision = "fp16"
	BF16 Precision = "bf16" // as fast as fp16 on devices that support it
	FP8  Precision = "fp8"
	INT8 Precision = "int8"
)

// Precisions lists all precisions, widest first.
var Precisions = []Precision{FP32, TF32, FP16, BF16, FP8, INT8}

// precisionNames maps other spellings to precisions: those of PyTorch, of Lightning and of checkpoints.
// torch.autocast takes fp16 by default on a GPU.
var precisionNames = map[string]Precision{
	"float32": FP32, "float": FP32, "single": FP32, "32-true": FP32,
	"float16": FP16, "half": FP16, "amp": FP16, "mixed": FP16, "16-mixed": FP16, "16-true": FP16,
	"bfloat16": BF16, "bf16-mixed": BF16, "bf16-true": BF16,
	"float8": FP8, "fp8_e4m3": FP8, "mxfp8": FP8, "w8a8": INT8,
}

// ReadPrecision returns the precision that a text names, in any spelling. A text that names none comes back
// in lower case.
func ReadPrecision(text string) Precision {
	word := strings.ToLower(strings.TrimSpace(text))
	word = strings.TrimPrefix(word, "torch.")
	if p, known := precisionNames[word]; known {
		return p
	}
	return Precision(word)
}

// Peak returns the dense peak in a precision, in FLOP/s; the zero Figure if the device does not
// support it or it is unknown.
func (g GPU) Peak(p Precision) Figure {
	switch p {
	case FP32:
		return g.FP32
	case TF32:
		return g.TF32
	case FP16:
		return g.FP16
	case BF16:
		if !g.HasBF16() {
			return Figure{}
		}
		return g.FP16
	case FP8:
		return g.FP8
	case INT8:
		return g.INT8
	}
	return Figure{}
}

// HasBF16 reports whether the device multiplies matrices in bf16 as fast as in fp16. NVIDIA's
// devices do from compute capability 8.0 on (CUDA C++ Programming Guide, arithmetic
// instructions: bf16 is added with 8.x), AMD's Instinct since the MI100.
func (g GPU) HasBF16() bool { return g.ComputeMajor == 0 || g.ComputeMajor >= 8 }

// ContextPower is what an open CUDA context adds to a device's idle power, in watts, low and
// high. A job short of input pays it, a machine without a job does not. It does not
// depend on running kernels or used memory.
var ContextPower = [2]Figure{{26, contextSource}, {66, contextSource}}

const contextSource = "arXiv:2605.23918 (Vadari), 2026-04, abstract: 26 to 66 W over bare idle on H100, A100 and " +
	"L40S, below 0.02 W/GB for memory in use"
