package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// process makes n steps of a kind of run and says what their mean would be in a run
// without end.
type process struct {
	name  string
	steps func(n int, r *rand.Rand) []float64
	mean  float64
}

// normal makes n deviations of which each remembers the one before: an
// autoregression of first order with variance 1.
func normal(n int, memory float64, r *rand.Rand) []float64 {
	x, level := make([]float64, n), r.NormFloat64()
	for i := range x {
		x[i] = level
		level = memory*level + math.Sqrt(1-memory*memory)*r.NormFloat64()
	}
	return x
}

// made is a process whose steps come from normal deviations, one by one.
func made(name string, memory, mean float64, step func(i int, deviation float64, r *rand.Rand) float64) process {
	return process{name, func(n int, r *rand.Rand) []float64 {
		x := normal(n, memory, r)
		for i := range x {
			x[i] = step(i, x[i], r)
		}
		return x
	}, mean}
}

// remembering is the process that the interval is promised for.
func remembering(memory float64) process {
	return made(fmt.Sprintf("rho %.2g", memory), memory, 1, func(_ int, d float64, _ *rand.Rand) float64 { return 1 + 0.1*d })
}

// workers is a process of several workers that take turns, each with a pace of its
// own that changes slowly.
func workers(count int, memory float64) process {
	return process{fmt.Sprintf("%d workers in turn, rho %.2g each", count, memory), func(n int, r *rand.Rand) []float64 {
		x := make([]float64, n)
		for w := range count {
			for i, d := range normal((n+count-1)/count, memory, r) {
				if at := i*count + w; at < n {
					x[at] = 1 + 0.1*d
				}
			}
		}
		return x
	}, 1}
}

// periodic has a longer step at regular intervals, with a random phase.
func periodic(every int, times float64) process {
	return process{fmt.Sprintf("every %dth step %gx", every, times), func(n int, r *rand.Rand) []float64 {
		x, phase := normal(n, 0, r), r.IntN(every)
		for i := range x {
			x[i] = 1 + 0.05*x[i]
			if (i+phase)%every == 0 {
				x[i] *= times
			}
		}
		return x
	}, 1 + (times-1)/float64(every)}
}

// drifting moves by a share of its mean from the first to the last step.
func drifting(by float64) process {
	return process{fmt.Sprintf("drift of %g %%", 100*by), func(n int, r *rand.Rand) []float64 {
		x := normal(n, 0, r)
		for i := range x {
			x[i] = (1 + 0.05*x[i]) * (1 + by*(float64(i)/float64(n-1)-0.5))
		}
		return x
	}, 1}
}

// neighbour comes and goes, and steps take a fifth longer while it is there.
func neighbour(stays int) process {
	return process{fmt.Sprintf("a neighbour for %d steps at a time", stays), func(n int, r *rand.Rand) []float64 {
		x, there := make([]float64, n), float64(r.IntN(2))
		for i := range x {
			x[i] = 0.9 + 0.2*there + 0.02*r.NormFloat64()
			if r.IntN(stays) == 0 {
				there = 1 - there
			}
		}
		return x
	}, 1}
}

func stragglers(share, times, memory float64) process {
	return made(fmt.Sprintf("%g %% of steps %gx, rho %.2g", 100*share, times, memory), memory, 1+share*(times-1), func(_ int, d float64, r *rand.Rand) float64 {
		if r.Float64() < share {
			return times * (1 + 0.05*d)
		}
		return 1 + 0.05*d
	})
}

func logNormal(sigma, memory float64) process {
	return made(fmt.Sprintf("log-normal, sigma %g, rho %.2g", sigma, memory), memory, math.Exp(sigma*sigma/2), func(_ int, d float64, _ *rand.Rand) float64 {
		return math.Exp(sigma * d)
	})
}

// quantised steps are counted in ticks of a tenth of their mean.
func quantised(memory float64) process {
	return made(fmt.Sprintf("in ticks of 10 %%, rho %.2g", memory), memory, 1, func(_ int, d float64, _ *rand.Rand) float64 {
		return math.Round(10*(1+0.1*d)) / 10
	})
}

// loaded is a slow load under steps that scatter by themselves as much.
func loaded(memory float64) process {
	return made(fmt.Sprintf("load with rho %.2g and jitter", memory), memory, 1, func(_ int, d float64, r *rand.Rand) float64 {
		return 1 + 0.07*d + 0.07*r.NormFloat64()
	})
}

