package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// Findings of a trace. Each says what was seen with numbers, where to look, and
// the exact setting. The triggers are those of the published procedure where no
// other source stands beside them: shares of the judged window.
const (
	loaderTrigger  = 0.03
	hostTrigger    = 0.10
	waitTrigger    = 0.01 // idle time after a wait
	heldTrigger    = 0.05 // [J] the host held by waits, whatever follows
	allocTrigger   = 0.01
	collectTrigger = 0.01
	queuedTrigger  = 0.05 // [J] queued work that waits
)

// What to do about findings that a trace and a live run share.
const (
	launchAdvice = `torch.compile(model, mode="reduce-overhead"), which captures CUDA graphs; or a larger batch_size, so that each launch has more work`
	syncAdvice   = "no .item(), .cpu(), .tolist(), print(loss) or tensor in an if within the step: keep loss.detach() on the device and read it every 50 steps; copy with non_blocking=True into pinned memory"
	pinAdvice    = "DataLoader(..., pin_memory=True), or tensor.pin_memory(), and batch.to(device, non_blocking=True)"
)

// finding is one of which nothing but the name is known.
func finding(name string) Finding {
	return Finding{Name: name, Seconds: math.NaN(), Share: math.NaN(), Saves: math.NaN()}
}

// said is one of which there is nothing but a text.
func said(name, text string) Finding {
	f := finding(name)
	f.Text = text
	return f
}

// findings are those of a trace, what can save most first.
func (t *traced) findings() []Finding {
	if t.d.StartUp || t.d.Apart != "" || t.d.Works < fewWorks {
		return nil
	}
	var out []Finding
	for _, find := range []func() (Finding, bool){
		t.loaderWait, t.hostWork, t.launching, t.hiddenSync, t.explicitSync, t.allocating, t.collecting, t.deviceWaits,
		t.pageableCopies, t.serialCopies, t.tinyCopies, t.linkLimited, t.deviceCopies,
		t.elementwiseChains, t.noTensorCores, t.smallGrids, t.unalignedShapes,
		t.exposedCommunication, t.probableCommunication,
	} {
		if f, ok := find(); ok {
			out = append(out, f)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return t.order(out[i]) > t.order(out[j]) })
	return out
}

// order is what findings go by: what they can save. Where input is short, what the host
// does between launches shows because nothing is queued: it comes after.
func (t *traced) order(f Finding) float64 {
	if f.Name == "launch-bound" || f.Name == "host-work" {
		return stat.Or(f.Saves, 0) * besideInput(t.parts.Input)
	}
	return stat.Or(f.Saves, 0)
}

// steps is how many steps are judged, at least one.
func (t *traced) steps() float64 { return math.Max(1, float64(len(t.d.Steps))) }

func (t *traced) causeShare(causes ...idle.Cause) (ns int64, share float64) {
	for _, c := range causes {
		ns += t.d.Causes[c]
	}
	return ns, t.d.Share(ns)
}

func change(name stoker.Setting, from, to any) stoker.Change {
	return stoker.Change{Setting: name, From: from, To: to}
}

// atPlace fills in the gap with most of a cause.
func (t *traced) atPlace(f *Finding, cause idle.Cause) { t.atGap(f, t.d.Places[cause]) }

func (t *traced) atGap(f *Finding, p idle.Place) {
	if p.Time == 0 {
		return
	}
	t.at(f, p.Slice.Thread, p.Slice.From, p.Slice.To)
	f.From, f.To = seconds(p.From), seconds(p.To)
	if p.Slice.Next >= 0 {
		f.Kernel = t.t.Names[t.t.Device.Name[p.Slice.Next]]
	}
}

