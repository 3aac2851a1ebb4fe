package live

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// Start values of growth. [J] Caches fill and stop; growth over a minute in each
// third of the window by about as much does not.
const (
	growthSpan  = 60.0
	growthLeast = 256e6 // bytes
	growthLasts = 24 * 3600.0
)

// findMemoryGrowth tells of memory that grows all the time, and when it will be used up.
func (l filler) findMemoryGrowth() (diagnose.Finding, bool) {
	rate := measureGrowth(l.run.Find(recording.TreeMemory, "tree").Between(l.From, l.To))
	left := l.run.Find(recording.MachineMemory, "machine").Between(l.From, l.To)
	if !(rate > 0) || len(left.V) == 0 {
		return diagnose.Finding{}, false
	}
	lasts := left.Last() / rate
	if lasts > growthLasts {
		return diagnose.Finding{}, false
	}
	who := "the launching process, mostly"
	if trainer := measureGrowth(l.run.Find(recording.ProcessMemory,
		fmt.Sprintf("process/%d", l.Costs.Window.PID)).Between(l.From, l.To)); !(trainer >= rate/2) {
		who = "the worker processes, mostly: Python objects in a data set (lists, dictionaries) are copied when " +
			"they are read, NumPy arrays and Arrow tables are not"
	}
	f := diagnose.NewTextFinding(diagnose.FindingMemoryGrowth,
		fmt.Sprintf("the job's memory keeps growing, by %s an hour (%s): at this rate the %s that are left are "+
			"used up in %s",
			quantity.AboutBytes(rate*3600), who, quantity.AboutBytes(left.Last()), quantity.AboutSeconds(lasts)))
	f.From, f.To = l.From, l.To
	return f, true
}

// measureGrowth is the rate of a gauge that grows in each third of its span by about as much;
// NaN for all else.
func measureGrowth(s recording.Series) float64 {
	n := len(s.V)
	if n < diagnose.GrowthReadings || s.T[n-1]-s.T[0] < growthSpan || s.V[n-1]-s.V[0] < growthLeast {
		return math.NaN()
	}
	var rates []float64
	for i := range 3 {
		from, to := i*(n-1)/3, (i+1)*(n-1)/3
		rates = append(rates, (s.V[to]-s.V[from])/(s.T[to]-s.T[from]))
	}
	if least := slices.Min(rates); least < diagnose.SteadyGrowth*stat.Mean(rates) {
		return math.NaN()
	}
	return rates[2] // the present
}

// findShortMemory tells of tasks that wait for memory. Loading is mostly waiting for something else
// then, so that memory is not the class.
func (l filler) findShortMemory() (diagnose.Finding, bool) {
	if !l.MemoryShort.IsLikely() || l.LoadingWaitsForStorage.IsLikely() || len(l.MemoryShort.Evidence) == 0 {
		return diagnose.Finding{}, false
	}
	var why []string
	for _, e := range l.MemoryShort.Evidence {
		why = append(why, e.Text)
	}
	return diagnose.NewTextFinding(diagnose.FindingMemoryPressure, strings.Join(why, ", ")+
		". If the job's control group has no measure of its own, this is the machine's"), true
}

// oftenAsked is the number of requests for memory in a step from which they are named. [J] PyTorch keeps freed memory,
// so that steps like those before need none. cudaMalloc takes 10 to 100 us and more, cudaFree awaits the
// device.
const oftenAsked = 1.0

// findDriverMemory tells of steps in which PyTorch gets device memory of the driver.
func (l filler) findDriverMemory() (diagnose.Finding, bool) {
	p := l.run.FindProcess(l.Costs.Window.PID)
	if p == nil || !l.HasSteps {
		return diagnose.Finding{}, false
	}
	asked := l.run.Find(recording.DriverMemory, fmt.Sprintf("gpu/%d", p.Device))
	each := asked.Rate(l.From, l.To) * l.Costs.Step
	if !(each >= oftenAsked) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingAllocator)
	f.Text = fmt.Sprintf("PyTorch asks the driver for device memory %s in a step: it gives memory back in between, by "+
		"empty_cache() or as none of its free blocks fits", aboutTimes(each))
	f.Advice = diagnose.EmptyCache.Advice()
	return f, true
}

// Start values for copies of a data set. [J]
const (
	copiedLeast = 256e6 // private bytes of a worker
	copiedPart  = 0.25  // of what the trainer holds, libraries included
)

// findCopiedDataset tells of workers each of which has about as much private memory as the
// process that they were forked from: the data set is there once per worker.
func (l filler) findCopiedDataset() (diagnose.Finding, bool) {
	var own []float64
	for _, p := range l.run.Workers(l.Costs.Window.PID) {
		if v := l.run.Find(recording.ProcessPrivate, fmt.Sprintf("process/%d", p.PID)).Between(l.From,
			l.To); len(v.V) > 0 {
			own = append(own, v.Last())
		}
	}
	trainer := l.run.Find(recording.ProcessMemory, fmt.Sprintf("process/%d", l.Costs.Window.PID)).Mean(l.From, l.To)
	each := stat.Median(own)
	if len(own) < 2 || math.IsNaN(each) || each < copiedLeast || each < copiedPart*trainer {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingCopiedDataset,
		fmt.Sprintf("each of %d workers holds %s of memory that no other process shares, and the launching "+
			"process has %s: the data set is there once per worker, %s in all. Keep it in a memory map, a NumPy "+
			"array or an Arrow table, and open it in the workers",
			l.Costs.Workers, quantity.AboutBytes(each), quantity.AboutBytes(trainer),
			quantity.AboutBytes(each*float64(l.Costs.Workers))))
	return f, true
}
