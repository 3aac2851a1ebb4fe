package replay

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// New makes a run's recording ready to be played. The second result says why it
// cannot be, "" if it can.
func New(run *recording.Run, marks Marks) (*Trace, string) {
	t := &Trace{
		run: run, t: run.Timeline, marks: marks, machine: measure.MachineOf(run), cores: run.Facts.Machine.Cores(),
		emulated: run.Emulated(), workers: -1,
		likely: map[Edit]outcome{}, floors: map[Edit]Floor{}, late: math.NaN(),
	}
	switch {
	case t.t == nil:
		return nil, "no profiler's file: there is no timeline to replay"
	case len(t.t.Device.Start) == 0:
		return nil, "no work of a device was recorded: there is nothing to replay"
	}
	for _, p := range run.Facts.Processes {
		t.world = max(t.world, p.World)
	}
	for i := range run.Facts.Loaders {
		if n, known := run.Facts.Loaders[i].Settings.Int(stoker.NumWorkers); known {
			t.workers = n
		}
	}
	t.findSteps(run.Steps)
	t.cutShort()
	t.findItems()
	t.findWorks()
	t.findWaits()
	t.anchors()
	t.meetings()
	t.arrange()
	t.chooseJudged()
	if t.judged[1] <= t.judged[0] {
		return nil, "no step launched work: there is nothing to measure a change by"
	}
	t.findSupply()
	t.findOpenings()
	return t, ""
}

// IsOf reports whether a replay is of a run as it is.
func (t *Trace) IsOf(run *recording.Run) bool { return t.run == run && t.t == run.Timeline }

// Mark says what kernels do, before the first change is asked for.
func (t *Trace) Mark(marks Marks) { t.marks = marks }

// findSteps takes the run's steps in order of time, and of overlapping ones of one
// process the first.
func (t *Trace) findSteps(all []recording.Step) {
	owner := map[[2]int]int32{}
	t.processes = make([]int32, len(t.t.Threads))
	for i := range t.t.Threads {
		th := t.t.Threads[i]
		if _, known := owner[[2]int{th.PID, th.Rank}]; !known {
			owner[[2]int{th.PID, th.Rank}] = int32(i)
		}
		t.processes[i] = owner[[2]int{th.PID, th.Rank}]
	}
	last := map[int32]int64{}
	for _, s := range all {
		from := int64(math.Round(1e9 * s.Start))
		to := from + int64(math.Round(1e9*s.Period))
		process, known := owner[[2]int{s.PID, s.Rank}]
		if before, seen := last[process]; !known || to <= from || seen && from < before-1 {
			continue
		}
		last[process] = to
		t.steps = append(t.steps, step{from: from, to: to, process: process, phase: s.Phase})
	}
	slices.SortStableFunc(t.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.from, b.from))
	})
}

// Limits on how much of a long trace is replayed. It ends when there are enough steps and calls:
// 300 steps show no more than 30.
const (
	enoughSteps = 32
	enoughCalls = 500_000
)

// cutShort settles how much of the timeline is replayed.
func (t *Trace) cutShort() {
	h, d := &t.t.Host, &t.t.Device
	t.calls, t.count = len(h.Start), len(d.Start)
	t.seen = len(t.steps)
	if len(h.Start) <= enoughCalls {
		return
	}
	cut, n, process := h.Start[enoughCalls], 0, int32(-1)
	for _, s := range t.steps {
		if s.process != process {
			process, n = s.process, 0
		}
		if n++; n == enoughSteps+2 {
			cut = max(cut, s.from)
		}
	}
	t.calls = sort.Search(len(h.Start), func(i int) bool { return h.Start[i] >= cut })
	t.count = sort.Search(len(d.Start), func(i int) bool { return d.Start[i] >= cut })
	t.steps = slices.DeleteFunc(t.steps, func(s step) bool { return s.from >= cut })
}

// stepAt returns the step of a process at an instant, -1 between steps.
func (t *Trace) stepAt(process int32, at int64) int32 {
	i := sort.Search(len(t.steps), func(i int) bool {
		s := &t.steps[i]
		return s.process > process || s.process == process && s.from > at
	}) - 1
	if i < 0 || t.steps[i].process != process || at >= t.steps[i].to {
		return -1
	}
	return int32(i)
}

// thread is what findItems knows of a thread so far.
type thread struct {
	last    int32 // its last item, -1 none
	busy    int64 // end of the last item: what begins before is inside it
	load    int32 // the open wait for a batch, -1 none
	piece   int64 // where its next piece begins
	process int32
}

