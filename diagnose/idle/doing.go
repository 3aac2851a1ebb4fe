package idle

import "iter"

// Doing is what the main thread of a device's process did between two instants,
// by the same table as the gaps but whether or not the device was idle. Where
// nothing is recorded of it, as during a backward pass without stacks, that of
// its process's next busiest thread counts. None where no process is known.
func (a *Analysis) Doing(d *Device, from, to int64) iter.Seq[Slice] {
	return func(yield func(Slice) bool) {
		if d.Process < 0 || a.Processes[d.Process].Main < 0 {
			return
		}
		main := a.Processes[d.Process].Main
		s := &gapSweep{
			a: a, d: d, from: from, to: to, yield: yield, main: a.second(d.Process),
			cursors: make([]*cursor, len(a.t.Threads)),
			prev:    -1, next: -1, gap: [2]int64{from, to}, busy: true,
		}
		s.cut(main, from, to)
		s.flush()
	}
}

// second is the busiest thread of a process after its main one, by calls; -1
// without one.
func (a *Analysis) second(process int) int32 {
	best, most := int32(-1), 0
	for thread := range a.t.Threads {
		n := len(a.calls.members(int32(thread)))
		if a.of[thread] == int32(process) && int32(thread) != a.Processes[process].Main && n > most {
			best, most = int32(thread), n
		}
	}
	return best
}
