package predict

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
)

func TestParseAxis(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"batch", "32..1024", "[32 64 128 256 512 1024]"},
		{"batch", "32..1000", "[32 64 128 256 512 1000]"},
		{"workers", "0..16", "[0 1 2 4 8 16]"},
		{"workers", "1..8:1", "[1 2 3 4 5 6 7 8]"},
		{"workers", "1..8:3", "[1 4 7]"},
		{"cores", "0.5..1:0.25", "[0.5 0.75 1]"},
		{"workers", "0..64/4", "[0 16 32 48 64]"},
		{"gpus", "1,2,4", "[1 2 4]"},
		{"batch", "256", "[256]"},
		{"sample", "100 KB..400 KB", "[100000 200000 400000]"},
		{"storage", "1 GB/s..4 GB/s", "[1e+09 2e+09 4e+09]"},
		{"storage", "1 GB/s..3 GB/s/2", "[1e+09 2e+09 3e+09]"},
		{"prepare", "1 ms,2 ms", "[0.001 0.002]"},
		{"cached", "0..1/4", "[0 0.25 0.5 0.75 1]"},
	} {
		a, err := ParseAxis(c.name, c.text)
		if err != nil || fmt.Sprint(a.Values) != c.want {
			t.Errorf("%s %q: %v, %v; want %s", c.name, c.text, a.Values, err, c.want)
		}
	}
	for _, c := range [][2]string{
		{"batch", "0..8"},
		{"batch", "8..1"},
		{"batch", ""},
		{"batch", "1..8:0"},
		{"batch", "1..2/0"},
		{"batch", "1..2/3"},
		{"batch", "x"},
		{"batch", "1.."},
		{"batch", "1..999999999:1"},
		{"workers", "0.5"},
		{"workers", "-1"},
		{"cached", "2"},
		{"storage", "0..1"},
		{"colour", "1"},
	} {
		if a, err := ParseAxis(c[0], c[1]); err == nil {
			t.Errorf("%s %q: %v, want an error", c[0], c[1], a.Values)
		}
	}
}

// Each point of a sweep is what Solve says of that setting.
func TestSweepIsSolve(t *testing.T) {
	for _, spread := range []float64{0, 0.5} {
		s := trained(t)
		s.Spread = spread
		sweepIsSolve(t, s)
	}
}

func sweepIsSolve(t *testing.T, s Setup) {
	axes := map[string]func(*Setup, float64){
		"batch":   func(s *Setup, v float64) { s.Batch = v },
		"workers": func(s *Setup, v float64) { *s = s.WithWorkers(v) },
		"cores":   func(s *Setup, v float64) { s.Cores = v }, "gpus": func(s *Setup, v float64) { s.GPUs = v },
		"sample":  func(s *Setup, v float64) { s.Sample = stoker.Exactly(1e4 * v) },
		"storage": func(s *Setup, v float64) { s.Storage = stoker.Exactly(1e8 * v) },
		"prepare": func(s *Setup, v float64) { s.PrepareCPU = stoker.Exactly(1e-3 * v) },
		"cached":  func(s *Setup, v float64) { s.Cached = v / 8 },
	}
	unit := map[string]float64{"sample": 1e4, "storage": 1e8, "prepare": 1e-3, "cached": 1.0 / 8}
	points := 0
	for _, one := range AxisNames {
		for _, two := range AxisNames {
			if one == two {
				continue
			}
			axis := func(name string) Axis {
				u := 1.0
				if unit[name] > 0 {
					u = unit[name]
				}
				return Axis{Name: name, Values: []float64{1 * u, 3 * u, 8 * u}}
			}
			first, second := axis(one), axis(two)
			at := 0
			err := Sweep(s, []Axis{first, second}, func(p Point) {
				moved := s
				axes[one](&moved, []float64{1, 3, 8}[at/3])
				axes[two](&moved, []float64{1, 3, 8}[at%3])
				n, err := moved.compileChecked()
				if err != nil {
					t.Fatal(err)
				}
				a, closed := mustSolve(t, moved), n.solvePoint()
				at++
				if p.X, p.Y = 0, 0; p.Step != closed.Step || p.Utilization != closed.Utilization ||
					p.Bound != closed.Bound {
					t.Errorf("%s, %s: %+v, the same setup by itself %+v", one, two, p, closed)
				}
				if s.Spread > 0 {
					return // which Solve plays
				}
				if a.Step != p.Step || a.Throughput != p.Throughput || a.Utilization != p.Utilization ||
					a.Bound.Resource == stoker.CPU && p.Bound != stoker.CPU {
					t.Errorf("%s %v, %s %v: step %+v, Solve says %+v", one, p.X, two, p.Y, p.Step, a.Step)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			points += at
		}
	}
	if points != 8*7*9 {
		t.Errorf("%d points", points)
	}
}

// What a sweep varies need not be set beside it.
func TestSweepOfWhatIsNotSet(t *testing.T) {
	s := trained(t)
	s.Batch = 0
	batches := []float64{}
	if err := Sweep(s, []Axis{{Name: "batch", Values: []float64{32, 64}}},
		func(p Point) { batches = append(batches, p.X) }); err != nil || len(batches) != 2 {
		t.Errorf("batches %v: %v", batches, err)
	}
}

func TestBadSweeps(t *testing.T) {
	batch, none := Axis{Name: "batch", Values: []float64{1, 2}}, func(Point) {}
	for name, err := range map[string]error{
		"no axis":       Sweep(trained(t), nil, none),
		"three":         Sweep(trained(t), []Axis{batch, batch, batch}, none),
		"twice":         Sweep(trained(t), []Axis{batch, batch}, none),
		"batch 0":       Sweep(trained(t), []Axis{{Name: "batch", Values: []float64{0}}}, none),
		"NaN":           Sweep(trained(t), []Axis{{Name: "cores", Values: []float64{math.NaN()}}}, none),
		"step was once": Sweep(images(t), []Axis{batch}, none),
		"bad setup":     Sweep(Setup{Cached: 2}, []Axis{batch}, none),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSweepAllocatesNothing(t *testing.T) {
	s := trained(t)
	axis := Axis{Name: "batch", Values: make([]float64, 4096)}
	for i := range axis.Values {
		axis.Values[i] = float64(i + 1)
	}
	sum := 0.0
	per := testing.AllocsPerRun(3, func() {
		if err := Sweep(s, []Axis{axis}, func(p Point) { sum += p.Step.Point }); err != nil {
			t.Fatal(err)
		}
	})
	if per > 400 { // compiling the setup, a curve per class and chip; nothing per setting
		t.Errorf("%v allocations for 4096 settings", per)
	}
}

// BenchmarkSweep reports settings per second on one core.
func BenchmarkSweep(b *testing.B) {
	s := trained(b)
	s.Spread = 0.5 // the dearer branch: batches differ in cost
	s.Batch = 8
	axes := []Axis{{Name: "workers", Values: make([]float64, 256)}, {Name: "batch", Values: make([]float64, 256)}}
	for i := range 256 {
		axes[0].Values[i], axes[1].Values[i] = float64(i), float64(i+1)
	}
	sum := 0.0
	b.ReportAllocs()
	for b.Loop() {
		if err := Sweep(s, axes, func(p Point) { sum += p.Step.Point }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*256*256/b.Elapsed().Seconds(), "settings/s")
}
