package idle

import (
	"sort"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// lists holds, for each of a few groups, the indices of its members in order.
type lists struct {
	items []int32
	ends  []int32 // where each group's members end
}

// members are the members of a group.
func (l lists) members(group int32) []int32 {
	from := int32(0)
	if group > 0 {
		from = l.ends[group-1]
	}
	return l.items[from:l.ends[group]]
}

// groupBy sorts the indices of a column by its values, 0 to n-1, and keeps their
// order within each.
func groupBy(column []int32, n int) lists {
	l := lists{items: make([]int32, len(column)), ends: make([]int32, n)}
	next := make([]int32, n+1)
	for _, g := range column {
		next[g+1]++
	}
	for g := range n {
		next[g+1] += next[g]
		l.ends[g] = next[g+1]
	}
	for i, g := range column {
		l.items[next[g]] = int32(i)
		next[g]++
	}
	return l
}

func (a *Analysis) buildIndex() {
	t := a.t
	for kind := range a.rows {
		a.rows[kind] = make([]uint8, len(t.Names))
	}
	a.comm = make([]int8, len(t.Names))
	a.calls = groupBy(t.Host.Thread, len(t.Threads))
	a.frames = groupBy(t.Frames.Thread, len(t.Threads))
	a.works = groupBy(t.Device.Device, len(t.Devices))
	a.first = recording.NoPlaces(len(t.Host.Start))
	for i, call := range t.Device.Call {
		if call >= 0 && a.first[call] < 0 {
			a.first[call] = int32(i)
		}
	}
	a.launched = recording.NoPlaces(len(t.Threads))
	for call, work := range a.first {
		if work >= 0 {
			a.launched[t.Host.Thread[call]] = int32(call)
		}
	}
	a.findFirstOfName()
}

// findFirstOfName finds where each device meets a kernel for the first time: every process
// loads its modules without a call.
func (a *Analysis) findFirstOfName() {
	t := a.t
	a.opens = make([]bool, len(t.Device.Start))
	met := recording.NoPlaces(len(t.Names)) // the last device that ran a name
	for device := range int32(len(t.Devices)) {
		for _, i := range a.works.members(device) {
			if name := t.Device.Name[i]; met[name] != device {
				met[name], a.opens[i] = device, true
			}
		}
	}
}

// findProcesses lists the processes that threads belong to, and the span of
// their host events.
func (a *Analysis) findProcesses() {
	t := a.t
	known := map[[2]int]int32{}
	a.of = make([]int32, len(t.Threads))
	for i, thread := range t.Threads {
		key := [2]int{thread.PID, thread.Rank}
		p, found := known[key]
		if !found {
			p = int32(len(a.Processes))
			known[key] = p
			a.Processes = append(a.Processes,
				Process{PID: thread.PID, Rank: thread.Rank, Main: -1, Waits: -1, Start: t.End, End: t.Start})
		}
		a.of[i] = p
	}
	if len(t.Threads) == 0 && len(t.Devices) > 0 { // a device alone, whose steps are known all the same
		a.Processes = []Process{{
			PID: t.Devices[0].PID, Rank: t.Devices[0].Rank, Main: -1, Waits: -1, Start: t.End,
			End: t.Start,
		}}
	}
	process := make([]int32, len(t.Host.Start))
	for i := range t.Host.Start {
		process[i] = a.of[t.Host.Thread[i]]
		a.Processes[process[i]].spans(t.Host.Start[i], t.Host.End[i])
	}
	a.hosts = groupBy(process, len(a.Processes))
	for i := range t.Frames.Start {
		a.Processes[a.of[t.Frames.Thread[i]]].spans(t.Frames.Start[i], t.Frames.End[i])
	}
	a.findMains()
}

// callsOf are the host calls of a device's process, in order; all where it has none.
func (a *Analysis) callsOf(d *Device) []int32 {
	if d.Process >= 0 {
		return a.hosts.members(int32(d.Process))
	}
	if a.every == nil {
		a.every = groupBy(make([]int32, len(a.t.Host.Start)), 1).members(0)
	}
	return a.every
}

// callsBetween are those of them that start from one instant on until another.
func (a *Analysis) callsBetween(d *Device, from, to int64) []int32 {
	calls, start := a.callsOf(d), a.t.Host.Start
	first := sort.Search(len(calls), func(i int) bool { return start[calls[i]] >= from })
	last := sort.Search(len(calls), func(i int) bool { return start[calls[i]] >= to })
	return calls[first:max(first, last)]
}

func (p *Process) spans(start, end int64) { p.Start, p.End = min(p.Start, start), max(p.End, end) }

// ownerOf is the process that launches most of a device's work; without links the
// one with its PID and rank, else the only one.
func (a *Analysis) ownerOf(device int32) int {
	counts := make([]int, len(a.Processes))
	best := -1
	for _, w := range a.works.members(device) {
		if call := a.t.Device.Call[w]; call >= 0 {
			p := int(a.of[a.t.Host.Thread[call]])
			counts[p]++
			if best < 0 || counts[p] > counts[best] {
				best = p
			}
		}
	}
	if best >= 0 {
		return best
	}
	d := a.t.Devices[device]
	for i, p := range a.Processes {
		if p.PID == d.PID && p.Rank == d.Rank {
			return i
		}
	}
	if len(a.Processes) == 1 {
		return 0
	}
	return -1
}

// findMains names the thread in which each process's training loop runs: the one
// with marks of steps, optimizers and loaders; else the one with Python frames;
// else the one with most operators.
func (a *Analysis) findMains() {
	t := a.t
	weight := make([]int, len(t.Threads))
	waits := make([]int, len(t.Threads))
	marks := make([]int8, len(t.Names)) // 1 plain, 2 a mark of the loop, 3 a wait for tf.data
	for i, kind := range t.Host.Kind {
		if kind != recording.Op && kind != recording.Annotation {
			continue
		}
		name := t.Host.Name[i]
		if marks[name] == 0 {
			marks[name] = 1
			if text := t.Names[name]; isStep(text) || recording.LoaderSpan(text) || recording.OptimizerSpan(text) {
				marks[name] = 2
				if recording.TFDataWait(text) {
					marks[name] = 3
				}
			}
		}
		if marks[name] == 3 {
			waits[t.Host.Thread[i]]++
			continue
		}
		weight[t.Host.Thread[i]]++
		if marks[name] == 2 {
			weight[t.Host.Thread[i]] += len(t.Host.Start) + len(t.Frames.Start)
		}
	}
	for thread := range t.Threads {
		weight[thread] += len(a.frames.members(int32(thread)))
		p := &a.Processes[a.of[thread]]
		if weight[thread] > 0 && (p.Main < 0 || weight[thread] > weight[p.Main]) {
			p.Main = int32(thread)
		}
	}
	for thread, n := range waits {
		p := &a.Processes[a.of[thread]]
		if n > 0 && p.Main != int32(thread) && (p.Waits < 0 || n > waits[p.Waits]) {
			p.Waits = int32(thread)
		}
	}
}

func lowered(s string) string { return strings.ToLower(s) }
