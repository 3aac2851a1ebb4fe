// Package kernels lists the assembly of the feed and what a processor must have to
// run it: one table for the dispatchers, for `stoker doctor` and for the test that
// reads the machine code (cmd/stoker, TestAssemblyKeepsToItsGates).
//
// A kernel that a processor does not run is replaced by plain Go, which makes the same
// bytes. To see that on a processor that runs them all, take features away:
//
//	GODEBUG=cpu.avx2=off,cpu.bmi2=off stoker feed --check FOLDER
//
// It holds no kernel itself: they lie with their callers, in feed/decode and
// feed/transform, and asm has the generator.
package kernels

import (
	"runtime"
	"slices"

	"golang.org/x/sys/cpu"
)

// Feature is an instruction set beyond what every processor of the architecture has.
type Feature string

// The features that kernels need. AVX2 includes AVX, and that the system keeps its registers.
const (
	AVX2 Feature = "AVX2"
	BMI2 Feature = "BMI2"
	F16C Feature = "F16C"
	FMA  Feature = "FMA"
)

// GODEBUG has been applied to these when the package begins.
var present = map[Feature]bool{
	AVX2: cpu.X86.HasAVX && cpu.X86.HasAVX2, BMI2: cpu.X86.HasBMI2, F16C: cpu.X86.HasF16C, FMA: cpu.X86.HasFMA,
}

// Group is a set of routines in assembly that are switched on together.
type Group struct {
	Name     string   // what they do
	Arch     string   // as GOARCH has it
	Package  string   // where they lie
	Routines []string // as TEXT in their file names them
	Needs    []Feature
}

// The groups.
var (
	Huffman = &Group{
		"Huffman decoding", "amd64", "feed/decode",
		[]string{"storeBMI2", "skipBMI2"},
		[]Feature{BMI2},
	}
	InverseDCT = &Group{
		"inverse DCT", "amd64", "feed/decode",
		[]string{"idctApartAVX2", "idctBesideAVX2"},
		[]Feature{AVX2},
	}
	Colour = &Group{
		"colour conversion", "amd64", "feed/decode",
		[]string{"weigh", "convert", "convertDoubled"},
		[]Feature{AVX2},
	}
	Resample = &Group{
		"resampling and copying", "amd64", "feed/transform",
		[]string{"sumGroups1", "sumGroups2", "sumGroups3", "sumChunks", "sumPairs", "interleave", "stream", "fence"},
		[]Feature{AVX2},
	}
	Normalize = &Group{
		"normalising", "amd64", "feed/transform",
		[]string{"affine32", "affineBrain"},
		[]Feature{AVX2, FMA},
	}
	NormalizeHalf = &Group{
		"normalising to float16", "amd64", "feed/transform",
		[]string{"affineHalf"},
		[]Feature{AVX2, FMA, F16C},
	}
)

// All are the groups, for every architecture.
var All = []*Group{Huffman, InverseDCT, Colour, Resample, Normalize, NormalizeHalf}

// Runs reports whether the group's routines run on this processor.
func (g *Group) Runs() bool { return g.Arch == runtime.GOARCH && len(g.Lacks()) == 0 }

// Lacks are the features that the group needs and this processor does not have.
func (g *Group) Lacks() []Feature {
	return slices.DeleteFunc(slices.Clone(g.Needs), func(f Feature) bool { return present[f] })
}