func (t *traced) loaderWait() (Finding, bool) {
	ns, share := t.causeShare(idle.DataLoader)
	if share < loaderTrigger {
		return Finding{}, false
	}
	f := finding("data-loader-wait")
	t.worth(&f, ns)
	t.atPlace(&f, idle.DataLoader)
	where, _ := t.mostly(func(s idle.Slice) bool { return s.Cause == idle.DataLoader })
	f.Text = fmt.Sprintf("the device waits for the loader %s of the window, %s per step", stoker.Percent(share), stoker.AboutSeconds(seconds(ns)/t.steps())) + where
	if t.itself < 0.5 {
		t.moreWorkers(&f, share)
		return f, true
	}
	n := 4 // PyTorch's own tutorials begin with it; the steps did not tell better
	if step := t.costs.Step * (1 - share); t.hasSteps && t.costs.Wait > 0 && step > 0 {
		n = max(1, int(math.Ceil(t.costs.Wait/step)))
		f.Text += fmt.Sprintf(" (a batch takes %s, the rest of the step %s)", stoker.AboutSeconds(t.costs.Wait), stoker.AboutSeconds(step))
	}
	f.Settings = []stoker.Change{change(stoker.NumWorkers, t.workersNow(), n), change(stoker.PersistentWorkers, nil, true), change(stoker.PinMemory, nil, true)}
	f.Advice = fmt.Sprintf("DataLoader(..., num_workers=%d, persistent_workers=True, pin_memory=True)", n)
	return f, true
}

// workersNow is how many workers there are; nil where a trace does not tell.
func (t *traced) workersNow() any {
	single, several := t.iterators()
	switch {
	case !t.costs.Uncounted:
		return t.costs.Workers
	case single && !several:
		return 0
	}
	return nil
}

// mostTimes bounds how many times as many workers are advised at once. [J]
const mostTimes = 8

// moreWorkers advises for worker processes that are too slow. Where steps follow
// each other as fast as batches come, so many times the workers as the step would
// be shorter without the wait are enough, if cores are free.
func (t *traced) moreWorkers(f *Finding, share float64) {
	times := min(mostTimes, 1/max(1e-9, 1-share))
	now, known := t.workersNow().(int)
	if !known {
		now = 1 // the least that a multi-process iterator has
	}
	n := max(now+1, int(math.Ceil(float64(now)*times)))
	f.Settings = []stoker.Change{change(stoker.NumWorkers, t.workersNow(), n)}
	f.Advice = fmt.Sprintf("%.1f times as many workers (num_workers), %d at least, while cores are free; cheaper decoding where none are; prefetch_factor=4 where single batches take long", times, n)
}

// worst is the host's cause with the worst gap.
func worst(places *[idle.Causes]idle.Place) idle.Cause {
	most := idle.Python
	for _, cause := range []idle.Cause{idle.CPUOp, idle.Unrecorded, idle.Launch, idle.GC, idle.Allocator, idle.WarmUp} {
		if places[cause].Time > places[most].Time {
			most = cause
		}
	}
	return most
}

// hostTrigger's smaller brother: long stretches are few and easy to move. [J] As
// for the loader.
const stretchTrigger = 0.03

func (t *traced) hostWork() (Finding, bool) {
	share := t.d.Share(t.d.LongWork)
	if share < stretchTrigger {
		return Finding{}, false
	}
	f := finding("host-work")
	t.worth(&f, t.d.LongWork)
	cause := idle.Python
	for _, c := range []idle.Cause{idle.CPUOp, idle.Unrecorded} {
		if t.d.Places[c].Time > t.d.Places[cause].Time {
			cause = c
		}
	}
	place := t.d.Places[cause]
	t.atPlace(&f, cause)
	f.Text = fmt.Sprintf("the device waits %s of the window in gaps of %s and more in which the launching thread does other work; the longest lasts %s", stoker.Percent(share), longGapText, stoker.AboutSeconds(seconds(place.To-place.From)))
	if t.isFirst(place) {
		f.Text += ", before the first kernel"
	}
	text, function := t.mostly(idle.Slice.LongWork)
	f.Text += text
	f.Advice = hostAdvice(function, len(t.t.Frames.Start) > 0)
	return f, true
}

