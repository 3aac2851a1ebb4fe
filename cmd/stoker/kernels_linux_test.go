package main

import (
	"flag"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/doctor"
	"github.com/stoker-dev/stoker/feed/kernels"
	"github.com/stoker-dev/stoker/internal/machinecode"
	"github.com/stoker-dev/stoker/report"
)

var assembled = flag.String("assembled", "", "the program of which TestAssembly... reads the machine code (default: these tests)")

const ours = "github.com/stoker-dev/stoker/"

// TestAssemblyUsesOnlyCheckedInstructions reads the machine code of our assembly. Each routine only uses the
// instruction sets that its group in feed/kernels requires of the processor, no group requires more
// than its routines use, and the groups and the binary have the same routines.
func TestAssemblyUsesOnlyCheckedInstructions(t *testing.T) {
	functions, arch := readAssembly(t)
	used := map[*kernels.Group][]machinecode.InstructionSet{}
	found := map[string]bool{}
	for _, f := range functions {
		name, isOurs := strings.CutPrefix(f.Name, ours)
		if !isOurs || !f.Assembly {
			continue
		}
		found[name] = true
		group := groupOf(arch, name)
		if group == nil {
			t.Errorf("%s is in no group of feed/kernels", name)
			continue
		}
		sets, err := f.Sets(arch)
		if err != nil {
			t.Error(err)
		}
		used[group] = append(used[group], sets...)
		for _, set := range sets {
			if !allows(group, set) {
				t.Errorf("%s has an instruction of %s, but %q needs only %v: a processor without it ends with SIGILL", name, set, group.Name, group.Needs)
			}
		}
	}
	for _, group := range kernels.All {
		if group.Arch != arch {
			continue
		}
		for _, routine := range group.Routines {
			if !found[group.Package+"."+routine] {
				t.Errorf("%s.%s of %q is not in the program", group.Package, routine, group.Name)
			}
		}
		for _, need := range group.Needs {
			if !slices.Contains(used[group], machinecode.InstructionSet(need)) {
				t.Errorf("%q needs %s, of which none of its routines has an instruction", group.Name, need)
			}
		}
	}
}

// othersNeed has the instruction sets that the assembly of other modules uses on amd64, and how that
// code checks for them. Go's own assembly asks internal/cpu.
var othersNeed = map[string]struct {
	sets []machinecode.InstructionSet
	asks string
}{
	"github.com/ebitengine/purego/internal/fakecgo":      {nil, "nothing beyond any processor"},
	"github.com/klauspost/compress/huff0":                {[]machinecode.InstructionSet{machinecode.BMI1, machinecode.BMI2}, "cpuinfo.HasBMI2 chooses; TZCNT stands in the other half as well, which older processors run as BSF: the same of numbers that are not 0, as these"},
	"github.com/klauspost/compress/internal/cpuinfo":     {nil, "CPUID"},
	"github.com/klauspost/compress/zstd":                 {[]machinecode.InstructionSet{machinecode.BMI1, machinecode.BMI2}, "cpuinfo.HasBMI2"},
	"github.com/klauspost/compress/zstd/internal/xxhash": {nil, "nothing beyond any processor"},
	"golang.org/x/sys/cpu":                               {[]machinecode.InstructionSet{machinecode.XSAVE}, "OSXSAVE of CPUID before XGETBV"},
	"golang.org/x/sys/unix":                              {nil, "nothing beyond any processor"},
}

// TestAssemblyOfOtherModulesIsKnown fails if the assembly of another module uses a set that is not in
// othersNeed. A new version of a module may bring new instructions, and then somebody has to read
// how it checks for them.
func TestAssemblyOfOtherModulesIsKnown(t *testing.T) {
	functions, arch := readAssembly(t)
	if arch != "amd64" {
		t.Skip("what other modules' assembly needs was looked at for amd64 alone, not for " + arch)
	}
	found := map[string][]machinecode.InstructionSet{}
	for _, f := range functions {
		host, _, below := strings.Cut(f.Name, "/")
		if !f.Assembly || !below || !strings.Contains(host, ".") || strings.HasPrefix(f.Name, ours) {
			continue // a package of Go or of this module
		}
		folder, name := path.Split(f.Name)
		name, _, _ = strings.Cut(name, ".")
		sets, err := f.Sets(arch)
		if err != nil {
			t.Error(err)
		}
		found[folder+name] = append(found[folder+name], sets...)
	}
	for name, sets := range found {
		slices.Sort(sets)
		sets = slices.Compact(sets)
		if known, ok := othersNeed[name]; !ok || !slices.Equal(sets, known.sets) {
			t.Errorf("the assembly of %s needs %v, looked at were %v (%t): see how it asks the processor, and write it to othersNeed", name, sets, known.sets, ok)
		}
	}
}

