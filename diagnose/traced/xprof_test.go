package traced

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// xprofRun is a run of one step of 100 us on a GPU: a copy to the device from 0 to
// 20, a kernel from 10 to 60, an exchange from 50 to 70, a copy to the host from 90
// to 100 under a kernel from 95 to 100.
func xprofRun() *recording.Run {
	t := &recording.Timeline{
		Names:   []string{"launch", "Memcpy HtoD (Host -> Device)", "kernel", "nccl", "Memcpy DtoH (Device -> Host)"},
		Threads: []recording.Thread{{PID: 1, ID: 1}}, Devices: []recording.Device{{PID: 1, GPU: -1}}, End: 101_000,
	}
	nan := float32(math.NaN())
	for _, w := range []struct {
		from, to int64
		name     int32
		kind     recording.WorkKind
	}{{10, 60, 2, recording.Kernel}, {0, 20, 1, recording.Copy}, {50, 70, 3, recording.Collective}, {90, 100, 4, recording.Copy}, {95, 100, 2, recording.Kernel}} {
		d := &t.Device
		d.Start, d.End, d.Name, d.Kind = append(d.Start, 1000*w.from), append(d.End, 1000*w.to), append(d.Name, w.name), append(d.Kind, w.kind)
		d.Device, d.Stream, d.Call, d.Bytes = append(d.Device, 0), append(d.Stream, 0), append(d.Call, 0), append(d.Bytes, -1)
		d.Blocks, d.Threads, d.PerSM, d.Occupancy, d.Group = append(d.Blocks, 0), append(d.Threads, 0), append(d.PerSM, nan), append(d.Occupancy, nan), append(d.Group, -1)
	}
	d := &t.Device // the copy starts first
	d.Start[0], d.Start[1], d.End[0], d.End[1], d.Name[0], d.Name[1], d.Kind[0], d.Kind[1] = d.Start[1], d.Start[0], d.End[1], d.End[0], d.Name[1], d.Name[0], d.Kind[1], d.Kind[0]
	h := &t.Host
	h.Start, h.End, h.Name, h.Thread = []int64{0}, []int64{1000}, []int32{0}, []int32{0}
	h.Kind, h.Shapes, h.Types = []recording.CallKind{recording.Runtime}, []int32{-1}, []int32{-1}
	run := &recording.Run{Timeline: t, Steps: []recording.Step{{PID: 1, Device: -1, Period: 100e-6, Wait: math.NaN()}}}
	run.Facts.Software.Framework = "JAX"
	return run
}

// TestXProfPriorities: of what overlaps, compute counts before a copy to the host,
// that before an exchange, that before a copy to the device; the rest is All Others.
func TestXProfPriorities(t *testing.T) {
	run := xprofRun()
	x, ok := analyseAsXProf(run, idle.Analyse(run))
	if !ok || x.Steps != 1 {
		t.Fatalf("%v, %+v", ok, x)
	}
	for what, c := range map[string][2]float64{
		"step": {x.Step, 100e-6}, "input": {x.Input, 0.10}, "compute": {x.Compute, 0.55}, "collectives": {x.Collectives, 0.10},
		"output": {x.Output, 0.05}, "others": {x.AllOthers, 0.20},
	} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%s %v, want %v", what, c[0], c[1])
		}
	}
	if x.rating() != "MODERATELY input-bound" || !strings.Contains(x.String(), "moderately bound by collectives") {
		t.Errorf("%s: %s", x.rating(), x)
	}
	run.Facts.Software.Framework = ""
	if _, ok := analyseAsXProf(run, idle.Analyse(run)); ok {
		t.Error("a run of PyTorch has no XProf")
	}
}

func TestXProfThresholds(t *testing.T) {
	for _, c := range []struct {
		input, others float64
		want          string
	}{{0.2, 0, "HIGHLY"}, {0.05, 0.9, "MODERATELY"}, {0.049, 0.03, "POTENTIALLY"}, {0.049, 0.029, "NOT"}} {
		if got := (xprofAnswer{Step: 1, Input: c.input, AllOthers: c.others}).rating(); !strings.HasPrefix(got, c.want) {
			t.Errorf("input %v, others %v: %s, want %s", c.input, c.others, got, c.want)
		}
	}
}

// TestXProfOfTheHost: without a device, what the host did counts, and waiting for a
// batch before computing.
func TestXProfOfTheHost(t *testing.T) {
	run := xprofRun()
	tl := run.Timeline
	tl.Device, tl.Devices = recording.Work{}, nil
	tl.Names = []string{"MatMul:MatMul", "IteratorGetNext:IteratorGetNext"}
	h := &tl.Host
	h.Start, h.End = []int64{0, 20_000}, []int64{50_000, 30_000}
	h.Name, h.Thread = []int32{0, 1}, []int32{0, 0}
	h.Kind, h.Shapes, h.Types = []recording.CallKind{recording.Op, recording.Annotation}, []int32{-1, -1}, []int32{-1, -1}
	x, ok := analyseAsXProf(run, idle.Analyse(run))
	if !ok || math.Abs(x.Input-0.1) > 1e-9 || math.Abs(x.HostCompute-0.4) > 1e-9 || math.Abs(x.AllOthers-0.5) > 1e-9 {
		t.Errorf("%v, %+v, want 10 %% input, 40 %% host compute", ok, x)
	}
}
