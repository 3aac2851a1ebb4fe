package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
)

// Chip is what a device can do, by NVIDIA's compute capability. The zero one is unknown, or of
// another maker: nothing is refused for it.
type Chip struct{ Major, Minor int }

// IsKnown reports whether the compute capability is known.
func (c Chip) IsKnown() bool { return c.Major > 0 }

// Reaches reports whether a device has at least a compute capability. An unknown one may.
func (c Chip) Reaches(major, minor int) bool {
	return !c.IsKnown() || c.Major > major || c.Major == major && c.Minor >= minor
}

// need is the least compute capability for a value of a setting; "" is any value.
type need struct {
	setting      stoker.Setting
	value        string
	major, minor int
	what         string
}

// needs are what settings ask of a device. Triton: torch/_inductor/exc.py ("CUDA Capability
// >= 7.0"). Tensor Cores by type: CUDA C++ Programming Guide, "Compute Capabilities".
var needs = []need{
	{stoker.Compile, "", 7, 0, "torch.compile makes its kernels with Triton"},
	{stoker.TF32, "", 8, 0, "Tensor Cores multiply TF32"},
	{stoker.Precision, "bf16", 8, 0, "Tensor Cores multiply bfloat16"},
	{stoker.Precision, "fp16", 7, 0, "Tensor Cores multiply float16"},
	{stoker.Precision, "fp8", 8, 9, "Tensor Cores multiply FP8"},
}

// LacksUnit says why the device cannot do what a change asks; "" if it can, or may.
func (g Grounds) LacksUnit(c stoker.Change) string {
	for _, n := range needs {
		asked := n.setting == c.Setting && (n.value == "" || n.value == fmt.Sprint(c.To))
		if asked && !g.Chip.Reaches(n.major, n.minor) {
			return fmt.Sprintf("%s from compute capability %d.%d on, and this device has %d.%d", n.what, n.major, n.minor,
				g.Chip.Major, g.Chip.Minor)
		}
	}
	return ""
}

// LacksAnyUnit is LacksUnit of the first change that the device cannot do.
func (g Grounds) LacksAnyUnit(changes []stoker.Change) string {
	for _, c := range changes {
		if why := g.LacksUnit(c); why != "" {
			return why
		}
	}
	return ""
}

// Compiles reports whether torch.compile can make kernels for the device.
func (g Grounds) Compiles() bool {
	return g.LacksUnit(stoker.Change{Setting: stoker.Compile, To: "default"}) == ""
}

// largerOperators is what to do about launches on devices that are neither CUDA's nor ROCm's.
const largerOperators = "fewer and larger operators: a larger batch_size (in training, the learning rate follows), or " +
	"operators of the device's library that do several things at once"

// LaunchAdvice is what to do about launches that take longer than what they launch.
func (g Grounds) LaunchAdvice() string {
	switch {
	case g.Kind != "":
		return largerOperators
	case g.Updates:
		return "an optimizer of torch.optim with foreach=True or fused=True launches a few kernels for all parameters. One " +
			"of your own: call its step() in a function with @torch.compile"
	case g.Serves:
		return "let the server capture CUDA graphs (vLLM without enforce_eager, SGLang without --disable-cuda-graph), for " +
			"batches as large as these"
	case g.LaunchesByCompiling():
		return compileAdvice
	}
	return "torch.cuda.make_graphed_callables(model, (sample,)), which captures CUDA graphs, or a larger batch_size, so " +
		"that each launch has more work (in training, the learning rate follows)"
}

// FewerLaunches is how to take launches off a line of the program, in the words of its framework.
func (g Grounds) FewerLaunches() string {
	if g.Framework != "" {
		return Translate(Finding{Name: FindingLaunchBound}, g.Framework).Advice
	}
	return LaunchAdvice
}

// LaunchesByCompiling reports whether a program launches less if it is compiled: one that is, and a server, which has
// its own way to do so, capture graphs.
func (g Grounds) LaunchesByCompiling() bool { return g.Compiles() && !g.Made.Fused && !g.Serves }

// LaunchChange is the setting that launches less.
func (g Grounds) LaunchChange() stoker.Change {
	if g.LaunchesByCompiling() {
		return ProposeChange(stoker.Compile, nil, "reduce-overhead")
	}
	return ProposeChange(stoker.CUDAGraphs, nil, true)
}

// onChip is what to do about a class whose own words name what not every device can; "" if
// they hold.
func (g Grounds) onChip(class Class) string {
	if g.Kind != "" {
		return map[Class]string{
			LaunchBound:  largerOperators,
			NetworkBound: "gradient accumulation, gradients in bf16, larger buckets, or ranks that are nearer to each other",
		}[class]
	}
	if !g.Chip.IsKnown() {
		return ""
	}
	switch class {
	default:
	case GPUPrecision:
		if !g.Chip.Reaches(8, 0) {
			return `torch.autocast("cuda", dtype=torch.float16) with torch.amp.GradScaler(): this device has neither TF32 ` +
				`nor bfloat16`
		}
	case GPUTensor:
		if !g.Chip.Reaches(8, 9) {
			return "what is left is less work: a smaller or a sparser model, or a larger device"
		}
	case GPUMemory:
		if format := g.Narrower(); !g.Compiles() {
			return "fewer bytes: channels_last, and operators that do several things at once"
		} else if !g.Chip.Reaches(8, 9) {
			return "torch.compile, which fuses kernels, and channels_last, " + format + ": fewer bytes"
		}
	case LaunchBound:
		if !g.Compiles() {
			return g.LaunchAdvice()
		}
	}
	return ""
}

// Narrower names the number formats that a device multiplies faster than the next wider one,
// for advice in words: "bf16 or FP8"; "" if it has none.
func (g Grounds) Narrower() string {
	switch c := g.Chip; {
	case c.Reaches(8, 9):
		return "bf16 or FP8"
	case c.Reaches(8, 0):
		return "bf16"
	case c.Reaches(7, 0):
		return "fp16"
	}
	return ""
}