// walking has no mean at all.
func walking() process {
	return process{"random walk", func(n int, r *rand.Rand) []float64 {
		x, level := make([]float64, n), 0.0
		for i := range x {
			x[i] = 1 + 0.2*level/math.Sqrt(float64(n))
			level += r.NormFloat64()
		}
		return x
	}, 1}
}

// tally counts what became of pairs of runs in which nothing was changed.
type tally struct {
	pairs  int
	ratio  int     // the ratio's interval held 1
	mean   int     // the first run's interval held its mean
	called int     // called faster or slower
	short  int     // called too short
	width  float64 // sum of the logarithms of the ratio's half-width
	spread float64 // sum of squares of the logarithm of the ratio
}

// percent is a share of the pairs.
func (t tally) percent(n int) float64 { return 100 * float64(n) / float64(t.pairs) }

// wider is the half-width over the one that somebody would give who knew how means
// of such runs scatter.
func (t tally) wider() float64 {
	return math.Exp(t.width/float64(t.pairs)) / (1.96 * math.Sqrt(t.spread/float64(t.pairs)))
}

// unchanged compares pairs of runs of n and m steps of a process. Seeds are fixed.
func unchanged(before, after process, n, m, pairs int) tally {
	t := tally{pairs: pairs}
	for i := range pairs {
		source := rand.New(rand.NewPCG(uint64(i), uint64(n)<<32|uint64(m)))
		x, y := before.steps(n, source), after.steps(m, source)
		for k := range y {
			y[k] *= before.mean / after.mean
		}
		ratio, mean, difference := compared(x, y)
		if ratio.Contains(1) {
			t.ratio++
		}
		if mean.Contains(before.mean) {
			t.mean++
		}
		switch difference {
		case Faster, Slower:
			t.called++
		case TooShort:
			t.short++
		default:
		}
		t.width += math.Log(math.Log(ratio.High/ratio.Low) / 2)
		t.spread += math.Log(ratio.Point) * math.Log(ratio.Point)
	}
	return t
}

// The interval of a ratio of means covers the truth in 95 ± 2 of 100 pairs of runs, for any
// length and correlation of steps, and so does that of one run's mean. Unchanged runs are
// called faster or slower in at most 5 of 100 pairs. With 1,500 pairs the standard error of a
// share is 0.56 points; two of those are allowed.
func TestCoverage(t *testing.T) {
	const pairs, chance = 1500, 1.1
	for _, n := range []int{20, 40, 100, 400} {
		for _, memory := range []float64{0, 0.5, 0.8, 0.9} {
			t.Run(fmt.Sprintf("n %d, rho %.1f", n, memory), func(t *testing.T) {
				t.Parallel()
				p := remembering(memory)
				got := unchanged(p, p, n, n, pairs)
				ratio, mean, called := got.percent(got.ratio), got.percent(got.mean), got.percent(got.called)
				t.Logf("ratio inside %.1f %%, mean %.1f %%; called %.1f %%, too short %.1f %%", ratio, mean, called, got.percent(got.short))
				if math.Abs(ratio-95) > 2+chance || math.Abs(mean-95) > 2+chance || called > 5+chance {
					t.Errorf("the interval of the ratio holds the truth in %.1f %% of pairs, that of the mean in %.1f %%; %.1f %% are called faster or slower", ratio, mean, called)
				}
			})
		}
	}
}

// Runs of other lengths, and of which one is far less steady, are compared as well. Of
// 600 pairs a share is known to 0.9 points.
func TestCoverageOfUnlikeRuns(t *testing.T) {
	for _, c := range []struct {
		before, after process
		n, m          int
	}{
		{remembering(0), remembering(0), 20, 1000},
		{remembering(0.9), remembering(0), 400, 30},
		{remembering(0.8), remembering(0.3), 60, 200},
		{remembering(0.9), remembering(0.9), 40, 1000},
		{remembering(0.9), remembering(0), 20, 20},
		{remembering(0.7), remembering(0), 25, 25},
		{remembering(0.9), remembering(0.9), 100, 300},
		{remembering(0.5), logNormal(0.5, 0), 1000, 40},
		{quantised(0.5), quantised(0.5), 40, 100},
	} {
		got := unchanged(c.before, c.after, c.n, c.m, 600)
		t.Logf("%s, n %d; %s, n %d: inside %.1f %%, called %.1f %%", c.before.name, c.n, c.after.name, c.m, got.percent(got.ratio), got.percent(got.called))
		if inside := got.percent(got.ratio); inside < 93 || inside > 98 {
			t.Errorf("%s, n %d; %s, n %d: the truth is inside in %.1f %%", c.before.name, c.n, c.after.name, c.m, inside)
		}
	}
}