// fused are the functions that fuse a multiplication with an addition on purpose, with feed/wheel,
// because the compiler of Pillow's wheel for arm64 fused the same sum.
var fused = []string{
	"picture.(*mapping).sourceOf", "picture.(*mapping).walkExactly.func1", "picture.nearestPixel",
	"picture.(*mapping).findSpots", "picture.mixTwo", "picture.mixFour", "picture.cubic",
	"transform.hamming", "transform.magic2013", "transform.magic2021", "transform.keysCubic", "transform.(*weights).compute",
	"transform.(*ShadeResizer).setWeights", "transform.(*ShadeResizer).sumAcross", "transform.(*ShadeResizer).sumDown",
}

// TestNothingFuses reads the machine code of packages that compute pixels and choose samples. On
// arm64 the compiler may fuse a multiplication with an addition, and the result then differs from
// Pillow's. make cpus builds the program for arm64.
func TestNothingFuses(t *testing.T) {
	functions, arch := readAssembly(t)
	if arch != "arm64" {
		t.Skip("the compiler fuses nothing on " + arch)
	}
	looked := 0
	for _, f := range functions {
		for _, folder := range []string{"decode", "transform", "picture", "order"} {
			if !strings.HasPrefix(f.Name, ours+"feed/"+folder+".") {
				continue
			}
			if looked++; f.Fuses() && !slices.Contains(fused, strings.TrimPrefix(f.Name, ours+"feed/")) {
				t.Errorf("%s has a fused multiplication and addition: convert the product, float64(x*y)+z, or call feed/wheel if Pillow fuses", f.Name)
			}
		}
	}
	if looked < 100 {
		t.Errorf("%d functions of the feed were found: too few", looked)
	}
}

func readAssembly(t *testing.T) (functions []machinecode.Function, arch string) {
	t.Helper()
	program := *assembled
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	functions, arch, err := machinecode.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	return functions, arch
}

func groupOf(arch, name string) *kernels.Group {
	for _, group := range kernels.All {
		for _, routine := range group.Routines {
			if group.Arch == arch && group.Package+"."+routine == name {
				return group
			}
		}
	}
	return nil
}

// allows reports whether a processor on which a group runs has an instruction set.
func allows(group *kernels.Group, set machinecode.InstructionSet) bool {
	return slices.Contains(group.Needs, kernels.Feature(set)) ||
		set == machinecode.AVX && slices.Contains(group.Needs, kernels.AVX2)
}

// TestDoctorNamesKernels checks that `stoker doctor` prints the table of kernels.
func TestDoctorNamesKernels(t *testing.T) {
	group := func(name string, lacks ...string) report.KernelGroup {
		return report.KernelGroup{Name: name, Lacks: lacks, Runs: len(lacks) == 0}
	}
	for _, c := range []struct {
		groups []report.KernelGroup
		want   string
		seen   bool
	}{
		{nil, "there are none for " + runtime.GOARCH + ": plain Go makes the same bytes", false},
		{[]report.KernelGroup{group("a"), group("b")}, "this processor runs all of them: a, b", true},
		{[]report.KernelGroup{group("a", "AVX2"), group("b"), group("c", "AVX2", "FMA")}, "this processor lacks AVX2, FMA: plain Go makes the same bytes in a, c", false},
	} {
		if got := doctor.CheckKernels(c.groups); got.Text != c.want || got.Seen != c.seen || got.Needed {
			t.Errorf("%+v, expected %q, seen %t", got, c.want, c.seen)
		}
	}
	_, out, _ := call(t, "doctor", "--json")
	for _, name := range []string{kernels.Huffman, kernels.InverseDCT, kernels.Colour, kernels.Inflate, kernels.Unfilter, kernels.Resample, kernels.Normalize, kernels.NormalizeHalf} {
		want := 0
		for _, g := range kernels.All {
			if g.Name == name && g.Arch == runtime.GOARCH {
				want++
			}
		}
		if listed := strings.Count(out, `"name": "`+name+`"`); listed != want || want > 1 {
			t.Errorf("stoker doctor --json lists %q %d times, expected %d", name, listed, want)
		}
	}
}
