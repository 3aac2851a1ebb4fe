package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/quantity"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// insideSteps is what the hook saw inside of the judged steps that it looked into, on the
// device's clock.
type insideSteps struct {
	recording.DeviceAsks
	span              float64 // of a step, seconds
	copying, exchange float64 // shares of it
	optimizer         float64 // as well
}

// sumInsides sums what was inside of a window's steps; false without samples, or if there
// is no device.
func sumInsides(w recording.Window) (in insideSteps, ok bool) {
	insides := w.Insides()
	if len(insides) == 0 || insides[0].Clock == recording.HostClock {
		return in, false
	}
	for _, i := range insides {
		in.span, in.exchange, in.optimizer = in.span+i.Span, in.exchange+i.Exchange, in.optimizer+i.Optimizer
	}
	in.DeviceAsks, in.copying = w.Asks(), w.Copying()
	in.exchange, in.optimizer = in.exchange/in.span, in.optimizer/in.span
	in.span /= float64(len(insides))
	return in, true
}

// fewLaunches is how many launches a step has at least where launching them can be its
// limit. [J]
const fewLaunches = 10

// Start values of work that is not launching, though a step launches often. [J] An operation of PyTorch takes the host
// 5 to 20 us.
const (
	slowLaunch     = 50e-6 // seconds from launch to launch, above which launching alone is not what takes them
	noLaunch       = 1e-3  // seconds from launch to launch, above which the host does something else
	besideLaunches = 2.0   // times as many looks at the program's own work as at launching it has at least
	leastBeside    = 0.1   // the share of the looks that find the thread at such work, at least
)

// noOwnWork are kinds of lines that call the device, wait for a batch, or save, which has its own row.
var noOwnWork = slices.Concat(diagnose.OfDevice, diagnose.OfLoader, []diagnose.Kind{diagnose.Saving})

// worksBesideLaunches reports whether the launching thread is seen at the program's own work much more than launching.
func (l filler) worksBesideLaunches() bool {
	own, launching := 0.0, 0.0
	for _, line := range l.LoopLines.Lines {
		awake := line.Seconds - line.Asleep
		switch {
		case line.Kind == diagnose.Launching:
			launching += awake
		case line.Own.File != "" && !slices.Contains(noOwnWork, line.Kind):
			own += awake
		}
	}
	return l.LoopLines.Looks >= fewLooks && own >= besideLaunches*launching && own >= leastBeside*l.LoopLines.Seconds
}

// fillParts are what the window went into as far as a live job tells it. That the launching
// thread is waiting for a core is a name, if it is known who has them.
func (l filler) fillParts() {
	if math.IsNaN(l.Idle) || l.LoaderIterated && !l.HasSteps {
		return
	}
	input := l.Stall
	if l.HasSteps && math.IsNaN(input) {
		input = l.MostStall()
	}
	stall := stat.Or(input, 0) // in a loop without a loader it cannot be told from other work of the host
	p := diagnose.Parts{Input: input, Copies: stat.Or(l.Shares.Copy, 0), Exchange: stat.Or(l.Parts.Exchange, 0)}
	in, ok := sumInsides(l.Costs.Window)
	if ok { // what the host does to have them copied is theirs, too
		p.Copies = max(p.Copies, min(in.copying, 1-l.Util))
	}
	rest := max(0, l.Idle+stat.Or(l.Shares.Copy, 0)-stall-p.Copies)
	p.Rare = min(l.Costs.RareShare(), rest)
	rest -= p.Rare
	if l.OthersTakeCores.Score > 0 || l.QuotaTakesCores.Score > 0 {
		p.Queued = min(stat.Or(l.measureLaunchQueue(), 0), rest)
		rest -= p.Queued
	}
	if ok {
		rest -= min(in.exchange, rest)
		// a collective that is waiting for other ranks is a kernel to GPU-Util: no part of what that calls idle
		p.Exchange = max(p.Exchange, min(in.exchange, 1-stall-p.Copies-p.Queued))
		if gap := rest * in.span / in.Launches; in.Launches >= fewLaunches && gap < noLaunch &&
			!(gap >= slowLaunch && l.worksBesideLaunches()) {
			if !l.drainsQueue(in) {
				p.Host, rest = rest, 0
			}
		} else if in.Launches > 0 {
			p.Long, rest = rest, 0
		}
	}
	// requests, a timer: the wait is for something outside
	if w := l.measureWhereabouts(); !l.HasSteps && w.Others < busyCores {
		rest -= min(rest, l.Idle*stat.Or(w.shareAway(l.Idle), 0))
	}
	p.Unnamed = rest
	l.Parts = p
	if ok {
		l.fillInside(in)
	}
}

// HeldMuch is the share of a step that waiting for the device takes, from which it is named where no rule decides. [J]
const HeldMuch = 0.3

