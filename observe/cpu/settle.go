//go:build linux

package cpu

// growing is a counter of a process that also takes over the counters of the
// children that it reaps, as /proc/PID/io does. total is its own part.
type growing struct {
	now     float64 // as the kernel tells it
	foreign float64 // of it, taken over from children that we saw before
	owes    float64 // of children that are gone and that it does not hold yet
	highest float64
}

// total returns the process's own part and never falls.
func (g *growing) total() float64 {
	g.highest = max(g.highest, g.now-g.foreign)
	return g.highest
}

// keepCoreTime keeps the core time of dead processes. When a process is reaped, the kernel adds
// its time and that of its descendants to its parent's reaped time:
//
//	before:  parent own 5, reaped 0    child own 3
//	after:   parent own 5, reaped 3    (gone)
//
// A parent is read before its children, so no time is read twice. A child's time may be missing
// from the parent's reaped time at one look; then it comes at the next, and the parent owes it
// until then. If it does not come, the parent died or ignores its children, and the time is kept
// in settled. So the sum over the tree never falls, and nothing counts twice.
func (t *table) keepCoreTime(before map[int]process) {
	dead := map[*process]process{} // by heir, the sums
	for _, p := range t.gone {
		heir := t.heir(p, before)
		if heir == nil {
			t.settled += p.core()
			t.leftBy(p, before)
			continue
		}
		sum := dead[heir]
		sum.own += p.core()
		sum.read.now += p.read.now
		sum.disk.now += p.disk.now
		dead[heir] = sum
	}
	for pid, p := range t.live {
		was, sum := before[pid], dead[p]
		grown := p.reaped - was.reaped
		t.settled += max(0, p.owes-grown)
		p.owes = max(0, sum.own-max(0, grown-p.owes))
		p.read.takeOver(was.read, sum.read.now)
		p.disk.takeOver(was.disk, sum.disk.now)
	}
	t.closeRoot()
	sum := t.settled
	for _, p := range t.live {
		sum += p.core()
	}
	t.total = max(t.total, sum)
}

// core returns the core time of a process and of the children that it reaped.
func (p *process) core() float64 { return p.own + p.reaped + p.owes }

// leftBy records what the root, and the processes that ended with it, had used when they were
// last seen.
func (t *table) leftBy(dead *process, before map[int]process) {
	for at, known := dead.pid, true; known; {
		if at == t.root {
			t.rootLast += dead.core()
			return
		}
		var p process
		p, known = before[at]
		at = p.parent
	}
}

// closeRoot adds what the root and the processes that it reaped used after they were last seen.
// It waits until the root's end was reported and noticed.
func (t *table) closeRoot() {
	if t.rootCPU > 0 && t.live[t.root] == nil {
		t.settled += max(0, t.rootCPU-t.rootLast)
		t.rootCPU = 0
	}
}

// heir returns the nearest living ancestor that was known before.
func (t *table) heir(dead *process, before map[int]process) *process {
	parent := dead.parent
	for range len(before) + 1 {
		was, known := before[parent]
		if !known {
			return nil
		}
		if p := t.live[parent]; p != nil && p.start == was.start {
			return p
		}
		parent = was.parent
	}
	return nil
}

// takeOver marks time that a process inherited from dead children as not its own. It does so at
// the look at which the counter grew, and never for more than the growth.
func (g *growing) takeOver(was growing, dead float64) {
	grown := max(0, g.now-was.now)
	late := min(grown, g.owes)
	early := min(grown-late, dead)
	g.foreign += late + early
	g.owes = dead - early
}
