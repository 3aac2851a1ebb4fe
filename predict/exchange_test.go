package predict

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
)

// scaling is a published pair of rates: of one GPU alone, and of many together.
type scaling struct {
	load           Load
	batch          float64
	machine, ranks float64
	network        stoker.Interval
	alone          float64 // samples/s
	together       float64 // samples/s of all
	source         string
}

func scalings(t *testing.T) (all []scaling) {
	t.Helper()
	for _, field := range readTable(t, "testdata/ranks.csv") {
		w, known := FindWorkload(field["workload"])
		gpu, found := hardware.FindGPU(field["gpu"])
		if !known || !found {
			t.Fatalf("%v: unknown", field)
		}
		s := scaling{
			load:  Load{Workload: w.WithTokens(number(t, field["tokens"])), GPU: gpu, Precision: hardware.Precision(field["precision"]), Training: true},
			batch: number(t, field["batch"]), machine: number(t, field["machine"]), ranks: number(t, field["ranks"]),
			alone: number(t, field["alone"]), together: number(t, field["together"]), source: field["source"],
		}
		if rate := number(t, field["network"]); rate > 0 {
			s.network = stoker.Exactly(rate)
		}
		all = append(all, s)
	}
	return all
}

// The step on many GPUs lies in the interval that follows from the step on one and
// the exchange; the table in docs/predict.md says how far off the point is.
func TestPublishedExchange(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "| GPUs | figures | measured / step on one, median | predicted, median | median error | inside |\n|---|---|---|---|---|---|\n")
	all, inside := 0, 0
	for _, group := range []struct {
		title string
		of    func(scaling) bool
	}{
		{"of one machine", func(s scaling) bool { return s.ranks == s.machine }},
		{"of two machines", func(s scaling) bool { return s.ranks == 2*s.machine }},
		{"of four machines", func(s scaling) bool { return s.ranks == 4*s.machine }},
	} {
		var measured, predicted, wrong []float64
		in := 0
		for _, s := range scalings(t) {
			if !group.of(s) {
				continue
			}
			one := s.batch / s.alone
			many := s.batch * s.ranks / s.together
			e := Setup{Load: s.load, GPUs: s.ranks, Nodes: s.ranks / s.machine, Network: s.network}.exchange()
			at := scaled(sum(stoker.Exactly(one), inViews(func(v view) float64 { return e.shown(v, s.machine, one) })), 1/one)
			measured, predicted = append(measured, many/one), append(predicted, at.Point)
			wrong = append(wrong, math.Abs(at.Point*one/many-1))
			if at.Low <= many/one && many/one <= at.High {
				in++
			}
			t.Logf("%-10s %-13s %-4s batch %3.0f  %2.0f of %2.0f: measured %.3f, predicted %.3f (%.3f to %.3f) of the step on one", s.load.Workload.Name, s.load.GPU.Name, s.load.Precision, s.batch, s.machine, s.ranks, many/one, at.Point, at.Low, at.High)
		}
		fmt.Fprintf(&table, "| %s | %d | %.2f | %.2f | %.0f %% | %.0f %% |\n", group.title, len(measured), stat.Median(measured), stat.Median(predicted), 100*stat.Median(wrong), 100*float64(in)/float64(len(measured)))
		if 10*in < 8*len(measured) {
			t.Errorf("%s: the interval holds %d of %d, want 80 %%", group.title, in, len(measured))
		}
		all, inside = all+len(measured), inside+in
	}
	t.Logf("%d of %d inside", inside, all)
	checkTable(t, "exchange", table.String())
}

