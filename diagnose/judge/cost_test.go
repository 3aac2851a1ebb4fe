package judge

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// half is a run on an A100 that idles half the time.
func half(power []float64) (*recording.Run, diagnose.Verdict) {
	run := &recording.Run{Facts: recording.Facts{
		GPUs:      []recording.GPU{{Index: 0, Name: "NVIDIA A100-SXM4-80GB"}},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer}},
	}}
	series := recording.Series{Signal: recording.GPUPower, Subject: "gpu/0"}
	for i, watts := range power {
		series.T, series.V = append(series.T, float64(i)), append(series.V, watts)
	}
	run.Series = append(run.Series, series)
	v := diagnose.Verdict{Device: -1, Class: diagnose.MainThread, Idle: 0.5, Stall: 0.4}
	v.Costs.Window = recording.Window{PID: 1, Start: 0, End: 100}
	return run, v
}

func TestCostOfIdleness(t *testing.T) {
	run, v := half(nil)
	c := CostOf(run, v, predict.Prices{})
	if c.Source != "row" || !(c.Hour.Dollars.Point > 0.2) || !(c.Hour.KWh.Low > 0) || !(c.Hour.KgCO2.Point > 0) || c.Assumed {
		t.Errorf("by the table: %+v", c)
	}
	own := CostOf(run, v, predict.Prices{GPUHour: 10, Grid: 100, PUE: 1})
	if own.Hour.Dollars.Point != 5 || math.Abs(own.Hour.KgCO2.Point-own.Hour.KWh.Point/10) > 1e-12 {
		t.Errorf("own prices: %+v", own.Hour)
	}
	v.Idle = math.NaN()
	if c := CostOf(run, v, predict.Prices{}); c.Share != 0.4 {
		t.Errorf("idle unknown: share %v, want the stall", c.Share)
	}
}

func TestMeasuredPower(t *testing.T) {
	var watts []float64
	for i := range 40 {
		watts = append(watts, 90+10*float64(i%20))
	}
	run, v := half(watts)
	c := CostOf(run, v, predict.Prices{})
	if c.Source != "measured" || !(c.Watts.Low <= 90 && c.Watts.Point >= 90 && c.Watts.Point < 120 && math.Abs(c.Watts.High-185) < 1) {
		t.Errorf("%+v (%s)", c.Watts, c.Source)
	}
}

func TestUnknownCost(t *testing.T) {
	run, v := half(nil)
	v.Idle, v.Stall = math.NaN(), math.NaN()
	if c := CostOf(run, v, predict.Prices{}); c.Hour.Dollars.Known() || c.Hour.KWh.Known() {
		t.Errorf("idle unknown: %+v", c)
	}
	run, v = half(nil)
	run.Facts.GPUs[0].Name = "a device that no table knows"
	if c := CostOf(run, v, predict.Prices{}); c.Hour.Dollars.Known() || c.Hour.KWh.Known() || c.Source != "" {
		t.Errorf("unknown device: %+v", c)
	}
	run.Facts.GPUs = nil
	if c := CostOf(run, v, predict.Prices{}); !math.IsNaN(c.Share) {
		t.Errorf("no device: %+v", c)
	}
	v.Class = diagnose.ComputeOnCPU
	if c := CostOf(run, v, predict.Prices{}); !math.IsNaN(c.Share) {
		t.Errorf("on the CPU: %+v", c)
	}
}
