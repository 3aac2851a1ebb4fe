package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// sameEpoch is the greatest ratio of two epochs of the same work. [J] It allows for incomplete
// batches dropped at the end of an epoch if batch size or number of workers changed.
const sameEpoch = 1.01

// epochsVary is the ratio between passes of one run from which the length of an epoch counts as
// unknown. [J]
const epochsVary = 1.05

// measureEpoch returns the epoch of the judged loader.
func (s observed) measureEpoch() (e Epoch) {
	if l := s.judgedLoader(); l.FindSplit() != recording.UnknownSplit {
		times := l.Repeats()
		e.Repeats = &times
	}
	var steps, samples []float64
	for _, p := range s.listPasses() {
		steps, samples = append(steps, p.steps), append(samples, p.samples)
	}
	e.Steps, e.Samples = settledLength(steps), settledLength(samples)
	if e.Samples != nil && e.Repeats != nil {
		distinct := *e.Samples / float64(*e.Repeats)
		e.Distinct = &distinct
	}
	return e
}

// settledLength returns the median of lengths that hardly vary; nil if they do.
func settledLength(lengths []float64) *float64 {
	if len(lengths) == 0 || !(slices.Min(lengths) > 0) || slices.Max(lengths)/slices.Min(lengths) > epochsVary {
		return nil
	}
	return stat.Known(stat.Median(lengths))
}

// passLength is the length of a pass; samples is NaN if they were not counted.
type passLength struct{ steps, samples float64 }

// listPasses returns the complete passes of the judged loader: those with a first step followed
// by the first step of the next pass.
func (s observed) listPasses() (all []passLength) {
	first, counted, sum := recording.Step{N: -1}, 0.0, 0.0
	for _, step := range s.run.Steps {
		if step.PID != s.window.PID || step.Loader != s.window.Loader {
			continue
		}
		if step.First {
			if n := float64(step.N - first.N); first.N >= 0 && n > 0 && step.Pass == first.Pass+1 && counted > 0 {
				all = append(all, passLength{n, sum / counted * n}) // a long run does not keep every step
			}
			first, counted, sum = step, 0, 0
		}
		counted, sum = counted+1, sum+step.Samples
	}
	return all
}

// compareEpochs describes the facts by which an epoch after the change is other work than one
// before; "" if none shows it. It is called before any times are compared.
func compareEpochs(was, now observed, a, b Epoch) string {
	if why := differInSamples(a, b, was.samples() == now.samples()); why != "" {
		return why + explainGrowth(was, now, a, b)
	}
	if a.Repeats != nil && b.Repeats != nil && *a.Repeats != *b.Repeats {
		return fmt.Sprintf("in an epoch each sample comes %s before and %s after%s", sayTimes(*a.Repeats),
			sayTimes(*b.Repeats), explainGrowth(was, now, a, b))
	}
	return ""
}

// differInSamples compares the samples of two epochs or, if they were not counted, the steps of
// epochs with the same batch size. It returns "" if they agree.
func differInSamples(a, b Epoch, sameBatch bool) string {
	differs := func(x, y *float64) bool { return x != nil && y != nil && ratio(*x, *y) > sameEpoch }
	switch {
	case differs(a.Samples, b.Samples):
		return fmt.Sprintf("an epoch has %s samples before and %s after", quantity.About(*a.Samples),
			quantity.About(*b.Samples))
	case (a.Samples == nil || b.Samples == nil) && sameBatch && differs(a.Steps, b.Steps):
		return fmt.Sprintf("an epoch has %s steps before and %s after", quantity.About(*a.Steps),
			quantity.About(*b.Steps))
	}
	return ""
}

// noteEpochs states the difference in samples between two epochs that count as the same work;
// "" if they agree or samples were not counted.
func noteEpochs(a, b Epoch) string {
	if a.Samples == nil || b.Samples == nil || math.Abs(*a.Samples-*b.Samples) < 1 {
		return ""
	}
	return fmt.Sprintf("an epoch has %.0f samples before and %.0f after: batches that are left out at its end, if no "+
		"more", *a.Samples, *b.Samples)
}

// explainGrowth says why an epoch grew or shrank, if the number of workers is the reason.
func explainGrowth(was, now observed, a, b Epoch) string {
	if reads := sayReads(now, b, "reads"); reads != "" && (a.Repeats == nil || *a.Repeats < *b.Repeats) {
		return ": " + reads
	}
	if reads := sayReads(was, a, "read"); reads != "" && (b.Repeats == nil || *b.Repeats < *a.Repeats) {
		return ": before, " + reads
	}
	grew, workers := growthOf(a, b), workersOf(now)/workersOf(was)
	if workers > 1 && math.Abs(grew/workers-1) < sameEpoch-1 {
		return ": it grew by the number of workers, so each of them seems to read all of it"
	}
	return ""
}

// sayReads says that each worker reads all of the data; "" if that is not known.
func sayReads(s observed, e Epoch, verb string) string {
	if e.Repeats == nil || *e.Repeats < 2 {
		return ""
	}
	return fmt.Sprintf("each of the %d workers %s all of the data set %s", *e.Repeats, verb, s.judgedLoader().Dataset)
}

// growthOf returns the factor by which an epoch grew; NaN if unknown.
func growthOf(a, b Epoch) float64 {
	if a.Samples != nil && b.Samples != nil {
		return *b.Samples / *a.Samples
	}
	return stat.Value(b.Steps) / stat.Value(a.Steps)
}

// workersOf returns the number of processes that read the data set.
func workersOf(s observed) float64 {
	n, _ := s.judgedLoader().Settings.Int(stoker.NumWorkers)
	return float64(max(1, n))
}

// sayTimes formats a count: "once", "3 times".
func sayTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