// The ring formula by hand, and what sharding moves.
func TestExchange(t *testing.T) {
	w, _ := FindWorkload("llama-8b")
	gpu, _ := hardware.FindGPU("h100-sxm")
	s := Setup{Load: Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Training: true}, GPUs: 8}
	p, rate := w.Params.Value, 450e9*reached.Point
	for shard, each := range map[Shard]float64{NoShard: 4 + 4, ZeRO1: 4 + 2, ZeRO2: 4 + 2, ZeRO3: 4 + 2 + 2} {
		s.Load.Shard = shard
		e := s.exchange()
		want := 7./8*p*each/rate + 14*nvlinkLatency
		if got := e.time(likely, 8); !near(got, want, 1e-9) {
			t.Errorf("%q: %v s, want %v", shard, got, want)
		}
		long := e.shown(likely, 8, 10) - 10*together.Point
		if e.time(likely, 1) != 0 || !near(long, want*(1-hidden.Point), 1e-9) || !near(e.shown(likely, 8, 0), want, 1e-9) {
			t.Errorf("%q: alone %v, beside a long step %v, beside none %v of %v", shard, e.time(likely, 1), long, e.shown(likely, 8, 0), want)
		}
	}
	s.Load.Shard, s.GPUs, s.Nodes = NoShard, 32, 4
	if e := s.exchange(); !math.IsNaN(e.time(likely, 8)) {
		t.Errorf("four machines and no network: %v s", e.time(likely, 8))
	}
	s.Network = stoker.Exactly(50e9)
	e := s.exchange()
	if got, want := e.time(likely, 8), 3./4*p*8/(50e9*reachedOut.Point)+6*wireLatency; !near(got, want, 1e-9) {
		t.Errorf("four machines: %v s, want %v", got, want)
	}
	s.Load.Training = false
	if e := s.exchange(); e.time(pessimist, 8) != 0 {
		t.Error("inference exchanges gradients")
	}
}

// The exchange is a part of the step: it makes it longer, on a slow link much, and
// an unknown one is not taken for none.
func TestExchangeEntersTheStep(t *testing.T) {
	s := trained(t)
	s.Load.Workload, _ = FindWorkload("bert-large")
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
	if at, found := part(slow); !found || !(at.Point > 0.5) || slow.Bound.Resource != stoker.Network || slow.Step.Point < at.Point {
		t.Errorf("sixteen machines at 10 Gbit/s: exchange %v, step %v, bound by %s", at, slow.Step, slow.Bound.Resource)
	}
	if !(slow.Utilization.Point < alone.Utilization.Point) || slow.Stall.Point > alone.Stall.Point {
		t.Errorf("utilisation %v, stall %v; alone %v and %v", slow.Utilization, slow.Stall, alone.Utilization, alone.Stall)
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
	w, _ := FindWorkload("llama-8b")
	gpu, _ := hardware.FindGPU("h100-sxm")
	p := w.Params.Value
	s := Setup{Load: Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Training: true, Software: Compiled}, Batch: 1, GPUs: 8, Workers: math.NaN()}
	for shard, want := range map[Shard]float64{NoShard: 16, ZeRO1: 4 + 12./8, ZeRO2: 2 + 14./8, ZeRO3: 2./32 + 16./8} {
		s.Load.Shard = shard
		n, err := s.compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := n.state() / p; !near(got, want, 1e-9) {
			t.Errorf("%q: %v bytes per parameter and GPU, want %v", shard, got, want)
		}
		_, err = s.Solve()
		if fits := shard == ZeRO3 || shard == ZeRO2; fits != (err == nil) {
			t.Errorf("%q: %v", shard, err)
		}
	}
	s.Load.Shard, s.Load.Recompute = ZeRO3, true
	if a, err := s.Solve(); err != nil || !(a.Step.Low > 0) {
		t.Errorf("recomputed: %v", err)
	}
	s.GPUs = 1
	for _, want := range []string{"alone take 129 GB of each of 1 GPUs", "share them over more"} {
		if _, err := s.Solve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("over one GPU: %v, want %q", err, want)
		}
	}
	s.Load.Shard = NoShard
	if _, err := s.Solve(); err == nil || !strings.Contains(err.Error(), "ZeRO stage 3, FSDP") {
		t.Errorf("a copy each: %v", err)
	}
	for _, bad := range []func(*Load){func(l *Load) { l.Shard = "zero4" }, func(l *Load) { l.Shard, l.Recompute, l.Training = ZeRO3, false, false }} {
		l := s.Load
		bad(&l)
		if _, err := l.Curve(); err == nil || !strings.Contains(err.Error(), "shard") {
			t.Errorf("%q: %v", l.Shard, err)
		}
	}
}

