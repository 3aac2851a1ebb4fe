//go:build linux

package cpu

// growing is a counter of a process that also takes over the counters of the
// children it waits for, as /proc/PID/io does. total is its own part.
type growing struct {
	now     float64 // as the kernel tells it
	foreign float64 // of it, taken over from children that we saw before
	highest float64
}

// total is the process's own part and never falls.
func (g *growing) total() float64 {
	g.highest = max(g.highest, g.now-g.foreign)
	return g.highest
}

// settle keeps the core time of the dead. When a process is waited for, the
// kernel adds its time and that of its descendants to its parent's reaped time:
//
//	before:  parent own 5, reaped 0    child own 3
//	after:   parent own 5, reaped 3    (gone)
//
// What the nearest living ancestor's reaped time did not grow by, though its
// descendants disappeared, went to a parent that died or ignores its children,
// and is kept in settled. So the sum over the tree never falls and nothing
// counts twice.
func (t *table) settle(before map[int]process) {
	owed := map[*process]float64{}
	for _, dead := range t.gone {
		heir := t.heir(dead, before)
		if heir == nil {
			t.settled += dead.own + dead.reaped
			continue
		}
		owed[heir] += dead.own + dead.reaped
		was := before[heir.pid]
		takeOver(&heir.read, was.read, dead.read)
		takeOver(&heir.disk, was.disk, dead.disk)
	}
	for heir, sum := range owed {
		grown := heir.reaped - before[heir.pid].reaped
		t.settled += max(0, sum-grown)
	}
	sum := t.settled
	for _, p := range t.live {
		sum += p.own + p.reaped
	}
	t.total = max(t.total, sum)
}

// heir is the nearest living ancestor that was known before.
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

// takeOver marks what a process inherited from a dead child as not its own, but
// never more than the counter grew by.
func takeOver(heir *growing, was, dead growing) {
	grown := heir.now - was.now - (heir.foreign - was.foreign)
	heir.foreign += max(0, min(dead.now, grown))
}
