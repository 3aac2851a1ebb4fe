package trace

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// What contradicts that files are ranks of one run. Those that do not tell their
// rank may be anything: two recordings of one process one after the other, or two
// programs.

// untoldApart is how far apart two files without a rank may lie, and those with one
// that have no step in common. Ranks of one run record the same steps, and machines
// that train together keep their clocks within seconds. [J]
const untoldApart = 10e9 // ns

// Two ranks of one run launch nearly the same kernels; stages of a pipeline have
// their matrix work in common. Of the kernels' names of both files together, this
// share is in both. [J]
const (
	otherProgram = 0.10 // below: another program
	doubtful     = 0.50 // below: said, and read
)

// alike refuses files that contradict the first clearly, and warns of those that may:
// of hundreds of ranks nobody waits for every pair.
func alike(parts []part) error {
	for i := 1; i < len(parts); i++ {
		if err := oneOfRanks(&parts[0], &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func oneOfRanks(a, b *part) error {
	told := a.told && b.told
	refuse := func(format string, args ...any) error {
		untold := "do not both tell their ranks, and "
		if told {
			untold = ""
		}
		return &MixedError{
			[]string{a.file, b.file},
			fmt.Sprintf("%s and %s %sare not two ranks of one run: ", a.file, b.file, untold) + fmt.Sprintf(format, args...),
			"give one of them, or the files of one run (their names may tell the ranks: rank0.json, rank1.json)",
		}
	}
	x, y := a.Facts.Software, b.Facts.Software
	late := a.Facts.Started != 0 && b.Facts.Started != 0 && apart(a, b) > untoldApart
	other := otherSteps(a.Steps, b.Steps)
	switch {
	case x.Torch != "" && y.Torch != "" && x.Torch != y.Torch:
		return refuse("one was recorded by PyTorch %s, the other by %s", x.Torch, y.Torch)
	case x.CUDA != "" && y.CUDA != "" && x.CUDA != y.CUDA:
		return refuse("one was recorded with CUDA %s, the other with %s", x.CUDA, y.CUDA)
	case x.CUDA != "" && y.ROCm != "" || x.ROCm != "" && y.CUDA != "":
		return refuse("one was recorded with CUDA, the other with ROCm")
	case late && (other || !told):
		return refuse("%.0f s pass between them", apart(a, b)/1e9)
	case other && !told:
		return refuse("their steps have other numbers (%s and %s)", numbers(a.Steps), numbers(b.Steps))
	case other:
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s and %s have no step in common (%s and %s).", filepath.Base(a.file), filepath.Base(b.file), numbers(a.Steps), numbers(b.Steps)))
	}
	if told {
		return nil // ranks may do different work
	}
	same, known := sameKernels(a, b)
	if known && same < otherProgram {
		return refuse("%.0f %% of their kernels' names are in both, so they are two programs", 100*same)
	}
	if known && same < doubtful {
		b.Warnings = append(b.Warnings, fmt.Sprintf("Only %.0f %% of the kernels' names of %s and %s are in both: they may not be two ranks of one run.",
			100*same, filepath.Base(a.file), filepath.Base(b.file)))
	}
	return nil
}

// otherSteps reports whether both files number their steps and have none in
// common.
func otherSteps(a, b []recording.Step) bool {
	seen := map[int]bool{}
	for _, s := range a {
		seen[s.N] = true
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(b, func(s recording.Step) bool { return seen[s.N] })
}

func numbers(steps []recording.Step) string {
	least, most := steps[0].N, steps[0].N
	for _, s := range steps {
		least, most = min(least, s.N), max(most, s.N)
	}
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// fewKernels is the number of kernels' names below which they tell nothing. [J]
const fewKernels = 3

// sameKernels is the share of the kernels' names of two files that are in both;
// false where one has too few of them.
func sameKernels(a, b *part) (share float64, known bool) {
	x, y := kernels(a.Timeline), kernels(b.Timeline)
	if len(x) < fewKernels || len(y) < fewKernels {
		return 0, false
	}
	both := 0
	for name := range x {
		if y[name] {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both), true
}

// kernels are the names of a file's kernels that are no collectives.
func kernels(t *recording.Timeline) map[string]bool {
	out := map[string]bool{}
	for i, kind := range t.Device.Kind {
		if kind == recording.Kernel {
			out[t.Names[t.Device.Name[i]]] = true
		}
	}
	return out
}
