package lanes_test

import (
	"reflect"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/recording"
)

// run is one window of 100 ns: load, copy, compute and a collective, with half of
// the copy beside the computation.
func run() *recording.Run {
	t := &recording.Timeline{
		Names:   []string{"enumerate(DataLoader)#x.__next__", "aten::mm", "cudaLaunchKernel", "Memcpy HtoD", "gemm", "ncclAllReduce"},
		Threads: []recording.Thread{{PID: 1, ID: 1}},
		Devices: []recording.Device{{PID: 1, GPU: -1}},
		End:     100,
	}
	t.Host = recording.Calls{
		Start: []int64{0, 40}, End: []int64{40, 100}, Name: []int32{0, 1}, Thread: []int32{0, 0},
		Kind: []recording.CallKind{recording.Annotation, recording.Op}, Shapes: []int32{-1, -1}, Types: []int32{-1, -1},
	}
	none := []int32{-1, -1, -1}
	t.Device = recording.Work{
		Start: []int64{40, 50, 80}, End: []int64{60, 70, 100}, Name: []int32{3, 4, 5}, Device: []int32{0, 0, 0}, Stream: []int32{7, 8, 9},
		Kind: []recording.WorkKind{recording.Copy, recording.Kernel, recording.Collective}, Call: none, Group: none,
		Bytes: []int64{1, -1, -1}, Blocks: []int32{0, 0, 0}, Threads: []int32{0, 0, 0}, PerSM: make([]float32, 3), Occupancy: make([]float32, 3),
	}
	return &recording.Run{Timeline: t}
}

func TestLanes(t *testing.T) {
	r := run()
	all := idle.Analyse(r)
	l := lanes.Of(r, all, &all.Devices[0], 10)
	device := []lanes.Activity{0, 0, 0, 0, lanes.Copy, lanes.Kernel, lanes.Kernel, 0, lanes.Communication, lanes.Communication}
	if l.From != 0 || l.To != 100 || l.Step != -1 || !reflect.DeepEqual(l.Device, device) {
		t.Errorf("%d to %d, step %d, device %v; want %v", l.From, l.To, l.Step, l.Device, device)
	}
	// Idle columns show the causes of gaps: these works have no launch, and the loop is in its loader at first.
	l0, u, o := idle.DataLoader, idle.Unlinked, idle.CPUOp
	if host := []idle.Cause{l0, l0, l0, l0, o, o, o, u, o, o}; !reflect.DeepEqual(l.Host, host) {
		t.Errorf("host %v; want %v", l.Host, host)
	}
}

// Any width gives as many cells, however short the stretch.
func TestWidths(t *testing.T) {
	r := run()
	all := idle.Analyse(r)
	for _, columns := range []int{1, 2, 3, 7, 99, 100, 101, 1000} {
		l := lanes.Of(r, all, &all.Devices[0], columns)
		if len(l.Device) != columns || len(l.Host) != columns {
			t.Errorf("%d columns: %d and %d cells", columns, len(l.Device), len(l.Host))
		}
	}
	if l := lanes.Of(r, all, &all.Devices[0], 0); l.Device != nil {
		t.Errorf("no columns: %+v", l)
	}
}

// The worst step is the one with most idle time, which is not the longest.
func TestWorstStep(t *testing.T) {
	r := run()
	w := &r.Timeline.Device
	w.Start, w.End = []int64{10_000, 30_000, 45_000}, []int64{29_000, 40_000, 60_000}
	w.Kind = []recording.WorkKind{recording.Kernel, recording.Kernel, recording.Kernel}
	r.Timeline.End = 60_000
	r.Timeline.Host.Start, r.Timeline.Host.End = []int64{1_000, 41_000}, []int64{2_000, 42_000}
	w.Call = []int32{0, 0, 1}
	r.Steps = []recording.Step{{PID: 1, N: 8, Start: 0, Period: 40e-6}, {PID: 1, N: 9, Start: 40e-6, Period: 20e-6}}
	all := idle.Analyse(r)
	if l := lanes.Of(r, all, &all.Devices[0], 4); l.Step != 8 || l.From != 0 || l.To != 40_000 {
		t.Errorf("step %d, %d to %d; want 8 with 11 us of idle time", l.Step, l.From, l.To)
	}
	w.Start[0], w.Start[1] = 2_000, 29_000 // 2 us idle in step 8, 5 in step 9
	all = idle.Analyse(r)
	if l := lanes.Of(r, all, &all.Devices[0], 4); l.Step != 9 || l.From != 40_000 {
		t.Errorf("step %d from %d; want 9 with 5 us of idle time", l.Step, l.From)
	}
}