// HeldSaves is the share of a step that the device idles with it at least. [J] A gain of a tenth: less is not advised.
const HeldSaves = 1.0 / 11

// drainsQueue reports whether many waits for the device in a step are why it idles: without them the host takes less
// time for a step than the device, and would launch ahead of it.
func (l filler) drainsQueue(in insideSteps) bool {
	return in.Syncs >= diagnose.ManySyncs && in.SyncTime >= HeldMuch*in.span &&
		l.Idle-stat.Or(l.Stall, 0) >= HeldSaves && in.span-in.SyncTime < l.Util*in.span
}

// fillInside takes what rules ask of the inside of steps.
func (l filler) fillInside(in insideSteps) {
	p := l.Parts
	l.DeviceWaitsForLaunch = diagnose.AskShare("Does the device wait for the next launch, in gaps below "+
		diagnose.LongGapText+"?", p.Host, diagnose.HostGaps, "").
		WithEvidence(in.Launches, "launches", "step.launches",
			"a step launches %.0f times, and the device waits %s before each: %s of the time",
			in.Launches, quantity.AboutSeconds(p.Host*in.span/in.Launches), quantity.Percent(p.Host))
	if math.IsNaN(in.Launches) {
		l.DeviceWaitsForLaunch = diagnose.Quantity{}
	}
	l.DeviceWaitsInLongGaps = diagnose.AskShare("Does the device wait for the host in gaps of "+diagnose.LongGapText+
		" and more?", p.Long, diagnose.HostGaps, "").
		WithEvidence(p.Long, "ratio", "step.launches",
			"the device waits for the host %s of the time, in gaps of %s in the mean: a step launches %.1f times",
			quantity.Percent(p.Long), quantity.AboutSeconds(p.Long*in.span/in.Launches), in.Launches)
	if l.CollectivesRunAlone.Score == 0 {
		l.CollectivesRunAlone = in.askExchange()
	}
	if l.OneRankLate.Score == 0 {
		l.OneRankLate = l.askOneRankLate()
	}
	l.Findings = append(l.Findings, l.findAsks(in)...)
}

// askExchange is whether the program's own collectives take time.
func (in insideSteps) askExchange() diagnose.Quantity {
	return diagnose.AskShare("Do collectives take time of their own?", in.exchange, diagnose.ExchangeAlone,
		"those that PyTorch starts within backward are not counted").
		WithEvidence(in.exchange, "ratio", "step.exchange",
			"the program's collectives take %s of a step (%s of %s), by the device's own clock",
			quantity.Percent(in.exchange), quantity.AboutSeconds(in.exchange*in.span), quantity.AboutSeconds(in.span))
}

// askMeasuredCopies is whether copies take a good part of the step, by the device's clock.
func (l filler) askMeasuredCopies(in insideSteps) diagnose.Quantity {
	q := diagnose.AskShare("Do copies to the device take a good part of the step?", in.copying, diagnose.CopyTime, "").
		WithEvidence(in.copying, "ratio", "step.copy",
			"copying to the device takes %s of a step (%s of %s), by the device's own clock",
			quantity.Percent(in.copying), quantity.AboutSeconds(in.copying*in.span), quantity.AboutSeconds(in.span)).
		WithEvidence(in.Copies, "copies", "step.copies", "a step asks for %s, %s in all",
			aboutCopies(in.Copies), quantity.AboutBytes(in.CopyBytes))
	q = l.addLinkRate(q)
	if in.Pageable > 0 {
		q = q.WithEvidence(in.Pageable, "bytes", "step.pageable",
			"%s of it from pageable memory: %s",
			quantity.Percent(in.Pageable/in.CopyBytes),
			l.Grounds.Staging("the CPU stages it, and the launching thread waits"))
	}
	return q
}

func aboutCopies(n float64) string {
	return quantity.About(n) + quantity.Ending(int(n+0.5), " copy", " copies")
}

func aboutTimes(n float64) string {
	return quantity.About(n) + quantity.Ending(int(n+0.5), " time", " times")
}

