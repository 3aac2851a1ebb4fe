package serving

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-dev/stoker/internal/stat"
)

// One request a pass, each of the same length: the mean wait of M/D/1 is u s / 2(1 - u).
func TestOneByOneIsTheTextbooksQueue(t *testing.T) {
	l := Line{PerRequest: 0.02, Most: 1, CV: 1e-9}
	for _, use := range []float64{0.3, 0.6, 0.8} {
		var all []float64
		for seed := range 60 {
			all = append(all, stat.Mean(l.simulate(use/0.02, rand.New(rand.NewPCG(7, uint64(seed))))))
		}
		want := 0.02 + use*0.02/2/(1-use)
		if got := stat.Mean(all); math.Abs(got/want-1) > 0.06 {
			t.Errorf("at %.0f %% of its capacity a request takes %.4f s, the textbook says %.4f", 100*use, got, want)
		}
	}
}

// A server that is measured as it is takes what it takes.
func TestServerIsFoundAgain(t *testing.T) {
	truth := Line{PerPass: 0.02, PerRequest: 0.002, Most: 8, CV: 1e-9}
	times := truth.simulate(16, rand.New(rand.NewPCG(3, 3)))
	s := FitServer(Fit{
		Rate: 16, P50: stat.Quantile(times, 0.5), P99: stat.Quantile(times, 0.99), Busy: 0.025, Batch: 2.5, Most: 8,
		PerRequest: [2]float64{0.002, 0.002},
	})
	if c := s.Capacity(); math.Abs(c.Point/truth.Capacity()-1) > 0.02 || c.High/c.Low > 1.05 {
		t.Errorf("capacity %+v, it is %.1f", c, truth.Capacity())
	}
	f := s.At(0.6 * truth.Capacity())
	var p99 []float64
	for seed := range 20 {
		p99 = append(p99, stat.Quantile(truth.simulate(f.Rate, rand.New(rand.NewPCG(9, uint64(seed)))), 0.99))
	}
	if at := stat.Median(p99); !(f.P99.Low <= at && at <= f.P99.High) {
		t.Errorf("p99 %+v, it is %.3f", f.P99, at)
	}
	if over := s.At(1.1 * truth.Capacity()); !math.IsNaN(over.P99.Point) {
		t.Errorf("beyond its capacity a queue has no p99, it says %+v", over.P99)
	}
}

// Passes of one to three requests say what passes of sixteen take, and how they scatter.
func TestCapacityFollowsFromSmallPasses(t *testing.T) {
	chance, truth := rand.New(rand.NewPCG(5, 5)), Line{PerPass: 0.02, PerRequest: 0.004, Most: 16, CV: 0.1}
	fit := Fit{Rate: 20, P50: 0.03, P99: 0.06, Busy: 0.027, Batch: 1.7, Most: 16, PerRequest: [2]float64{0, 0.027 / 1.7}}
	for i := range 300 {
		n := float64(1 + i%3)
		fit.Passes = append(fit.Passes, Pass{n, (truth.PerPass + n*truth.PerRequest) * truth.draw(chance)})
	}
	c := FitServer(fit).Capacity()
	if want := truth.Capacity(); !(c.Low <= want && want <= c.High) || c.High/c.Low > 1.6 {
		t.Errorf("capacity %+v, it is %.0f", c, want)
	}
}

// A pass never costs less than none: sizes that hardly vary leave the cost of a further request open.
func TestEqualPassesLeaveTheSlopeOpen(t *testing.T) {
	fit := Fit{Rate: 10, P50: 0.03, P99: 0.05, Busy: 0.03, Batch: 1, Most: 8, PerRequest: [2]float64{0, 0.03}}
	for range 40 {
		fit.Passes = append(fit.Passes, Pass{1, 0.03})
	}
	if c := FitServer(fit).Capacity(); math.Abs(c.Low-1/0.03) > 1 || math.Abs(c.High-8/0.03) > 1 {
		t.Errorf("capacity %+v, it may be anything from 33 to 267", c)
	}
}

// A server that was recorded at all that it takes answers no faster than its passes at a lower load.
func TestFromAFullLoad(t *testing.T) {
	for name, f := range map[string]Fit{
		"one at a time": {Rate: 5, P50: 0.8, P99: 1.2, Busy: 0.2, Batch: 1, Most: 1, CV: 0.1},
		"tokens":        {Rate: 8, P50: 1.5, P99: 1.7, Busy: 0.07, Batch: 12, Most: 12, CV: 0.1, Rounds: 20, PerRequest: [2]float64{0, 0.001}},
	} {
		pass := f.Busy * max(1, f.Rounds)
		got := FitServer(f).At(f.Rate / 3)
		if got.P50.Point < 0.8*pass || got.P99.Point < got.P50.Point {
			t.Errorf("%s: half within %.3f s, 99 %% within %.3f s of passes that take %.3f s", name, got.P50.Point, got.P99.Point, pass)
		}
	}
}

// A load takes as many servers as keep below their capacity, and a million requests their hours.
func TestServersOfALoad(t *testing.T) {
	s := FitServer(Fit{Rate: 2, P50: 0.2, P99: 0.3, Busy: 0.25, Batch: 1, Most: 1, CV: 0.1})
	for rate, want := range map[float64]float64{1: 1, 3.9: 2, 10: 3} { // of 4 requests/s each
		if f := s.At(rate); f.Servers() != want || math.Abs(f.Million()/(want*1e6/rate/3600)-1) > 1e-9 {
			t.Errorf("%v requests/s: %v servers, %v h", rate, f.Servers(), f.Million())
		}
	}
}
