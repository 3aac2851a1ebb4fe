package trace

import (
	"cmp"
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
	twoPrograms = 0.10 // below: another program
	doubtful    = 0.50 // below: said, and read
)

// checkOneRun refuses files that contradict the first clearly, and warns of those that
// may: with hundreds of ranks, comparing every pair would take too long.
func checkOneRun(parts []part) error {
	for i := 1; i < len(parts); i++ {
		first, other := &parts[0], &parts[i]
		if why := contradiction(first, other); why != "" {
			return notTwoRanks(first, other, why)
		}
		other.Warnings = append(other.Warnings, doubtsOfOneRun(first, other)...)
	}
	return nil
}

func notTwoRanks(a, b *part, why string) error {
	told := "do not both tell their ranks, and "
	if bothTold(a, b) {
		told = ""
	}
	return &mixedError{
		[]string{a.file, b.file},
		fmt.Sprintf("%s and %s %sare not two ranks of one run: %s", a.file, b.file, told, why),
		"give one of them, or the files of one run (their names may tell the ranks: rank0.json, rank1.json)",
	}
}

// bothTold reports whether both files tell their ranks. Such files may do different work.
func bothTold(a, b *part) bool { return a.told && b.told }

// contradiction is why two files are not ranks of one run; "" if nothing says so.
func contradiction(a, b *part) string {
	return cmp.Or(
		otherSoftware(a.Facts.Software, b.Facts.Software),
		otherTime(a, b),
		otherProgram(a, b),
	)
}

func otherSoftware(a, b recording.Software) string {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case differ(a.Torch, b.Torch):
		return fmt.Sprintf("one was recorded by PyTorch %s, the other by %s", a.Torch, b.Torch)
	case differ(a.CUDA, b.CUDA):
		return fmt.Sprintf("one was recorded with CUDA %s, the other with %s", a.CUDA, b.CUDA)
	case a.CUDA != "" && b.ROCm != "" || a.ROCm != "" && b.CUDA != "":
		return "one was recorded with CUDA, the other with ROCm"
	}
	return ""
}

// otherTime compares when two files were recorded: by their clocks, and by their steps.
func otherTime(a, b *part) string {
	late := a.Facts.Started != 0 && b.Facts.Started != 0 && timeApart(a, b) > untoldApart
	otherSteps := noCommonStep(a.Steps, b.Steps)
	switch {
	case late && (otherSteps || !bothTold(a, b)):
		return fmt.Sprintf("%.0f s pass between them", timeApart(a, b)/1e9)
	case otherSteps && !bothTold(a, b):
		return fmt.Sprintf("their steps have other numbers (%s and %s)", stepNumbers(a.Steps), stepNumbers(b.Steps))
	}
	return ""
}

func otherProgram(a, b *part) string {
	if share := sharedKernels(a, b); share < twoPrograms {
		return fmt.Sprintf("%.0f %% of their kernels' names are in both, so they are two programs", 100*share)
	}
	return ""
}

// doubtsOfOneRun are sentences on differences between two files that are read as ranks of
// one run.
func doubtsOfOneRun(a, b *part) (doubts []string) {
	one, other := filepath.Base(a.file), filepath.Base(b.file)
	if noCommonStep(a.Steps, b.Steps) {
		doubts = append(doubts, fmt.Sprintf("%s and %s have no step in common (%s and %s).",
			one, other, stepNumbers(a.Steps), stepNumbers(b.Steps)))
	}
	if share := sharedKernels(a, b); share < doubtful {
		doubts = append(doubts, fmt.Sprintf("Only %.0f %% of the kernels' names of %s and %s are in both: "+
			"they may not be two ranks of one run.", 100*share, one, other))
	}
	return doubts
}

// noCommonStep reports whether both files number their steps and have none in common.
func noCommonStep(a, b []recording.Step) bool {
	seen := map[int]bool{}
	for _, s := range a {
		seen[s.N] = true
	}
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(b, func(s recording.Step) bool { return seen[s.N] })
}

func stepNumbers(steps []recording.Step) string {
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

// sharedKernels is the share of the kernels' names of two files that are in both; all
// where both tell their ranks, or one has too few kernels to tell.
func sharedKernels(a, b *part) (share float64) {
	if bothTold(a, b) {
		return 1
	}
	x, y := kernelNames(a.Timeline), kernelNames(b.Timeline)
	if len(x) < fewKernels || len(y) < fewKernels {
		return 1
	}
	both := 0
	for name := range x {
		if y[name] {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both)
}

// kernelNames are the names of a file's kernels that are no collectives.
func kernelNames(t *recording.Timeline) map[string]bool {
	out := map[string]bool{}
	for i, kind := range t.Device.Kind {
		if kind == recording.Kernel {
			out[t.Names[t.Device.Name[i]]] = true
		}
	}
	return out
}