// findItems cuts the threads' recorded calls into items.
func (t *Trace) findItems() {
	h := &t.t.Host
	starts := t.starters()
	kinds := make([]int16, len(t.t.Names)) // of a runtime call's name, plus one
	threads := make([]thread, len(t.t.Threads))
	for i := range threads {
		threads[i] = thread{last: -1, load: -1, busy: math.MinInt64, process: t.processOf(int32(i))}
	}
	for call := range int32(t.calls) {
		th := &threads[h.Thread[call]]
		name := h.Name[call]
		if kinds[name] == 0 {
			kinds[name] = 1 + int16(kindOf(t.t.Names[name]))
			if recording.LoaderSpan(t.t.Names[name]) {
				kinds[name] = 1 + int16(loading)
			}
		}
		k := kind(kinds[name] - 1)
		switch {
		case k == loading:
			t.openLoad(th, call)
		case h.Kind[call] == recording.Collector:
			t.addItem(th, call, collect, -1)
		case h.Kind[call] == recording.Runtime && (k != other || starts[call] >= 0 || eventCall(t.t.Names[name])):
			t.addItem(th, call, k, starts[call])
		}
	}
	for i := range threads {
		t.closeLoad(&threads[i], int32(i), math.MaxInt64)
	}
	t.sortItems()
}

func eventCall(name string) bool { return recordsEvent(name) || waitsEvent(name) }

// starters are, of each host call, the first work that it launched.
func (t *Trace) starters() []int32 {
	first := recording.NoPlaces(t.calls)
	for w, call := range t.t.Device.Call[:t.count] {
		if call >= 0 && int(call) < t.calls && first[call] < 0 {
			first[call] = int32(w)
		}
	}
	return first
}

func (t *Trace) openLoad(th *thread, call int32) {
	h := &t.t.Host
	t.closeLoad(th, h.Thread[call], h.Start[call])
	if by := sourceOf(t.t.Names[h.Name[call]]); th.load >= 0 && by != unnamed {
		t.loads[th.load].by = by // a trainer's span around PyTorch's
	}
	if h.Start[call] < th.busy || th.load >= 0 {
		return // inside another wait
	}
	th.load, th.piece = int32(len(t.loads)), h.Start[call]
	t.loads = append(t.loads, load{
		start: h.Start[call], end: max(h.Start[call], h.End[call]), process: th.process,
		by: sourceOf(t.t.Names[h.Name[call]]),
	})
}

// closeLoad closes the wait for a batch if it ended by an instant.
func (t *Trace) closeLoad(th *thread, number int32, at int64) {
	if th.load >= 0 && t.loads[th.load].end <= at {
		t.addPiece(th, number, t.loads[th.load].end)
		th.load = -1
	}
}

func (t *Trace) addPiece(th *thread, number int32, to int64) {
	first := th.piece == t.loads[th.load].start
	if to <= th.piece && !first {
		return
	}
	th.busy = max(th.busy, to)
	t.items = append(t.items, item{
		start: th.piece, end: to, thread: number, call: -1, kind: loading, load: th.load, first: first,
		prev: -1, anchor: -1, target: -1, also: -1, full: -1, work: -1, step: t.stepAt(th.process, th.piece),
	})
	th.piece = to
}

// addItem takes a call as an item, unless it is inside another one.
func (t *Trace) addItem(th *thread, call int32, k kind, work int32) {
	h := &t.t.Host
	start, end := h.Start[call], max(h.Start[call], h.End[call])
	t.closeLoad(th, h.Thread[call], start)
	if start < th.busy {
		return
	}
	if th.load >= 0 {
		t.addPiece(th, h.Thread[call], start)
		th.piece = min(end, t.loads[th.load].end)
	}
	th.busy = end
	if work >= 0 && k != wait {
		k = t.kindOfWork(work, k)
	}
	t.items = append(t.items, item{
		start: start, end: end, thread: h.Thread[call], call: call, kind: k, load: -1,
		prev: -1, anchor: -1, target: -1, also: -1, full: -1, work: work, step: t.stepAt(th.process, start),
	})
}

func (t *Trace) kindOfWork(work int32, otherwise kind) kind {
	w := &t.t.Device
	switch name := t.t.Names[w.Name[work]]; {
	case w.Kind[work] == recording.Copy && recording.ToDevice(name):
		return copyIn
	case w.Kind[work] == recording.Copy && recording.ToHost(name):
		return copyOut
	case otherwise == other || otherwise == allocate:
		return launch
	}
	return otherwise
}

// sortItems puts items in order of start and links each to the one before it on
// its thread.
func (t *Trace) sortItems() {
	slices.SortStableFunc(t.items, func(a, b item) int { return cmp.Compare(a.start, b.start) })
	last := recording.NoPlaces(len(t.t.Threads))
	for i := range t.items {
		it := &t.items[i]
		it.prev, it.anchor = last[it.thread], last[it.thread]
		last[it.thread] = int32(i)
		if it.kind == wait && it.prev >= 0 {
			k := t.items[it.prev].kind
			it.ofCopy = k == copyIn || k == copyOut
		}
	}
}
