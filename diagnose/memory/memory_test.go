package memory

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// made is a run with one thread of operators and one device of 1000 bytes.
type made struct{ run recording.Run }

func (m *made) call(name string, kind recording.CallKind, from, to int64) {
	t := m.run.Timeline
	t.Names = append(t.Names, name)
	h := &t.Host
	h.Start, h.End, h.Name = append(h.Start, from), append(h.End, to), append(h.Name, int32(len(t.Names)-1))
	h.Thread, h.Kind = append(h.Thread, 0), append(h.Kind, kind)
}

func (m *made) allocate(at, address, bytes, total int64) {
	c := &m.run.Timeline.Memory
	c.At, c.Address, c.Bytes, c.Total = append(c.At, at), append(c.Address, address), append(c.Bytes, bytes), append(c.Total, total)
	c.Device, c.Thread = append(c.Device, 0), append(c.Thread, 0)
}

func start() *made {
	return &made{recording.Run{
		Facts: recording.Facts{GPUs: []recording.GPU{{MemoryBytes: stat.Known(1000), HeldBytes: stat.Known(400)}}},
		Steps: []recording.Step{{PID: 1, Start: 0, Period: 50e-9}, {PID: 1, Start: 50e-9, Period: 50e-9}},
		Timeline: &recording.Timeline{
			Threads: []recording.Thread{{PID: 1}}, Devices: []recording.Device{{PID: 1}}, End: 100,
		},
	}}
}

func TestKinds(t *testing.T) {
	m := start()
	m.call("aten::empty", recording.Op, 10, 20)
	m.call("aten::relu", recording.Op, 55, 60)
	m.call("autograd::engine::evaluate_function: AddmmBackward0", recording.Op, 61, 70)
	m.call("aten::mm", recording.Op, 62, 65)
	m.call("Optimizer.step#Adam.step", recording.Annotation, 75, 90)
	m.call("aten::zeros_like", recording.Op, 76, 80)
	m.allocate(12, 1, 30, 130)  // 100 were there before
	m.allocate(57, 2, 50, 180)  // forward
	m.allocate(58, 3, 500, 680) // and freed again
	m.allocate(59, 3, -500, 180)
	m.allocate(63, 3, 40, 220) // backward, at the address that was freed
	m.allocate(77, 4, 20, 700) // optimizer
	m.allocate(95, 4, -20, 680)
	m.run.Timeline.Memory.Total[5] = 690 // the peak

	u, known := Of(&m.run, &idle.Device{From: 50, To: 100})
	want := [kinds]int64{Before: 690 - 140, Kept: 30, Forward: 50, Backward: 40, Optimizer: 20}
	if !known || u.Peak != 690 || u.At != 77 || u.Kinds != want {
		t.Errorf("%+v, want %v", u, want)
	}
	if len(u.Owners) != 4 || u.Owners[0].Bytes != 50 || m.run.Timeline.Names[u.Owners[0].Name] != "aten::relu" {
		t.Errorf("owners: %+v", u.Owners)
	}
	if want := 1 + 600./90; u.Fits != want {
		t.Errorf("a batch fits %v times, want %v", u.Fits, want)
	}
	if u.Curve[0] != 130 || u.Curve[Columns-1] != 680 {
		t.Errorf("curve: %v", u.Curve)
	}
}

// Without an event in the window nothing is known, and without a capacity not how much fits.
func TestUnknown(t *testing.T) {
	m := start()
	if _, known := Of(&m.run, &idle.Device{From: 50, To: 100}); known {
		t.Error("no event, and memory is known")
	}
	m.run.Facts.GPUs[0].MemoryBytes = nil
	m.allocate(57, 2, 50, 180)
	if u, known := Of(&m.run, &idle.Device{From: 50, To: 100}); !known || u.Fits == u.Fits || u.Owners[0].Name != -1 {
		t.Errorf("%+v", u)
	}
}
