package replay

import (
	"github.com/stoker-dev/stoker/predict/bounds"

	"github.com/stoker-dev/stoker/recording"
)

// copying edits copies to the device.
func (p *play) copying(e Edit, v bounds.View) {
	if e.MergeCopies {
		p.mergeCopies(v)
	}
	if e.Batch > 0 {
		for i := range p.t.works {
			if p.t.works[i].down {
				p.length[i] = scaleTime(p.length[i], e.Batch)
			}
		}
	}
	if e.PinMemory {
		p.pinCopies(e, v)
	}
	if e.SideStream {
		p.moveAside(e)
	}
}

// pinCopies makes copies to the device as fast as page-locked memory allows. Where they
// do not block either, the thread continues at once.
func (p *play) pinCopies(e Edit, v bounds.View) {
	rate := p.t.pinnedRate()
	for i := range p.t.works {
		w := &p.t.works[i]
		bytes := float64(p.t.t.Device.Bytes[i])
		if w.down && !isPinned(p.t.t.Names[w.name]) && bytes > 0 && rate > 0 {
			if e.Batch > 0 {
				bytes *= e.Batch
			}
			p.length[i] = min(p.length[i], nanos(bytes/rate*v.PickCost(linkLoss)))
		}
	}
	if !e.NonBlocking {
		return
	}
	call := nanos(v.PickCost(asyncCall))
	for i := range p.t.items {
		it := &p.t.items[i]
		if it.kind == copyIn || p.t.endsCopyIn(it) {
			p.own[i], p.free[i] = min(p.own[i], call), true
		}
	}
	for i := range p.t.works { // staging is over with: the copy may start as soon as any other work
		if w := &p.t.works[i]; w.down && w.item >= 0 {
			p.flight[i] = min(p.flight[i], p.t.flight)
		}
	}
}

// moveAside puts copies to the device on a stream of their own. They wait for their call and for
// the copy before, and the work after them on their old stream waits for them. If batches are
// ready early, the copy is issued before the wait that ends the step before.
func (p *play) moveAside(e Edit) {
	t := p.t
	last := map[int32]int32{} // of each device the last copy moved
	ready := e.NoLoading || e.Workers > 0 || t.loadingShare() < leastStarved
	waits := t.lastWaits()
	p.early = recording.NoPlaces(len(t.works))
	after := recording.NoPlaces(len(t.works)) // on its stream
	for i := range t.works {
		if w := &t.works[i]; w.prev >= 0 {
			after[w.prev] = int32(i)
		}
	}
	for i := range t.works {
		w := &t.works[i]
		if !w.down || w.item < 0 || t.t.Device.Bytes[i] < tiny {
			continue
		}
		if next := after[i]; next >= 0 {
			p.prev[next] = p.prev[i]
			p.dep[next], p.depGap[next] = int32(i), min(p.gap[next], t.latest)
		}
		device := t.t.Device.Device[i]
		p.prev[i], p.gap[i], p.flight[i] = -1, t.latest, min(p.flight[i], t.flight)
		if before, known := last[device]; known {
			p.prev[i] = before
		}
		last[device] = int32(i)
		if s := w.step; ready && s > 0 && t.steps[s-1].process == t.steps[s].process && waits[s-1] >= 0 {
			p.early[i] = waits[s-1]
		}
	}
}

// lastWaits is, of each step, its last item that blocks on the device otherwise
// than for a copy to it; -1 none.
func (t *Trace) lastWaits() []int32 {
	of := recording.NoPlaces(len(t.steps))
	for i := range t.items {
		it := &t.items[i]
		if it.waitsForWork() && it.step >= 0 && it.kind != copyIn && !t.endsCopyIn(it) {
			of[it.step] = int32(i)
		}
	}
	return of
}

// mergeCopies makes one copy of the tiny ones that follow each other on a thread: the
// first carries all bytes, which cost next to nothing.
func (p *play) mergeCopies(v bounds.View) {
	t := p.t
	seen := map[[2]int32]bool{} // thread and step
	for i := range t.items {
		it := &t.items[i]
		small := it.kind == copyIn && it.work >= 0 && t.t.Device.Bytes[it.work] >= 0 && t.t.Device.Bytes[it.work] < tiny
		ofSmall := t.endsCopyIn(it) && t.items[it.prev].work >= 0 && p.length[t.items[it.prev].work] == 0
		key := [2]int32{it.thread, it.step}
		switch {
		case small && !seen[key]:
			seen[key] = true
		case small:
			p.own[i], p.free[i] = 0, true
			p.think[i] = scaleTime(max(0, p.think[i]-it.inOps), v.PickCost(mergedThink))
			p.length[it.work], p.gap[it.work], p.flight[it.work] = 0, 0, 0
		case ofSmall:
			p.own[i], p.free[i], p.think[i] = 0, true, 0
		}
	}
}

// tiny is the size below which a copy is all overhead. [J]
const tiny = 64 << 10
