package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-dev/stoker"
)

// compared returns the result for the times of two runs.
func compared(x, y []float64) (ratio, mean stoker.Interval, d Difference) {
	a, b := takeSample(x), takeSample(y)
	ratio = a.over(b)
	return ratio, a.meanInterval(), differ(ratio)
}

// steps are those of a process, by a seed.
func steps(p process, n int, seed uint64) []float64 {
	return p.steps(n, rand.New(rand.NewPCG(seed, 0)))
}

// The distribution holds what tables print for 95 %.
func TestStudent(t *testing.T) {
	for degrees, at := range map[int]float64{2: 4.3027, 4: 2.7764, 10: 2.2281, 18: 2.1009, 40: 2.0211} {
		if got := studentWithin(at, degrees); math.Abs(got-0.95) > 1e-5 {
			t.Errorf("%d degrees of freedom within %v: %v, want 0.95", degrees, at, got)
		}
	}
}

// A transform is the sum that its comment says, and steps that do not change have none.
func TestTransform(t *testing.T) {
	const n = 60
	x := steps(remembering(0.5), n, 1)
	mean := 0.0
	for _, v := range x {
		mean += v / n
	}
	low := transform(x, mean)
	if len(low.squares) != n/2 {
		t.Fatalf("%d frequencies, want %d", len(low.squares), n/2)
	}
	for j, got := range low.squares {
		sum := 0.0
		for i, v := range x {
			sum += v / mean * math.Cos(math.Pi*float64(j+1)*(float64(i)+0.5)/n)
		}
		if want := sum * sum * 2 / n; math.Abs(got-want) > 1e-9*(1+want) {
			t.Errorf("frequency %d: %v, want %v", j+1, got, want)
		}
	}
}

// The closed form of the variance of a mean equals the double sum.
func TestVarianceOfTheMean(t *testing.T) {
	const n = 20
	low := transform(steps(remembering(0), n, 2), 1)
	q := float64(len(low.squares))
	for _, r := range []float64{-0.7, 0.1, 0.5, 0.9, 0.98} {
		memory := math.Copysign(math.Pow(math.Abs(r), (q+1)/n), r)
		want, sum := 0.0, 0.0
		for i := range n {
			for k := range n {
				want += math.Pow(memory, math.Abs(float64(i-k))) / (1 - memory*memory) / (n * n)
			}
		}
		for j, square := range low.squares {
			sum += square * (1 - 2*memory*math.Cos(math.Pi*float64(j+1)/n) + memory*memory)
		}
		if scale, _ := low.remembering(r); math.Abs(scale*scale/(want*sum/q)-1) > 1e-9 {
			t.Errorf("memory %v: %v, want %v", r, scale*scale, want*sum/q)
		}
	}
}

// What a run counts for falls with its memory, and its interval grows.
func TestIndependent(t *testing.T) {
	var last sample
	for i, memory := range []float64{0, 0.5, 0.9} {
		s := takeSample(steps(remembering(memory), 1000, 3))
		if i > 0 && (s.independent > 0.6*last.independent || s.alone < 1.2*last.alone || s.paired > s.alone) {
			t.Errorf("rho %v: %+v, before %+v", memory, s, last)
		}
		last = s
	}
	if s := takeSample(steps(remembering(0), 1000, 4)); s.independent < 600 || s.independent > 1000 {
		t.Errorf("independent steps count as %v", s.independent)
	}
}

// Steps that differ by rounding alone have no doubt, and alternating ones hardly any.
func TestConstantSteps(t *testing.T) {
	constant, turns := make([]float64, 400), make([]float64, 400)
	for i := range constant {
		constant[i] = float64(i+1)*0.06 - float64(i)*0.06 // 0.06 up to rounding
		turns[i] = 1 + 0.5*float64(i%2)
	}
	if s := takeSample(constant); s.alone != 0 || s.paired != 0 || s.independent != 400 {
		t.Errorf("constant: %+v", s)
	}
	if s := takeSample(turns); s.alone > 0.01 || s.independent != 400 {
		t.Errorf("alternating: %+v", s)
	}
}

// Where an interval cannot be had, the page says so: a drift, a walk, a few steps that
// take ten times as long. Steady runs, few and many steps, are not blamed. The bounds
// are what 2,000 runs gave, and two and a half errors of what 300 tell.
func TestTrust(t *testing.T) {
	const runs = 300
	for _, c := range []struct {
		process process
		n       int
		least   int // percent of runs that are warned of
		most    int
	}{
		{remembering(0), 20, 0, 8}, // 5
		{remembering(0), 400, 0, 0},
		{remembering(0.5), 100, 0, 0},
		{remembering(0.9), 400, 0, 1},
		{remembering(0.9), 20, 89, 100}, // 93
		{logNormal(0.5, 0), 100, 0, 3},  // 1
		{drifting(0.3), 100, 96, 100},   // 98
		{drifting(0.3), 1000, 96, 100},
		{walking(), 1000, 92, 100},              // 96
		{stragglers(0.01, 10, 0), 200, 65, 100}, // 71: 13 % of such runs have no straggler at all
		{periodic(50, 5), 100, 100, 100},
	} {
		warned := 0
		for seed := range uint64(runs) {
			if len(takeSample(steps(c.process, c.n, seed)).trust("before")) > 0 {
				warned++
			}
		}
		if 100*warned < c.least*runs || 100*warned > c.most*runs {
			t.Errorf("%s, n %d: %d of %d runs are warned of, want %d to %d %%", c.process.name, c.n, warned, runs, c.least, c.most)
		}
	}
}

// An effect on the mean that is smaller than that of a restart causes no warning.
func TestTrustOfSteadyRuns(t *testing.T) {
	for _, p := range []process{periodic(50, 5), drifting(0.3)} {
		x := steps(p, 100, 1)
		loud := takeSample(x).trust("before")
		for i := range x {
			x[i] = 1 + x[i]/1000
		}
		if quiet := takeSample(x).trust("before"); len(loud) == 0 || len(quiet) > 0 {
			t.Errorf("%s: %q; a thousandth of it: %q", p.name, loud, quiet)
		}
	}
}
