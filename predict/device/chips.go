package device

import (
	"math"

	"github.com/stoker-dev/stoker/hardware"
)

// logPeakPerWatt returns the logarithm of the FLOP/s at 16 bits that a board promises per watt
// of its limit, over 1 TFLOP/s per watt. The PCIe board of an A100 has the chip of the SXM board
// at 250 instead of 400 W, and is slower when it computes. It returns 0 if the sheet lacks one
// of the two.
func logPeakPerWatt(g hardware.GPU) float64 {
	if !positive(g.FP16.Value) || !positive(g.PowerLimit.Value) {
		return 0
	}
	return math.Log(g.FP16.Value / g.PowerLimit.Value / 1e12)
}

// architecture returns the generation of a GPU, within which efficiencies are shared.
func architecture(g hardware.GPU) string {
	switch major, minor := g.ComputeMajor, g.ComputeMinor; {
	case major == 7 && minor < 5:
		return "volta"
	case major == 7:
		return "turing"
	case major == 8 && minor == 0:
		return "ampere"
	case major == 8 && minor < 9:
		return "ampere-graphics" // half the Tensor Cores per SM, GDDR memory
	case major == 8:
		return "ada"
	case major == 9:
		return "hopper"
	case major >= 10:
		return "blackwell"
	}
	return "other" // AMD's have no compute capability
}

// alikeFigures is the ratio between the figures of one chip in different data sheets.
const alikeFigures = 1.03

// sameChip reports whether two rows are one chip in one variant, regardless of their
// names: the same architecture, peak in the precision, memory bandwidth and power
// limit. An A100 with 40 GB and one with 80 GB differ in bandwidth, the PCIe and
// the SXM board in power; a V100 with 16 GB and one with 32 GB in nothing that
// makes a step faster.
func sameChip(a, b hardware.GPU, p hardware.Precision) bool {
	if architecture(a) != architecture(b) {
		return false
	}
	for _, pair := range [][2]hardware.Figure{
		{a.Peak(p), b.Peak(p)}, {a.MemoryRate, b.MemoryRate}, {a.PowerLimit, b.PowerLimit},
	} {
		x, y := pair[0].Value, pair[1].Value
		if x > 0 && y > 0 && math.Max(x/y, y/x) > alikeFigures {
			return false
		}
	}
	return true
}

// gpuTitle returns the GPU's name for people, its key if it is not known.
func gpuTitle(name string) string {
	if g, known := hardware.FindGPU(name); known {
		return g.Title
	}
	return name
}

// dominates reports whether a chip has at least as much as another of everything that makes a
// step quick, within the precision of data sheets.
func dominates(a, b hardware.GPU, p hardware.Precision) bool {
	for _, pair := range [][2]hardware.Figure{
		{a.Peak(p), b.Peak(p)},
		{a.MemoryRate, b.MemoryRate},
		{a.PowerLimit, b.PowerLimit},
	} {
		if !(alikeFigures*pair[0].Value >= pair[1].Value) || !pair[1].Known() {
			return false
		}
	}
	return true
}