// What functions are about, by parts of their names in lower case.
var (
	preparing = []string{
		"preprocess", "read_", "load", "decod", "resize", "transform(", "transforms/", "collat", "tokeniz", "image_processing", "feature_extraction",
		"pil/", "cv2", "scipy", "librosa", "soundfile", "torchvision", "zoom", "augment", "__getitem__", "numpy", "pandas", "normalize", "crop", "next_batch", "get_batch",
	}
	telling = []string{"tensorboard", "wandb", "logging", "logger", "print", "tqdm", "mlflow", "json/", "save"}
)

// hostAdvice is what to do about work of the launching thread, by the function that takes
// most of it; "" where nothing was recorded of it.
func hostAdvice(function string, stacks bool) string {
	lower := strings.ToLower(function)
	has := func(parts []string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(lower, part) })
	}
	switch {
	case has(telling):
		return "log, print and save every so many steps, or in another thread"
	case has(preparing):
		return "prepare inputs one step ahead, while the device computes: in the workers of a DataLoader, or in a thread with a queue of a few batches"
	case function == "" && !stacks:
		return "nothing of it was recorded: with_stack=True tells the line. Input that is prepared in the loop belongs one step ahead; logging and saving into another thread"
	}
	return "do it less often, on the device, or in another thread while the device computes"
}

// isFirst reports whether a gap lies before all kernels of the window.
func (t *traced) isFirst(p idle.Place) bool {
	if p.Slice.Next < 0 {
		return false
	}
	w := &t.t.Device
	for i := range p.Slice.Next {
		if w.Kind[i] == recording.Kernel && w.Device[i] == t.d.Index && w.End[i] > t.d.From {
			return false
		}
	}
	return true
}

func (t *traced) launching() (Finding, bool) {
	late := t.parts.Host
	if late < hostTrigger || t.kernels.Count == 0 || seconds(t.kernels.Median) >= shortKernel && late < 2*hostTrigger {
		return Finding{}, false
	}
	f := finding("launch-bound")
	t.worth(&f, int64(late*float64(t.d.Window())))
	t.atGap(&f, t.d.Short[worst(&t.d.Short)])
	f.Text = fmt.Sprintf("the device waits for the host to launch %s of the window: %.0f kernels and copies per step, kernels of %s in the median, while an operator with its launch takes the host longer",
		stoker.Percent(late), float64(t.d.Works)/t.steps(), stoker.AboutSeconds(seconds(t.kernels.Median)))
	f.Settings = []stoker.Change{change(stoker.Compile, nil, "reduce-overhead")}
	f.Advice = launchAdvice
	return f, true
}

func (t *traced) hiddenSync() (Finding, bool) {
	return t.syncs("hidden-sync", t.waits.Hidden.Count, t.waits.Hidden.Time, t.waits.Hidden.Most)
}

func (t *traced) explicitSync() (Finding, bool) {
	return t.syncs("explicit-sync", t.waits.Explicit.Count, t.waits.Explicit.Time, t.waits.Explicit.Most)
}

