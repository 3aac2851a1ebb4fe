package predict

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/device"
)

// The exchange is a part of the step: it makes it longer, on a slow link much, and
// an unknown one is not taken for none.
func TestExchangeEntersTheStep(t *testing.T) {
	s := trained(t)
	s.Load.Workload, _ = device.FindWorkload("bert-large")
	s.Load.Precision, s.Batch = hardware.FP16, 32
	solve := func(s Setup) Answer {
		a, err := s.Solve()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	part := func(a Answer) (time stoker.Interval, found bool) {
		for _, st := range a.Stages {
			if st.Stage == stoker.Sync {
				return st.Time, true
			}
		}
		return time, false
	}
	if _, found := part(solve(s)); found {
		t.Error("one GPU has nobody to exchange with")
	}
	alone := solve(s)
	s.GPUs, s.Nodes = 16, 16
	s.Network = stoker.Exactly(1.25e9)
	slow := solve(s)
	if at, found := part(slow); !found || !(at.Point > 0.5) || slow.Bound.Resource != stoker.Network ||
		slow.Step.Point < at.Point {
		t.Errorf("sixteen machines at 10 Gbit/s: exchange %v, step %v, bound by %s", at, slow.Step, slow.Bound.Resource)
	}
	if !(slow.Utilization.Point < alone.Utilization.Point) || slow.Stall.Point > alone.Stall.Point {
		t.Errorf("utilisation %v, stall %v; alone %v and %v", slow.Utilization, slow.Stall, alone.Utilization,
			alone.Stall)
	}
	s.Network = stoker.Interval{}
	unknown := solve(s)
	if !math.IsNaN(unknown.Step.High) || !strings.Contains(fmt.Sprint(unknown.Unknown), "exchange between ranks") {
		t.Errorf("no network: step %v, unknown %v", unknown.Step, unknown.Unknown)
	}
}

// What each GPU keeps, by hand: Llama 3 8B under Adam is 128 GB in 16 bytes per
// parameter, over 8 GPUs 16 GB with ZeRO stage 3, and fits then.
func TestSharding(t *testing.T) {
	w, _ := device.FindWorkload("llama-8b")
	gpu, _ := hardware.FindGPU("h100-sxm")
	p := w.Params.Value
	s := Setup{Load: device.Load{
		Workload: w, GPU: gpu, Precision: hardware.BF16, Training: true,
		Software: device.Compiled,
	}, Batch: 1, GPUs: 8, Workers: math.NaN()}
	for shard, want := range map[device.Shard]float64{
		device.NoShard: 16, device.ZeRO1: 4 + 12./8,
		device.ZeRO2: 2 + 14./8, device.ZeRO3: 2./32 + 16./8,
	} {
		s.Load.Shard = shard
		n, err := s.compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := n.memoryKept() / p; !near(got, want, 1e-9) {
			t.Errorf("%q: %v bytes per parameter and GPU, want %v", shard, got, want)
		}
		_, err = s.Solve()
		if fits := shard == device.ZeRO3 || shard == device.ZeRO2; fits != (err == nil) {
			t.Errorf("%q: %v", shard, err)
		}
	}
	s.Load.Shard, s.Load.Recompute = device.ZeRO3, true
	if a, err := s.Solve(); err != nil || !(a.Step.Low > 0) {
		t.Errorf("recomputed: %v", err)
	}
	s.GPUs = 1
	for _, want := range []string{"alone take 129 GB of each of 1 GPUs", "share them over more"} {
		if _, err := s.Solve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("over one GPU: %v, want %q", err, want)
		}
	}
	s.Load.Shard = device.NoShard
	if _, err := s.Solve(); err == nil || !strings.Contains(err.Error(), "ZeRO stage 3, FSDP") {
		t.Errorf("a copy each: %v", err)
	}
	for _, bad := range []func(*device.Load){
		func(l *device.Load) { l.Shard = "zero4" },
		func(l *device.Load) { l.Shard, l.Recompute, l.Training = device.ZeRO3, false, false },
	} {
		l := s.Load
		bad(&l)
		if _, err := l.StepCurve(); err == nil || !strings.Contains(err.Error(), "shard") {
			t.Errorf("%q: %v", l.Shard, err)
		}
	}
}

// Recomputing keeps less and takes longer.
func TestRecompute(t *testing.T) {
	for _, w := range device.Workloads {
		gpu, _ := hardware.FindGPU("h100-sxm")
		l := device.Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Training: true, Software: device.Compiled}
		plain, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		l.Recompute = true
		again, err := l.StepCurve()
		if err != nil {
			t.Fatal(err)
		}
		r := again.At(32).Point / plain.At(32).Point
		if !(again.Memory < 0.6*plain.Memory) || r < 1.15 || r > 1.34 {
			t.Errorf("%s: %.3g of the memory, %.3g of the time", w.Name, again.Memory/plain.Memory, r)
		}
	}
}