// TestCoverageTable prints the tables of verify/RESULTS.md:
//
//	STOKER_COVERAGE=4000 go test -count=1 -v -run CoverageTable ./verify
func TestCoverageTable(t *testing.T) {
	pairs, err := strconv.Atoi(os.Getenv("STOKER_COVERAGE"))
	if err != nil {
		t.Skip("STOKER_COVERAGE is not set to a number of pairs: the large simulation, minutes")
	}
	lengths := []int{20, 40, 100, 400, 1000}
	for _, column := range []struct {
		title string
		text  func(tally) string
	}{
		{"held, called, too short, %", func(t tally) string {
			return fmt.Sprintf("%.1f, %.1f, %.0f", t.percent(t.ratio), t.percent(t.called), t.percent(t.short))
		}},
		{"mean held, %; width", func(t tally) string { return fmt.Sprintf("%.1f; %.2f", t.percent(t.mean), t.wider()) }},
	} {
		fmt.Printf("\n| %s | %s |\n|---|%s\n", column.title, strings.Trim(strings.ReplaceAll(fmt.Sprint(lengths), " ", " | "), "[]"), strings.Repeat("---|", len(lengths)))
		for _, row := range table(lengths, pairs) {
			fmt.Printf("| %s |", row.name)
			for _, cell := range row.cells {
				fmt.Printf(" %s |", column.text(cell))
			}
			fmt.Println()
		}
	}
}

type row struct {
	name  string
	cells []tally
}

// table is every process at every length, simulated once.
var table = func() func([]int, int) []row {
	var once sync.Once
	var rows []row
	return func(lengths []int, pairs int) []row {
		once.Do(func() { rows = simulated(lengths, pairs) })
		return rows
	}
}()

func simulated(lengths []int, pairs int) []row {
	processes := []process{
		remembering(0), remembering(0.3), remembering(0.5), remembering(0.7), remembering(0.8), remembering(0.9), remembering(0.95),
		logNormal(0.5, 0), logNormal(0.5, 0.8), logNormal(1, 0), stragglers(0.01, 10, 0), stragglers(0.01, 10, 0.8), stragglers(0.05, 3, 0),
		periodic(50, 2), periodic(50, 5), periodic(8, 3), quantised(0), quantised(0.8), drifting(0.1), drifting(0.3),
		loaded(0.9), workers(4, 0.8), workers(8, 0.9), neighbour(20), neighbour(100), walking(),
	}
	rows := make([]row, len(processes))
	var all sync.WaitGroup
	for i, p := range processes {
		rows[i] = row{p.name, make([]tally, len(lengths))}
		for k, n := range lengths {
			all.Go(func() { rows[i].cells[k] = unchanged(p, p, n, n, pairs) })
		}
	}
	all.Wait()
	return rows
}

// Pieces of one real run are the same job: they are called faster or slower as seldom
// as unchanged runs, though the machines were shared and did change their pace.
func TestPiecesOfRealRuns(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*/run.jsonl.gz")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, n := range []int{20, 40, 100} {
		pairs, called, short, from := 0, 0, 0, 0
		for _, file := range files {
			run, err := recording.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			var pieces []sample
			side := observe(run, "")
			if side.requests().Known() {
				continue // a server's pace is that of its clients
			}
			times := side.window.StepTimes()
			long := max(n, int(leastSeconds/stat.Mean(times))) // shorter ones are not compared
			for piece := range slices.Chunk(times, long) {
				if len(piece) == long {
					pieces = append(pieces, takeSample(piece))
				}
			}
			if len(pieces) > 1 {
				from++
			}
			for i, a := range pieces {
				for _, b := range pieces[:i] {
					switch pairs++; differ(a.over(b)) {
					case Faster, Slower:
						called++
					case TooShort:
						short++
					default:
					}
				}
			}
		}
		share := 100 * float64(called) / float64(pairs)
		t.Logf("n %d: %d pairs of pieces of %d runs: %.1f %% called, %.0f %% too short", n, pairs, from, share, 100*float64(short)/float64(pairs))
		if share > 5 {
			t.Errorf("n %d: %.1f %% of %d pairs of pieces of the same run are called faster or slower", n, share, pairs)
		}
	}
}
