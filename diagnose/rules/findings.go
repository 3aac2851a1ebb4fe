package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// fullMemory is torch-tb-profiler's threshold for peak memory.
const fullMemory = 0.90

// FindBeside finds the findings that are shown with the class, of a live run and of a trace.
func FindBeside(c *diagnose.Case, class diagnose.Class) []diagnose.Finding {
	var out []diagnose.Finding
	if c.Ending.Failed() && class != diagnose.NotTraining { // whose evidence says it first
		text := "the command ended with " + c.Ending.String()
		if do := c.Ending.MemoryAdvice(); do != "" {
			text += ": " + do
		}
		out = append(out, diagnose.NewTextFinding(diagnose.FindingFailed, text))
	}
	if f, ok := memoryFull(c, class); ok {
		out = append(out, f)
	}
	if f, ok := inputWait(c, class); ok {
		out = append(out, f)
	}
	if f, ok := slowTransform(c, class); ok {
		out = append(out, f)
	}
	if f, ok := unevenBatch(c, class); ok {
		out = append(out, f)
	}
	if c.HasSteps && c.Costs.HelpersSpin() {
		out = append(out, diagnose.NewTextFinding(diagnose.FindingIntraOpThreads, fmt.Sprintf(
			"the launching thread's intra-op threads spin for each other on cores that they do not get (%s of "+
				"fetching is waiting for a core): loading costs far more than it must. Worker processes run with "+
				"one thread each. "+diagnose.OneThreadOfTrainer+" helps at once",
			quantity.Percent(c.Costs.FetchQueue/c.Costs.Fetch))))
	}
	if c.HasSteps {
		w := c.Costs.Window
		first := 0.0
		for _, s := range slices.Concat(w.Steps, w.Turns) {
			if s.First {
				first += s.Wait
			}
		}
		if share := first / (w.End - w.Start); share >= diagnose.EpochStarts && c.Costs.Workers > 0 {
			out = append(out, diagnose.NewTextFinding(diagnose.FindingEpochBoundary,
				fmt.Sprintf("%s of the time passes while an epoch's first batch is awaited: workers start and fill "+
					"the queue anew", quantity.Percent(share))))
		}
	}
	if c.RankComparison != "" {
		out = append(out, diagnose.NewTextFinding(diagnose.FindingRanks, c.RankComparison))
	}
	return out
}

// memoryFull warns of a figure that people take for proof of work.
func memoryFull(c *diagnose.Case, class diagnose.Class) (diagnose.Finding, bool) {
	if !class.Starves() && !(c.Idle > diagnose.MuchIdle) {
		return diagnose.Finding{}, false
	}
	for _, used := range c.DeviceMemoryUsed {
		if used > fullMemory {
			return diagnose.NewTextFinding(diagnose.FindingFullMemory, fmt.Sprintf(
				"device memory is %s full while the device is idle %s of the time: a full memory says "+
					"nothing about work",
				quantity.Percent(used), quantity.Percent(c.Idle))), true
		}
	}
	return diagnose.Finding{}, false
}

// Start values of batches that do not fill tiles.
const (
	tileRows  = 8    // published: the least multiple that NVIDIA's guide of Tensor Cores asks for, with 16 bits
	leastFill = 1.02 // what a full tile brings at least, to be told. [J]
)

// unevenBatch tells of batches that are no multiple of a tile's rows, if the device is the limit.
func unevenBatch(c *diagnose.Case, class diagnose.Class) (diagnose.Finding, bool) {
	l, chip := c.Grounds.Loader, c.Grounds.Chip
	if l == nil || !class.Is(diagnose.GPUBound) || chip.Major < diagnose.TensorCores || !math.IsNaN(c.WorksRecorded) {
		return diagnose.Finding{}, false
	}
	size, known := l.Settings.Float(stoker.BatchSize)
	full := math.Ceil(size/tileRows) * tileRows
	if !known || size < tileRows || full/size < leastFill {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingUnalignedShapes)
	f.Source = l.Call
	f.Text = fmt.Sprintf("a batch has %s samples, no multiple of %d. In 16 bits, for a linear layer of one row a sample, "+
		"Tensor Cores compute %.0f rows in the same time: at most %s as many samples a second",
		quantity.About(size), tileRows, full, quantity.AboutRatio(full/size))
	f.Advice = fmt.Sprintf("batch_size=%.0f, or a multiple of 64 if memory allows. The learning rate follows", full)
	return f, true
}

// slowTransform names the line in which most of a fetch goes, and the gain of
// taking it away, by the law without its cost.
func slowTransform(c *diagnose.Case, class diagnose.Class) (diagnose.Finding, bool) {
	waits := class.Starves() || c.Stall >= leastWait || class == diagnose.ComputeOnCPU &&
		c.Costs.Wait/c.Costs.HostStep >= leastWait
	if !waits || len(c.Lines) == 0 || !(c.Lines[0].Share.Low >= diagnose.SlowLine) {
		return diagnose.Finding{}, false
	}
	line := c.Lines[0]
	f := diagnose.NewFinding(diagnose.SlowTransform)
	f.Source, f.Advice = line.Where().String(), line.Kind.Advice()
	f.Text = fmt.Sprintf("%s of preparing a batch (%s) goes into %s: %s",
		diagnose.WholePercent(line.Share.Point), diagnose.WholePercent(line.Share.Low)+" to "+
			diagnose.WholePercent(line.Share.High), line, line.Kind.Words())
	if gain := line.Without; gain.Speedup.Known() {
		f.Text += fmt.Sprintf(". If that took no time, a step would take %s: %s",
			quantity.AboutSeconds(gain.Step.Point), quantity.Factor(gain.Speedup))
	}
	f.Saves = 1 - 1/line.Without.Speedup.Point
	return f, true
}
