package traced

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// The rows of a recording add up to it, and what ran on the device to what the file holds: one second of
// start, three steps of 100 ms of which the first two are judged and the last evaluates, and a tail.
func TestRowsAddUpToTheRecording(t *testing.T) {
	const ms = int64(1e6)
	line := &recording.Timeline{End: 1500 * ms, Devices: []recording.Device{{}, {}}}
	work := func(device int32, from, to int64) {
		w := &line.Device
		w.Start, w.End, w.Device = append(w.Start, from*ms), append(w.End, to*ms), append(w.Device, device)
		w.Kind = append(w.Kind, recording.Kernel)
	}
	work(0, 500, 510) // within the start
	for _, at := range []int64{1000, 1100, 1200} {
		work(0, at+40, at+90)
		work(1, at, at+100) // of another device
		work(0, at+60, at+95)
	}
	run := &recording.Run{Timeline: line, Steps: []recording.Step{
		{Start: 1.0, Period: 0.1, Phase: recording.Train},
		{Start: 1.1, Period: 0.1, Phase: recording.Train},
		{Start: 1.2, Period: 0.1, Phase: recording.Evaluate},
	}}
	d := &idle.Device{Process: -1, From: 1000 * ms, To: 1200 * ms, Seen: 3, Steps: make([]idle.Step, 2)}
	d.Causes[idle.DataLoader], d.Causes[idle.CPUOp] = 60*ms, 30*ms
	f := &filler{t: line, all: &idle.Analysis{}, d: d, grounds: diagnose.Grounds{Program: diagnose.Training}}
	want := map[diagnose.RowName][3]float64{ // seconds, busy, count
		diagnose.RowStartUp: {1, 0.01, 1}, diagnose.RowTraining: {0.2, 0.11, 2}, diagnose.RowEvaluation: {0.1, 0.055, 1},
		diagnose.RowTail: {0.2, 0, 1},
	}
	sum := 0.0
	for _, r := range f.listRows(run) {
		sum += r.Share
		w := want[r.Name]
		if math.Abs(r.Seconds-w[0]) > 1e-9 || math.Abs(r.Busy-w[1]) > 1e-9 || float64(r.Count) != w[2] {
			t.Errorf("%s: %.3f s, %.3f busy, count %d, want %v", r.Name, r.Seconds, r.Busy, r.Count, w)
		}
		if r.Name == diagnose.RowTraining && (len(r.Waits) != 2 || r.Waits[0].For != diagnose.WaitInput) {
			t.Errorf("waits %v", r.Waits)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares add up to %f", sum)
	}
}

// The steps of a program without a model are no inference, nor are those of one that may train.
func TestStepsWithoutAModelAreNoInference(t *testing.T) {
	for _, c := range []struct {
		grounds diagnose.Grounds
		want    diagnose.RowName
	}{
		{diagnose.Grounds{Framework: "CUDA", Program: diagnose.Inference}, diagnose.RowJudged},
		{diagnose.Grounds{Program: diagnose.Inference}, diagnose.RowInference},
		{diagnose.Grounds{}, diagnose.RowJudged},
		{diagnose.Grounds{Program: diagnose.Training}, diagnose.RowTraining},
	} {
		f := &filler{d: &idle.Device{Steps: make([]idle.Step, 8)}, grounds: c.grounds}
		if row := f.judgedRow(); row != c.want {
			t.Errorf("%+v: %s, want %s", c.grounds, row, c.want)
		}
	}
}

// A row counts the steps whose time it has, also one that is not judged.
func TestRowsCountTheirSteps(t *testing.T) {
	const ms = int64(1e6)
	run := &recording.Run{Steps: []recording.Step{
		{Start: 0, Period: 0.1, Phase: recording.Train},
		{Start: 0.1, Period: 0.1, Phase: recording.Train},
		{Start: 0.2, Period: 0.1, Phase: recording.Train},
	}}
	d := &idle.Device{Process: -1, From: 100 * ms, To: 300 * ms, Seen: 3, Steps: make([]idle.Step, 2)}
	f := &filler{
		t: &recording.Timeline{End: 300 * ms, Devices: []recording.Device{{}}}, all: &idle.Analysis{}, d: d,
		grounds: diagnose.Grounds{Program: diagnose.Training},
	}
	if rows := f.listRows(run); len(rows) != 1 || rows[0].Count != 3 || math.Abs(rows[0].Seconds-0.3) > 1e-9 {
		t.Errorf("%+v, want one row of three steps in 0.3 s", rows)
	}
}
