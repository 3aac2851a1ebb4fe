package traced

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

func (t *filler) findAllocating() (diagnose.Finding, bool) {
	ns, share := t.shareOfCauses(idle.Allocator)
	if place := t.d.Places[idle.Allocator]; share < allocTrigger ||
		t.countSteps() == 1 && t.isFirst(place) && 2*place.Time > ns { // before a program's first kernel, once
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingAllocator)
	t.weigh(&f, ns)
	t.locateCause(&f, idle.Allocator)
	midst := ""
	if !t.unmarked {
		midst = " in the midst of steps"
	}
	f.Text = fmt.Sprintf("the device waits %s of the window while memory is allocated or freed%s",
		quantity.Percent(share), midst)
	made, freed := t.countPairs()
	if t.grounds.Framework == "" && made > 0 && !slices.ContainsFunc(t.t.Names, recording.TorchSign) {
		f.Text += fmt.Sprintf(": %d allocations and %d frees, no pool keeps what is freed", made, freed)
		f.Advice = "take memory from a pool: rmm.reinitialize(pool_allocator=True) with RMM and cuDF, cudaMallocAsync in CUDA"
		return f, true
	}
	if t.grounds.Framework == "" {
		f.Text += ": the caching allocator runs out of fitting blocks"
	}
	if made, freed, all := t.countAllocations(); all {
		f.Text = fmt.Sprintf("the device waits %s of the window while memory is allocated or freed: the same "+
			"%d allocations and %d frees in every step, so nothing is kept from one step to the next",
			quantity.Percent(share), made, freed)
		f.Advice = "unset PYTORCH_NO_CUDA_MEMORY_CACHING, and no torch.cuda.empty_cache() within the loop: the " +
			"caching allocator is off or emptied in every step. This is not fragmentation, and expandable segments " +
			"do not help"
		return f, true
	}
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.Allocator, nil, "expandable_segments:True")}
	f.Advice = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and no torch.cuda.empty_cache() within the loop"
	return f, true
}

// Where the cache is off, a step allocates for many tensors, and most tensors are made by
// a kernel. [J]
const (
	leastMade = 20 // allocations of a step, or of a window
	everyWork = 8  // pieces of work per allocation, at most
)

// countAllocations are how often device memory is allocated and freed in a step, and
// whether that is the same in all of them and as often as tensors are made: fragments
// fill up now and then, a cache that is off misses always.
func (t *filler) countAllocations() (made, freed int, everyStep bool) {
	steps := t.d.Steps
	counts := make([][2]int, len(steps))
	h := &t.t.Host
	for i, name := range h.Name {
		n := sort.Search(len(steps), func(n int) bool { return steps[n].HostTo > h.Start[i] })
		if h.Kind[i] != recording.Runtime || n == len(steps) || h.Start[i] < steps[n].HostFrom {
			continue
		}
		switch t.t.Names[name] {
		case "cudaMalloc", "hipMalloc", "cuMemAlloc_v2", "cuMemAlloc":
			counts[n][0]++
		case "cudaFree", "hipFree", "cuMemFree_v2", "cuMemFree":
			counts[n][1]++
		}
	}
	if len(counts) < 2 {
		return 0, 0, false
	}
	for n := range counts {
		if counts[n] != counts[0] || counts[n][0] < leastMade || everyWork*counts[n][0] < steps[n].Works {
			return 0, 0, false
		}
	}
	return counts[0][0], counts[0][1], counts[0][1] > 0
}

// inPairs is the share of a window's allocations that are freed within it, from which no allocator keeps memory. [J]
const inPairs = 0.8

// countPairs are the allocations and frees of device memory in the window, if they come in pairs; else none.
func (t *filler) countPairs() (made, freed int) {
	h := &t.t.Host
	for i, name := range h.Name {
		if h.Kind[i] != recording.Runtime || h.Start[i] < t.d.From || h.Start[i] >= t.d.To {
			continue
		}
		call, _, _ := strings.Cut(t.t.Names[name], "_v")
		switch call {
		case "cudaMalloc", "hipMalloc", "cuMemAlloc":
			made++
		case "cudaFree", "hipFree", "cuMemFree":
			freed++
		}
	}
	if made < leastMade || float64(min(made, freed)) < inPairs*float64(max(made, freed)) {
		return 0, 0
	}
	return made, freed
}

func (t *filler) findCollecting() (diagnose.Finding, bool) {
	ns, share := t.shareOfCauses(idle.GC)
	if share < collectTrigger {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingGarbageCollection)
	t.weigh(&f, ns)
	t.locateCause(&f, idle.GC)
	f.Text = fmt.Sprintf("the device waits %s of the window while Python collects garbage", quantity.Percent(share))
	f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.ManualGC, nil, 100)}
	f.Advice = "gc.collect(); gc.freeze() before the loop, gc.disable() in it and gc.collect() every 100 steps: on " +
		"all ranks in the same step"
	return f, true
}