// findAsks are findings on what the program asks of the device within a step.
func (l filler) findAsks(in insideSteps) (out []diagnose.Finding) {
	p := l.Parts
	if p.Host >= diagnose.LaunchTrigger {
		f := diagnose.NewFinding(diagnose.FindingLaunchBound)
		f.Share, f.Saves = p.Host, p.Host
		f.Text = fmt.Sprintf("the device waits for the host to launch %s of the time: %.0f launches in a step of %s",
			quantity.Percent(p.Host), in.Launches, quantity.AboutSeconds(in.span))
		f.Settings = []stoker.Change{l.Grounds.LaunchChange()}
		f.Advice = l.Grounds.LaunchAdvice()
		if in.Syncs >= diagnose.ManySyncs { // each ends a compiled or captured graph
			f.Settings, f.Advice = nil, diagnose.LaunchAdvice
		}
		out = append(out, f)
	}
	idle := l.Idle - stat.Or(l.Stall, 0)
	switch {
	case l.Costs.Workers == 0 && l.Costs.Fed(): // the thread that waits loads next, and could do so meanwhile
		idle = l.Idle
	case l.WorkersPreparing() < diagnose.WorkersRest: // the batch was ready, and could be taken over meanwhile
		idle = l.Idle
	}
	held := in.SyncTime/in.span >= diagnose.HeldTrigger && idle >= diagnose.WaitTrigger
	optimizer, onCPU := l.findCPUOptimizer(in)
	if onCPU { // which reads gradients and no loss
		out = append(out, optimizer)
	}
	if launches, found := l.findOptimizerLaunches(in); found {
		out = append(out, launches)
	}
	made, makesTensors := l.findHostTensors(in)
	switch {
	case onCPU:
	case in.Syncs >= diagnose.ManySyncs && (held || idle >= diagnose.LaunchTrigger):
		f := diagnose.NewFinding(diagnose.FindingManyReads)
		f.Share, f.Saves = min(1, in.SyncTime/in.span), idle
		f.Text = fmt.Sprintf("a step waits for the device %s, each time for little (a value, synchronize()): after each "+
			"nothing is queued, and the device idles until the host has launched again", aboutTimes(in.Syncs))
		f.Advice = diagnose.ManyReadsAdvice
		out = append(out, f)
	case in.Syncs >= 1 && (held || idle >= diagnose.LaunchTrigger):
		f := diagnose.NewFinding(diagnose.FindingHiddenSync)
		held := min(1, in.SyncTime/in.span)
		f.Share, f.Saves = held, diagnose.LostToWaits(idle, held)
		f.Text = fmt.Sprintf("a step waits for the device %s (.item(), .cpu(), nonzero() and the like, or "+
			"synchronize()), %s of its time: after each nothing is queued, and the device idles until the host has "+
			"launched again: %s of the time at most",
			aboutTimes(in.Syncs), quantity.Percent(held), quantity.Percent(idle))
		if out := l.measureOutward(l.measureLink(recording.GPULinkIn)); !math.IsNaN(out) {
			f.Text += fmt.Sprintf(". PCIe carries %s/s from the device: more than single numbers are read",
				quantity.AboutBytes(out))
		}
		if !makesTensors { // whose copies wait for the device as well
			f.Settings = []stoker.Change{diagnose.ProposeChange(stoker.SyncEvery, 1, 50)}
		}
		f.Advice = l.Grounds.SyncAdvice()
		out = append(out, f)
	}
	tiny, small := l.findTinyCopies(in)
	if small {
		out = append(out, tiny)
	}
	switch {
	case makesTensors:
		out = append(out, made)
	case l.pins() && l.copiesResults(): // not from the host
	case in.Pageable > 0 && in.copying >= diagnose.SerialTrigger && (!small || !l.pins()): // not the small ones
		out = append(out, l.findPageableCopies(in))
	}
	return out
}

// findPageableCopies tells of copies from pageable memory.
func (l filler) findPageableCopies(in insideSteps) diagnose.Finding {
	f := diagnose.NewFinding(diagnose.FindingPageableCopies)
	f.Share, f.Saves = l.measureCopies(in), l.measureCopies(in)
	f.Text = fmt.Sprintf("a step copies %s from pageable memory, in %s: %s, and they take %s of the time",
		quantity.AboutBytes(in.Pageable), aboutCopies(in.Copies),
		l.Grounds.Staging("the CPU stages them, the launching thread waits"), quantity.Percent(f.Share))
	f.Settings = []stoker.Change{
		diagnose.ProposeChange(stoker.PinMemory, nil, true), diagnose.ProposeChange(stoker.NonBlocking, nil, true),
	}
	f.Advice = l.Grounds.PinAdvice()
	if d := l.judgedLoader(); l.copiesBeyondBatch(in) { // the loader's pin_memory is for its batch alone
		f.Text += fmt.Sprintf(". Its batch has %s of these", quantity.AboutBytes(d.BatchBytes))
		f.Settings, f.Advice = nil, diagnose.BeyondBatchAdvice
	}
	return f
}

// measureCopies is the share of the time in which the device copies: by its meter, of the whole run, which counts those
// alone that no kernel covers, or by the steps that were looked into.
func (l filler) measureCopies(in insideSteps) float64 {
	return max(in.copying, stat.Or(l.Shares.Copy, 0))
}

