package replay

import (
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// apply edits a play's times in one view.
func (p *play) apply(e Edit, v bounds.View) {
	p.editLoading(e, v)
	p.copying(e, v)
	if e.SyncEvery == Never {
		p.unwait()
	}
	p.editKernels(e, v)
	if e.Batch > 0 {
		p.growExchanges(e.Batch, v)
	}
	if e.Fused {
		p.fuseChains(e, v)
	}
	if e.Graphs {
		p.groupLaunches(e, v)
	}
	if e.NoAllocator {
		p.dropKind(allocate)
	}
	if e.NoCollector {
		p.dropKind(collect)
	}
	if e.Accumulate == Never {
		p.skipOptimizer(v)
	}
}

// dropKind takes the time of a kind of items away.
func (p *play) dropKind(k kind) {
	for i := range p.t.items {
		if p.t.items[i].kind == k {
			p.own[i], p.free[i] = 0, true
		}
	}
}

// editLoading edits where batches come from.
func (p *play) editLoading(e Edit, v bounds.View) {
	t := p.t
	grow := max(1, e.Batch)
	workers, several := t.loaderAfter(e)
	if workers == 0 && !e.NoLoading {
		p.arriving(grow, v)
		return
	}
	for i := range t.items {
		if t.items[i].kind != loading {
			continue
		}
		p.own[i] = 0
		if t.items[i].first {
			p.own[i] = nanos(min(v.PickCost(takeBatch), float64(t.items[i].end-t.items[i].start)/1e9))
		}
	}
	if e.NoLoading {
		return
	}
	ahead := e.Prefetch
	if ahead == 0 {
		ahead = defaultAhead
	}
	p.queue = loader{workers: workers, ahead: ahead, seconds: t.batchSeconds(e, v, workers, several)}
	p.queue.lead = scaleTime(int64(t.recordedStep()*(1-min(1, t.loadingShare()))), grow)
	if !several {
		p.slowBeside(v)
	}
}

// loaderAfter returns the number of workers after an edit, 0 if it stays as it was,
// and whether there were workers before.
func (t *Trace) loaderAfter(e Edit) (workers int, several bool) {
	several = t.Several()
	switch {
	case len(t.loads) == 0:
		return 0, several
	case e.Workers > 0:
		return e.Workers, several
	case e.Times > 0 && several:
		return e.Times * max(1, t.workers), several
	}
	return 0, several
}

// batchSeconds returns what one batch costs one worker.
//
// Without workers in the recording, that is the time that the loop spent in its loader, and the
// hand-over. With workers, it follows from a starved run: all workers together delivered one
// batch per step.
func (t *Trace) batchSeconds(e Edit, v bounds.View, workers int, several bool) func(int32) float64 {
	crowd := v.PickCost(predict.Crowding())
	scarce := t.scarce(e, v, workers)
	grow := max(1, e.Batch)
	if several {
		each := t.recordedStep() / 1e9 * float64(max(1, t.workers))
		if t.loadingShare() < leastStarved {
			each = 0
		}
		return func(int32) float64 { return each * grow * crowd * scarce }
	}
	extra := 0.0
	if bytes := t.batchBytes(); bytes > 0 && !t.emulated {
		extra = v.PickCost(predict.HandOver(bytes * grow))
	}
	return func(load int32) float64 {
		l := &t.loads[load]
		return (float64(l.end-l.start)/1e9*grow + extra) * crowd * scarce
	}
}

// scarce returns by which factor a batch takes a worker longer where workers and the
// launching thread share fewer cores than they are. A trace does not tell how much
// of a batch is waiting: the optimist takes all of it for that, the pessimist none.
func (t *Trace) scarce(e Edit, v bounds.View, workers int) float64 {
	cores := e.Cores
	if cores <= 0 {
		cores = t.cores
	}
	if cores <= 0 || v == bounds.Optimist {
		return 1
	}
	room := max(1, cores-[...]float64{0, 0, 1}[v])
	return max(1, float64(workers)/room)
}

// batchBytes returns what the judged steps copy to the device, in bytes per step.
func (t *Trace) batchBytes() float64 {
	sum := int64(0)
	for i := range t.works {
		if w := &t.works[i]; w.down && t.isJudged(w.step) {
			sum += max(0, t.t.Device.Bytes[i])
		}
	}
	return float64(sum) / float64(t.judged[1]-t.judged[0])
}

// slowBeside is what new workers do to the launching thread: it shares the machine
// with them, and the batch's pages are new to it.
func (p *play) slowBeside(v bounds.View) {
	crowd := max(1, v.PickCost(predict.Crowding()))
	for i := range p.t.items {
		if k := p.t.items[i].kind; k != loading && p.t.items[i].anchor >= 0 {
			p.think[i] = scaleTime(p.think[i], crowd)
		}
	}
	if p.t.emulated {
		return // its copies are arithmetic: they read no memory
	}
	for i := range p.t.works {
		if w := &p.t.works[i]; w.down && !isPinned(p.t.t.Names[w.name]) && p.t.t.Device.Bytes[i] >= tiny {
			p.length[i] = scaleTime(p.length[i], v.PickCost(sharedRate))
		}
	}
}

// unwait removes synchronisations for values and explicit ones; the copies stay.
func (p *play) unwait() {
	for i := range p.t.items {
		it := &p.t.items[i]
		if it.kind == copyOut || it.kind == wait && !p.t.endsCopyIn(it) {
			p.free[i] = true
			p.own[i] = min(p.own[i], nanos(asyncCall.Point))
		}
	}
}

// skipOptimizer removes the work of the optimizer and of the exchange of gradients. What remains
// is a step that only accumulates.
func (p *play) skipOptimizer(v bounds.View) {
	spans := p.t.optimizerSpans()
	for i := range p.t.items {
		it := &p.t.items[i]
		if covers(spans[p.t.processOf(it.thread)], it.start) {
			p.think[i], p.own[i], p.free[i] = 0, 0, true
		}
	}
	for i := range p.t.works {
		w := &p.t.works[i]
		if p.skipExchange(int32(i), v) || w.item >= 0 && covers(spans[p.t.processOf(p.t.items[w.item].thread)],
			p.t.items[w.item].start) {
			p.length[i], p.gap[i], p.flight[i] = 0, 0, 0
		}
	}
}