// syncs: waiting while the device works costs nothing in itself; the idle time
// that follows does.
func (t *traced) syncs(name string, count int, held int64, most idle.Wait) (Finding, bool) {
	after := t.d.AfterSync[0]
	if name == "explicit-sync" {
		after = t.d.AfterSync[1]
	}
	if count == 0 || t.d.Share(held) < heldTrigger && t.d.Share(after) < waitTrigger {
		return Finding{}, false
	}
	h := &t.t.Host
	f := finding(name)
	t.at(&f, h.Thread[most.Call], h.Start[most.Call], h.End[most.Call])
	t.worth(&f, after)
	call := t.t.Names[h.Name[most.Call]]
	under := ""
	if most.Op >= 0 {
		under = " under " + t.t.Names[h.Name[most.Op]]
	}
	longest, them := fmt.Sprintf("the longest %s ", stoker.AboutSeconds(seconds(most.To-most.From))), "them"
	if count == 1 {
		longest, them = "", "it"
	}
	f.Text = fmt.Sprintf("%d wait%s for the device hold%s the host %s (%s of the window), %sin %s%s; %s of idle time follow %s",
		count, stoker.Ending(count, "", "s"), stoker.Ending(count, "s", ""), stoker.AboutSeconds(seconds(held)), stoker.Percent(t.d.Share(held)), longest, call, under, stoker.AboutSeconds(seconds(after)), them)
	if t.d.Share(after) < waitTrigger {
		f.Text += ": it costs little here, but it stops the host from running ahead"
	}
	if name == "hidden-sync" {
		f.Advice = syncAdvice
	} else {
		f.Advice = "take torch.cuda.synchronize() (or the library's call) out of the step; to time a step, use CUDA events and read them later"
	}
	return f, true
}

func (t *traced) allocating() (Finding, bool) {
	ns, share := t.causeShare(idle.Allocator)
	if share < allocTrigger {
		return Finding{}, false
	}
	f := finding("allocator")
	t.worth(&f, ns)
	t.atPlace(&f, idle.Allocator)
	f.Text = fmt.Sprintf("the device waits %s of the window while memory is allocated or freed in the midst of steps: the caching allocator runs out of fitting blocks", stoker.Percent(share))
	if made, freed, all := t.allocations(); all {
		f.Text = fmt.Sprintf("the device waits %s of the window while memory is allocated or freed: the same %d allocations and %d frees in every step, so nothing is kept from one step to the next",
			stoker.Percent(share), made, freed)
		f.Advice = "unset PYTORCH_NO_CUDA_MEMORY_CACHING, and no torch.cuda.empty_cache() within the loop: the caching allocator is off or emptied in every step. This is not fragmentation, and expandable segments do not help"
		return f, true
	}
	f.Settings = []stoker.Change{change(stoker.Allocator, nil, "expandable_segments:True")}
	f.Advice = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and no torch.cuda.empty_cache() within the loop"
	return f, true
}

// Where the cache is off, a step allocates for many tensors, and most tensors are made by
// a kernel. [J]
const (
	leastMade = 20 // allocations of a step
	everyWork = 8  // pieces of work per allocation, at most
)

// allocations are how often device memory is allocated and freed in a step, and
// whether that is the same in all of them and as often as tensors are made: fragments
// fill up now and then, a cache that is off misses always.
func (t *traced) allocations() (made, freed int, everyStep bool) {
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

func (t *traced) collecting() (Finding, bool) {
	ns, share := t.causeShare(idle.GC)
	if share < collectTrigger {
		return Finding{}, false
	}
	f := finding("garbage-collection")
	t.worth(&f, ns)
	t.atPlace(&f, idle.GC)
	f.Text = fmt.Sprintf("the device waits %s of the window while Python collects garbage", stoker.Percent(share))
	f.Settings = []stoker.Change{change(stoker.ManualGC, nil, 100)}
	f.Advice = "gc.collect(); gc.freeze() before the loop, gc.disable() in it and gc.collect() every 100 steps: on all ranks in the same step"
	return f, true
}

func (t *traced) deviceWaits() (Finding, bool) {
	ns, share := t.causeShare(idle.DeviceWait)
	if share < queuedTrigger {
		return Finding{}, false
	}
	f := finding("device-wait")
	t.worth(&f, ns)
	t.atPlace(&f, idle.DeviceWait)
	f.Text = fmt.Sprintf("work that is already queued waits %s of the window for another stream, an event, another device, or work from before the recording", stoker.Percent(share))
	f.Advice = "look for cudaStreamWaitEvent and record_stream() before the place; work that needs no order belongs on streams without events between them"
	return f, true
}
