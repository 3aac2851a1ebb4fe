package ranks_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/recording"
)

// job is two ranks with all-reduces at the end of each step. Rank 1 arrives late
// by lag; its clock is ahead by clock. Microseconds.
func job(steps int, lag [2]int64, clock int64) *recording.Run {
	run := &recording.Run{Timeline: &recording.Timeline{Names: []string{"gemm", "ncclDevKernel_AllReduce_Sum_f32(a)", "0", "cudaLaunchKernel", "ncclDevKernel_AllReduce_Sum_f32(b)"}}}
	t := run.Timeline
	for rank := range 2 {
		t.Threads = append(t.Threads, recording.Thread{PID: 100 + rank, ID: 1, Rank: rank})
		t.Devices = append(t.Devices, recording.Device{PID: 100 + rank, Index: rank, Rank: rank, GPU: -1, File: rank})
	}
	for s := range int64(steps) {
		begin := 1000 * s
		end := begin + 300 + max(lag[0], lag[1]) + 50
		for rank := range int64(2) {
			off := rank * clock
			work(t, int32(rank), 0, begin+off, begin+100+off, recording.Kernel)
			work(t, int32(rank), 1+3*int32(rank), begin+300+lag[rank]+off, end+off, recording.Collective)
			run.Steps = append(run.Steps, recording.Step{
				PID: 100 + int(rank), Rank: int(rank), N: int(s), Start: float64(begin+off-1) / 1e6, Period: 1e-3,
			})
		}
	}
	return run
}

// work adds a launch and what it launched.
func work(t *recording.Timeline, rank, name int32, from, to int64, kind recording.WorkKind) {
	h, w := &t.Host, &t.Device
	h.Start, h.End = append(h.Start, 1000*from-500), append(h.End, 1000*from-200)
	h.Name, h.Thread, h.Kind = append(h.Name, 3), append(h.Thread, rank), append(h.Kind, recording.Runtime)
	h.Shapes, h.Types = append(h.Shapes, -1), append(h.Types, -1)
	w.Start, w.End, w.Name = append(w.Start, 1000*from), append(w.End, 1000*to), append(w.Name, name)
	w.Device, w.Stream, w.Kind, w.Call = append(w.Device, rank), append(w.Stream, 7), append(w.Kind, kind), append(w.Call, int32(len(h.Start)-1))
	w.Bytes, w.Blocks, w.Threads, w.Group = append(w.Bytes, 4096), append(w.Blocks, 0), append(w.Threads, 0), append(w.Group, 2)
	w.PerSM, w.Occupancy = append(w.PerSM, 0), append(w.Occupancy, 0)
	t.End = max(t.End, 1000*to)
}

