// Package kernels lists the assembly of the feed and the processor features that it needs. The
// dispatchers, `stoker doctor` and the test that reads the machine code (cmd/stoker,
// TestAssemblyUsesOnlyCheckedInstructions) share this table.
//
// A kernel that a processor cannot run is replaced by plain Go, which gives the same bytes. To
// see that on a processor that runs them all, switch features off:
//
//	GODEBUG=cpu.avx2=off,cpu.bmi2=off stoker feed --check FOLDER
//	GODEBUG=cpu.asimd=off             stoker feed --check FOLDER (arm64)
//
// The kernels themselves are next to their callers: in feed/decode with its idct, planes,
// inflate and unfilter, in feed/transform and in feed/picture. Package asm generates those for
// amd64. Package neon generates those for arm64, and says why they are written in C.
package kernels

import (
	"runtime"
	"slices"

	"golang.org/x/sys/cpu"
)

// Feature is an instruction set that some processors of an architecture lack.
type Feature string

// The features that kernels need. AVX2 implies AVX, and that the system saves its registers.
// ASIMD is NEON: every arm64 has it, so only GODEBUG switches it off.
const (
	AVX2 Feature = "AVX2"
	BMI2 Feature = "BMI2"
	F16C Feature = "F16C"
	FMA  Feature = "FMA"

	ASIMD Feature = "ASIMD"
)

// present says which features this processor has. GODEBUG has been applied before the package
// is initialized.
var present = map[Feature]bool{
	AVX2: cpu.X86.HasAVX && cpu.X86.HasAVX2, BMI2: cpu.X86.HasBMI2, F16C: cpu.X86.HasF16C, FMA: cpu.X86.HasFMA,
	ASIMD: cpu.ARM64.HasASIMD,
}

// Group is a set of routines in assembly that are switched on together.
type Group struct {
	Name     string   // what they do, in words
	Arch     string   // a GOARCH
	Package  string   // whose folder they are in
	Routines []string // by their names in TEXT directives
	Needs    []Feature
}

// The names of groups, by which dispatchers ask for them.
const (
	Huffman       = "Huffman decoding"
	InverseDCT    = "inverse DCT"
	Colour        = "colour conversion"
	Inflate       = "unpacking PNGs"
	Unfilter      = "filters of PNGs"
	Resample      = "resampling and copying"
	Normalize     = "normalising"
	NormalizeHalf = "normalising to float16"
	Mix           = "Pillow's warps"
	Enhance       = "Pillow's colours and blurs"
)

// All lists the groups of every architecture. Huffman decoding for arm64 uses no vectors.
var All = []*Group{
	{Huffman, "amd64", "feed/decode", []string{"storeBMI2", "skipBMI2"}, []Feature{BMI2}},
	{InverseDCT, "amd64", "feed/decode/idct", []string{"idctApartAVX2", "idctBesideAVX2"}, []Feature{AVX2}},
	{Colour, "amd64", "feed/decode/planes", []string{"weigh", "convert", "convertDoubled", "part"}, []Feature{AVX2}},
	{Inflate, "amd64", "feed/decode/inflate", []string{"unpackRounds", "adlerSums"}, []Feature{AVX2, BMI2}},
	{Unfilter, "amd64", "feed/decode/unfilter", []string{"sub", "average", "paeth", "paethByte"}, []Feature{AVX2}},
	{
		Resample, "amd64", "feed/transform",
		[]string{
			"sumGroups1", "sumGroups2", "sumGroups3", "sumChunks4", "sumChunks2", "sumChunks1", "sumPairs",
			"interleave", "stream", "fence",
		},
		[]Feature{AVX2},
	},
	{Normalize, "amd64", "feed/transform", []string{"affine32", "affineBrain"}, []Feature{AVX2, FMA}},
	{NormalizeHalf, "amd64", "feed/transform", []string{"affineHalf"}, []Feature{AVX2, FMA, F16C}},
	{Mix, "amd64", "feed/picture", []string{"findSpots4", "findSpotsDivided4", "mixTwo4", "mixFour4"}, []Feature{AVX2}},
	{
		Enhance, "amd64", "feed/picture",
		[]string{"luma16", "blend8", "lookUp64", "turnHue8", "smooth16", "blurColumns8", "transpose8"},
		[]Feature{AVX2},
	},

	{Huffman, "arm64", "feed/decode", []string{"storeHuffman", "skipHuffman"}, nil},
	{InverseDCT, "arm64", "feed/decode/idct", []string{"idctTwo"}, []Feature{ASIMD}},
	{Colour, "arm64", "feed/decode/planes", []string{"weigh", "convert", "convertDoubled", "part"}, []Feature{ASIMD}},
	{Inflate, "arm64", "feed/decode/inflate", []string{"unpackRounds", "adlerSums"}, []Feature{ASIMD}},
	{Unfilter, "arm64", "feed/decode/unfilter", []string{"sub", "average", "paeth", "paethByte"}, []Feature{ASIMD}},
	{
		Resample, "arm64", "feed/transform",
		[]string{"sumGroups", "sumChunks", "sumLines", "interleave"},
		[]Feature{ASIMD},
	},
	{Normalize, "arm64", "feed/transform", []string{"affine32", "affineBrain"}, []Feature{ASIMD}},
	{NormalizeHalf, "arm64", "feed/transform", []string{"affineHalf"}, []Feature{ASIMD}},
}

// Run reports whether a group of that name runs on this processor.
func Run(name string) bool {
	return slices.ContainsFunc(All, func(g *Group) bool { return g.Name == name && g.Supported() })
}

// Supported reports whether the group's routines run on this processor.
func (g *Group) Supported() bool { return g.Arch == runtime.GOARCH && len(g.Lacks()) == 0 }

// Lacks returns the features that the group needs and this processor does not have.
func (g *Group) Lacks() []Feature {
	return slices.DeleteFunc(slices.Clone(g.Needs), func(f Feature) bool { return present[f] })
}