// "At least" is never more than what published runs were seen to use.
func TestMemoryIsALowerBound(t *testing.T) {
	for _, c := range []struct {
		workload, gpu string
		precision     hardware.Precision
		batch, tokens float64
		shard         Shard
		recompute     bool
		weights       float64
		used          float64 // GiB
		source        string
	}{
		{"resnet50", "a100-40gb-sxm", hardware.TF32, 32, 0, "", false, 0, 5.8, "FlagOpen/FlagPerf, training/nvidia/resnet50-pytorch/README.md"},
		{"resnet50", "a100-40gb-sxm", hardware.TF32, 256, 0, "", false, 0, 28.3, "the same"},
		{"resnet50", "a100-40gb-sxm", hardware.FP16, 512, 0, "", false, 0, 28.6, "the same"},
		{"vit-b16", "a100-40gb-sxm", hardware.TF32, 256, 0, "", false, 0, 39.3, "FlagOpen/FlagPerf, training/nvidia/vit-pytorch/README.md"},
		{"bert-large", "a100-40gb-sxm", hardware.TF32, 12, 512, "", false, 0, 31.2, "FlagOpen/FlagPerf, training/nvidia/bert_hf-pytorch/README.md"},
		{"bert-large", "a100-40gb-sxm", hardware.FP16, 20, 512, "", false, 0, 36.1, "the same"},
		{"bert-large", "a100-40gb-sxm", hardware.BF16, 32, 512, "", false, 0, 37.0, "the same"},
		{"llama-8b", "a100-80gb-sxm", hardware.BF16, 1, 4096, ZeRO3, false, 6607077376, 57, "FlagOpen/FlagPerf, training/nvidia/llama2_7b-deepspeed/README.md"},
		{"llama-8b", "a100-80gb-sxm", hardware.BF16, 3, 2048, ZeRO3, false, 6607077376, 70, "the same"},
		{"llama-8b", "h100-sxm", hardware.BF16, 1, 8192, ZeRO3, true, 0, 47.65 * 1e9 / (1 << 30), "pytorch/ao, docs/source/workflows/training.md: every second matrix product recomputed, so that all recomputed takes less"},
		{"llama-8b", "mi300x", hardware.BF16, 1, 8192, ZeRO3, true, 0, 39.09 * 1e9 / (1 << 30), "the same"},
		{"llama-8b", "b200", hardware.BF16, 1, 8192, ZeRO3, true, 0, 33.71 * 1e9 / (1 << 30), "the same"},
	} {
		w, _ := FindWorkload(c.workload)
		gpu, _ := hardware.FindGPU(c.gpu)
		s := Setup{Batch: c.batch, GPUs: 8, Workers: math.NaN(), Load: Load{
			Workload: w.WithTokens(c.tokens).resized(c.weights), GPU: gpu, Precision: c.precision, Training: true, Shard: c.shard, Recompute: c.recompute,
		}}
		n, err := s.compile()
		if err != nil {
			t.Fatal(err)
		}
		used := c.used * (1 << 30)
		t.Logf("%-10s %-13s %s batch %3.0f %4.0f tokens: at least %5.1f GB, used %5.1f GB (%s)", c.workload, c.gpu, c.precision, c.batch, c.tokens, n.need()/1e9, used/1e9, c.source)
		if n.need() > used || n.need() < 0.25*used {
			t.Errorf("%s on %s: at least %.1f GB, and a run used %.1f GB", c.workload, c.gpu, n.need()/1e9, used/1e9)
		}
	}
}

// Recomputing keeps less and takes longer.
func TestRecompute(t *testing.T) {
	for _, w := range Workloads {
		gpu, _ := hardware.FindGPU("h100-sxm")
		l := Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Training: true, Software: Compiled}
		plain, err := l.Curve()
		if err != nil {
			t.Fatal(err)
		}
		l.Recompute = true
		again, err := l.Curve()
		if err != nil {
			t.Fatal(err)
		}
		r := again.At(32).Point / plain.At(32).Point
		if !(again.Memory < 0.6*plain.Memory) || r < 1.15 || r > 1.34 {
			t.Errorf("%s: %.3g of the memory, %.3g of the time", w.Name, again.Memory/plain.Memory, r)
		}
	}
}