// findHostTensors tells of copies from pageable memory beside a batch that is pinned: the program makes these
// tensors in its step, on the CPU.
func (l filler) findHostTensors(in insideSteps) (diagnose.Finding, bool) {
	d := l.judgedLoader()
	if !l.pins() || l.copiesResults() || in.copying < diagnose.SerialTrigger || in.Pageable < d.BatchBytes ||
		in.Copies < float64(d.Tensors+manyBeside) && in.Pageable < beyondTypes*d.BatchBytes {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewFinding(diagnose.FindingHostTensors)
	f.Share = l.measureCopies(in)
	f.Saves = min(stat.Or(1-l.Util, 1), l.Idle+f.Share) // the device waits for the host as well, and kernels stay
	f.Text = fmt.Sprintf("a step copies %s from pageable memory, in %s, and its batch is pinned and has %s: the others "+
		"are made on the CPU in the step, or moved there and back. Copies take %s of the time", quantity.AboutBytes(in.Pageable), aboutCopies(in.Copies),
		quantity.AboutBytes(d.BatchBytes), quantity.Percent(f.Share))
	f.Advice = diagnose.TinyCopiesAdvice
	return f, true
}

// copiesBeyondBatch reports whether a step copies far more from pageable memory than its batch has.
func (l filler) copiesBeyondBatch(in insideSteps) bool {
	d := l.judgedLoader()
	return d != nil && d.Tensors > 0 && d.BatchBytes > 0 && in.Pageable >= beyondTypes*d.BatchBytes
}

// copiesResults reports whether most of the launching thread's time in copies is where the program works on what the
// device computed. A log that tells no direction counts such copies with those to the device.
func (l filler) copiesResults() bool {
	line, _ := diagnose.BusiestFunction(l.LoopLines.Lines, func(line diagnose.LoopLine) bool {
		return line.Kind == diagnose.Copying && line.Own.File != ""
	})
	return line.Own.File != "" && slices.Contains(diagnose.OfResults, kindOfNames([]recording.Place{line.Own}))
}

// pins reports whether the judged loader's batches are known to be tensors in page-locked memory.
func (l filler) pins() bool {
	d := l.judgedLoader()
	return d != nil && d.Pinned != nil && *d.Pinned && d.Tensors > 0
}

// manyBeside is how many copies a step has beside its batch, at least, for the program to make tensors in its
// step. [J]
const manyBeside = 4

// beyondTypes is how many times the bytes of a batch are copied from pageable memory, from which they are not those of
// its own values in another type. [J] Turned from uint8 into float64, they are eight times as many.
const beyondTypes = 8

// findTinyCopies tells of many small copies to the device. Those of the batch are known by its tensors and bytes,
// and are left out.
func (l filler) findTinyCopies(in insideSteps) (diagnose.Finding, bool) {
	more, bytes := in.Copies, in.CopyBytes
	if d := l.judgedLoader(); d != nil && d.Tensors > 0 && d.BatchBytes <= bytes {
		more, bytes = more-float64(d.Tensors), bytes-d.BatchBytes
	}
	if !(more >= diagnose.TinyPerStep) || !(bytes/more < diagnose.TinyCopy) {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingTinyCopies, fmt.Sprintf(
		"a step makes %s to the device beside its batch, of %s in the mean: each costs a call and a launch, not bytes",
		aboutCopies(more), quantity.AboutBytes(bytes/more)))
	f.Advice = diagnose.TinyCopiesAdvice
	f.Share, f.Saves = in.copying, in.copying // and those of the batch: a bound
	return f, true
}

// askOneRankLate is whether the other ranks wait for one in their collectives: its own wait is the shortest.
func (l filler) askOneRankLate() diagnose.Quantity {
	least, most, last := math.Inf(1), 0.0, recording.Window{}
	for _, k := range l.trainers {
		in, ok := sumInsides(k.Window)
		if !ok || len(l.trainers) < 2 {
			return diagnose.Quantity{}
		}
		if in.exchange < least {
			least, last = in.exchange, k.Window
		}
		most = max(most, in.exchange)
	}
	if most <= 0 {
		return diagnose.Quantity{}
	}
	l.RankLateBy = most - least
	return diagnose.AskShare("Do the other ranks wait for one?", l.RankLateBy, diagnose.RankLate, "").
		WithEvidence(l.RankLateBy, "ratio", "step.exchange",
			"%s comes last to collectives: it spends %s of its time in them, another rank %s", l.nameRank(last),
			quantity.Percent(least), quantity.Percent(most))
}

// nameRank names the rank of a window: by its number, or by its device where several have the same number, as
// processes that multiprocessing starts are told none.
func (l filler) nameRank(w recording.Window) string {
	same := 0
	for _, k := range l.trainers {
		if k.Window.Rank == w.Rank {
			same++
		}
	}
	if p := l.run.FindProcess(w.PID); same > 1 && p != nil && p.Device >= 0 {
		return fmt.Sprintf("the rank of GPU %d", p.Device)
	}
	return fmt.Sprintf("rank %d", w.Rank)
}
