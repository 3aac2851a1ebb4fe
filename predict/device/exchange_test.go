package device

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/bounds"
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
			load: Load{
				Workload: w.WithTokens(number(t, field["tokens"])), GPU: gpu,
				Precision: hardware.Precision(field["precision"]), Training: true,
			},
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
// the exchange; the table in predict/RESULTS.md says how far off the point is.
func TestPublishedExchange(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "| GPUs | figures | measured / step on one, median | predicted, median | median error | "+
		"inside |\n|---|---|---|---|---|---|\n")
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
			e := s.load.ExchangeOver(hardware.Link{}, s.network, s.ranks/s.machine)
			at := bounds.Scale(bounds.Add(stoker.Exactly(one),
				bounds.InEachView(func(v bounds.View) float64 { return e.Exposed(v, s.machine, one) })), 1/one)
			measured, predicted = append(measured, many/one), append(predicted, at.Point)
			wrong = append(wrong, math.Abs(at.Point*one/many-1))
			if at.Low <= many/one && many/one <= at.High {
				in++
			}
			t.Logf("%-10s %-13s %-4s batch %3.0f  %2.0f of %2.0f: measured %.3f, predicted %.3f (%.3f to %.3f) of "+
				"the step on one", s.load.Workload.Name, s.load.GPU.Name, s.load.Precision, s.batch, s.machine,
				s.ranks, many/one, at.Point, at.Low, at.High)
		}
		fmt.Fprintf(&table, "| %s | %d | %.2f | %.2f | %.0f %% | %.0f %% |\n", group.title, len(measured),
			stat.Median(measured), stat.Median(predicted), 100*stat.Median(wrong),
			100*float64(in)/float64(len(measured)))
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
	l := Load{Workload: w, GPU: gpu, Precision: hardware.BF16, Training: true}
	p, rate := w.Params.Value, 450e9*reached.Point
	for shard, each := range map[Shard]float64{NoShard: 4 + 4, ZeRO1: 4 + 2, ZeRO2: 4 + 2, ZeRO3: 4 + 2 + 2} {
		l.Shard = shard
		e := l.ExchangeOver(hardware.Link{}, stoker.Interval{}, 1)
		want := 7./8*p*each/rate + 14*nvlinkLatency
		if got := e.Time(bounds.Likely, 8); !near(got, want, 1e-9) {
			t.Errorf("%q: %v s, want %v", shard, got, want)
		}
		long := e.Exposed(bounds.Likely, 8, 10) - 10*together.Point
		if e.Time(bounds.Likely, 1) != 0 || !near(long, want*(1-hidden.Point), 1e-9) ||
			!near(e.Exposed(bounds.Likely, 8, 0), want, 1e-9) {
			t.Errorf("%q: alone %v, beside a long step %v, beside none %v of %v", shard, e.Time(bounds.Likely, 1),
				long, e.Exposed(bounds.Likely, 8, 0), want)
		}
	}
	l.Shard = NoShard
	if e := l.ExchangeOver(hardware.Link{}, stoker.Interval{}, 4); !math.IsNaN(e.Time(bounds.Likely, 8)) {
		t.Errorf("four machines and no network: %v s", e.Time(bounds.Likely, 8))
	}
	e := l.ExchangeOver(hardware.Link{}, stoker.Exactly(50e9), 4)
	if got, want := e.Time(bounds.Likely, 8), 3./4*p*8/(50e9*reachedOut.Point)+6*wireLatency; !near(got, want, 1e-9) {
		t.Errorf("four machines: %v s, want %v", got, want)
	}
	l.Training = false
	if e := l.ExchangeOver(hardware.Link{}, stoker.Exactly(50e9), 4); e.Time(bounds.Pessimist, 8) != 0 {
		t.Error("inference exchanges gradients")
	}
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by }