func compare(t *testing.T, run *recording.Run) *ranks.Table {
	t.Helper()
	table := ranks.Compare(run, idle.Analyse(run))
	if table == nil || len(table.Ranks) != 2 {
		t.Fatalf("%+v", table)
	}
	return table
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestStraggler(t *testing.T) {
	table := compare(t, job(6, [2]int64{0, 120}, 0))
	if table.Straggler != 1 || table.Unmatched != 0 || !near(table.Aligned, 0) {
		t.Errorf("%+v", table)
	}
	on, late := table.Ranks[0], table.Ranks[1]
	n := float64(table.Matched - 1) // the first one says nothing
	if n < 4 || late.Last != table.Matched-1 || late.Arrived != late.Last || on.Last != 0 || !near(on.Waited, n*120e-6) || !near(on.For[1], n*120e-6) ||
		!near(late.Delayed, n*120e-6) || late.Waited != 0 {
		t.Errorf("on time %+v\nlate %+v", on, late)
	}
	if late.CauseShare == 0 || math.IsNaN(late.Step) {
		t.Errorf("late rank %+v", late)
	}
}

// A clock that is ahead does not make a straggler: the ends tell.
func TestClocksAreSetByTheEnds(t *testing.T) {
	for _, clock := range []int64{5, 400, -250} {
		table := compare(t, job(6, [2]int64{80, 0}, clock))
		if got := table.Ranks[1].Clock; !near(got, float64(clock)/1e6) {
			t.Errorf("clock off by %d us: found %g s", clock, got)
		}
		if table.Straggler != 0 || table.Ranks[0].Last != table.Matched-1 {
			t.Errorf("clock off by %d us: %+v", clock, table)
		}
	}
}

func TestNoStraggler(t *testing.T) {
	table := compare(t, job(6, [2]int64{0, 2}, 0)) // 2 us of a 1 ms step
	if table.Straggler != -1 || table.Matched == 0 {
		t.Errorf("%+v", table)
	}
}

// What only one rank recorded is counted and left out.
func TestUnmatched(t *testing.T) {
	run := job(6, [2]int64{0, 120}, 0)
	work(run.Timeline, 0, 1, 5600, 5700, recording.Collective) // a second one in the last step
	table := compare(t, run)
	if table.Unmatched != 3 || table.Straggler != 1 {
		t.Errorf("%+v", table)
	}
}

func TestOneRankHasNoTable(t *testing.T) {
	run := job(3, [2]int64{}, 0)
	for i := range run.Timeline.Device.Device {
		run.Timeline.Device.Device[i] = 0
	}
	if table := ranks.Compare(run, idle.Analyse(run)); table != nil {
		t.Errorf("%+v", table)
	}
}

// Ranks of one file are on one clock, which is never moved: collectives are those that
// ran at the same time, whichever number they have.
func TestOneClockIsNotMoved(t *testing.T) {
	run := job(6, [2]int64{0, 120}, 0)
	run.Steps = nil // nothing tells the numbers apart
	work(run.Timeline, 0, 1, 6350, 6400, recording.Collective)
	first := -1
	for i, d := range run.Timeline.Device.Device { // rank 1's first was not recorded
		if d == 1 && run.Timeline.Device.Kind[i] == recording.Collective && first < 0 {
			first = i
			run.Timeline.Device.Kind[i], run.Timeline.Device.Name[i] = recording.Kernel, 0
		}
	}
	work(run.Timeline, 1, 4, 7350, 7400, recording.Collective)
	for i := range run.Timeline.Devices {
		run.Timeline.Devices[i].File = 0
	}
	table := compare(t, run)
	if table.Ranks[1].Clock != 0 || table.Matched != 5 || !near(table.Aligned, 0) || table.Straggler != 1 {
		t.Errorf("%+v", table)
	}
}

// Where the ends do not agree once the clocks are set, other collectives were paired:
// who waits for whom is not known.
func TestEndsThatDisagree(t *testing.T) {
	run := job(8, [2]int64{0, 120}, 400)
	d := &run.Timeline.Device
	for i, n := 0, int64(0); i < len(d.Start); i++ {
		if d.Device[i] == 1 && d.Kind[i] == recording.Collective {
			n++
			d.Start[i], d.End[i] = d.Start[i]+n%5*9e6, d.End[i]+n%5*9e6
		}
	}
	table := compare(t, run)
	if table.Matched != 0 || table.Straggler != -1 || table.Ranks[1].Waited != 0 || !(table.Apart > 1e-3) || table.Ranks[1].Clock != 0 {
		t.Errorf("%+v", table)
	}
}

// Recorders do not start together: equal ranks, of which one is recorded 6 ms later, so
// that its first collective is all that it has of that step, are equal.
func TestTheRecordersStartIsNoStraggler(t *testing.T) {
	run := job(6, [2]int64{0, 0}, 0)
	d := &run.Timeline.Device
	first := slices.Index(d.Kind, recording.Collective)
	d.Start[first] -= 6_000_000 // rank 0 was recorded from there on, and waits
	d.Start[first] = max(0, d.Start[first])
	for i := range run.Steps {
		run.Steps[i].Start += 6e-3
	}
	for i := range d.Start {
		if i != first {
			d.Start[i] += 6_000_000
		}
		d.End[i] += 6_000_000
	}
	for i := range run.Timeline.Host.Start {
		if int32(i) != d.Call[first] {
			run.Timeline.Host.Start[i], run.Timeline.Host.End[i] = run.Timeline.Host.Start[i]+6_000_000, run.Timeline.Host.End[i]+6_000_000
		}
	}
	run.Timeline.Host.Start[d.Call[first]], run.Timeline.Host.End[d.Call[first]] = 0, 100
	table := compare(t, run)
	if table.Straggler != -1 || table.Ranks[1].Delayed != 0 || table.Ranks[0].Waited != 0 {
		t.Errorf("a rank that was recorded later is late: %+v", table)
	}
	late := job(6, [2]int64{0, 120}, 0)
	late.Timeline.Device.Start[slices.Index(late.Timeline.Device.Kind, recording.Collective)] = 0
	if table := compare(t, late); table.Straggler != 1 || !near(table.Ranks[1].Delayed, 5*120e-6) {
		t.Errorf("the straggler behind the first collective: %+v", table)
	}
}
