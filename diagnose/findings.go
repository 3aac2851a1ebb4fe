package diagnose

import (
	"fmt"
	"math"
	"sort"

	"stoker"
	"stoker/diagnose/idle"
	"stoker/internal/stat"
	"stoker/recording"
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
	if t.d.StartUp || t.d.Works < fewWorks {
		return nil
	}
	var out []Finding
	for _, find := range []func() (Finding, bool){
		t.loaderWait, t.hostWork, t.launching, t.hiddenSync, t.explicitSync, t.allocating, t.collecting, t.deviceWaits,
		t.pageableCopies, t.serialCopies, t.tinyCopies, t.linkLimited,
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
func (t *traced) atPlace(f *Finding, cause idle.Cause) {
	p := t.d.Places[cause]
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
	f.Text = fmt.Sprintf("the device waits for the loader %s of the window, %s per step", stoker.Percent(share), stoker.AboutSeconds(seconds(ns)/t.steps()))
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
func (t *traced) worst() idle.Cause {
	most := idle.Python
	for _, cause := range []idle.Cause{idle.CPUOp, idle.Unrecorded, idle.Launch, idle.GC, idle.Allocator, idle.WarmUp} {
		if t.d.Places[cause].Time > t.d.Places[most].Time {
			most = cause
		}
	}
	return most
}

// hostTrigger's smaller brother: long stretches are few and easy to move. [J] As
// for the loader.
const stretchTrigger = 0.03

func (t *traced) hostWork() (Finding, bool) {
	if t.parts.Long < stretchTrigger {
		return Finding{}, false
	}
	f := finding("host-work")
	t.worth(&f, t.d.Long)
	cause := t.worst()
	if cause == idle.GC || cause == idle.Allocator {
		return Finding{}, false // they have findings of their own
	}
	place := t.d.Places[cause]
	t.atPlace(&f, cause)
	f.Text = fmt.Sprintf("the device waits %s of the window in gaps of %s and more in which the launching thread does other work; the longest lasts %s", stoker.Percent(t.parts.Long), longGapText, stoker.AboutSeconds(seconds(place.To-place.From)))
	if name := t.all.Name(place.Slice); name >= 0 {
		f.Text += ", mostly in " + quoted(t.t.Names[name])
	}
	if t.isFirst(place) {
		f.Text += ", before the first kernel"
	}
	f.Advice = "prepare inputs in the workers of a DataLoader, one step ahead; log, evaluate and save every so many steps, or in another thread"
	return f, true
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
	t.atPlace(&f, t.worst())
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
		f.Text += ": it costs little here, but the host cannot run ahead"
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
	f.Settings = []stoker.Change{change(stoker.Allocator, nil, "expandable_segments:True")}
	f.Advice = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and no torch.cuda.empty_cache() within the loop"
	return f, true
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
	f.Text = fmt.Sprintf("work that is queued already waits %s of the window for another stream, an event, another device, or work from before the recording", stoker.Percent(share))
	f.Advice = "look for cudaStreamWaitEvent and record_stream() before the place; work that needs no order belongs on streams without events between them"
	return f, true
}
