package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
)

func link(t testing.TB, name string) hardware.Link {
	t.Helper()
	l, found := hardware.FindLink(name)
	if !found {
		t.Fatalf("no link %s", name)
	}
	return l
}

// images is ImageNet JPEGs on one GPU with everything known.
func images(t testing.TB) Setup {
	return Setup{
		Batch: 256, Step: stoker.Exactly(0.1), Sample: stoker.Exactly(110e3), Decoded: stoker.Exactly(150528),
		Workers: 8, Cores: 16, PrepareCPU: stoker.Interval{Low: 1.2e-3, Point: 2e-3, High: 2.8e-3},
		Storage: stoker.Exactly(6.5e9), Link: link(t, "pcie4"), Pinned: true,
	}
}

func drawInterval(r *rand.Rand, low, high float64) stoker.Interval {
	at := math.Exp(math.Log(low) + r.Float64()*math.Log(high/low))
	return stoker.Interval{Low: at * (0.5 + r.Float64()/2), Point: at, High: at * (1 + r.Float64())}
}

// any draws a setup with all inputs known.
func anySetup(t testing.TB, r *rand.Rand) Setup {
	links := []string{"pcie3", "pcie4", "pcie5"}
	s := Setup{
		Batch: float64(1 + r.IntN(2048)), GPUs: float64(1 + r.IntN(8)), Step: drawInterval(r, 1e-4, 2),
		Sample: drawInterval(r, 1e2, 1e9), Decoded: drawInterval(r, 1e2, 1e9), Workers: float64(r.IntN(33)),
		Cores:      float64(1 + r.IntN(256)),
		PrepareCPU: drawInterval(r, 1e-6, 1), Spread: r.Float64() * float64(r.IntN(2)), Storage: drawInterval(r, 1e7, 1e11),
		Cached: r.Float64() * float64(r.IntN(2)), Link: link(t, links[r.IntN(3)]), Pinned: r.IntN(2) == 0,
	}
	return s.WithWorkers(s.Workers)
}

func mustSolve(t *testing.T, s Setup) Answer {
	t.Helper()
	a, err := s.Solve()
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return a
}

// With all inputs known nothing is NaN or infinite, intervals are in order and
// shares within 0 and 1.
func TestAnswersAreNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		s := anySetup(t, r)
		a := mustSolve(t, s)
		for name, i := range map[string]stoker.Interval{
			"step": a.Step, "throughput": a.Throughput, "per GPU": a.PerGPU, "utilization": a.Utilization,
			"slowdown": a.Slowdown, "stall": a.Stall,
			"storage": a.Demand.Storage, "cores": a.Demand.Cores, "workers": a.Demand.Workers, "link": a.Demand.Link,
			"samples": a.Demand.Samples,
		} {
			if !(i.Low <= i.Point && i.Point <= i.High) || math.IsInf(i.High, 0) || i.Low < 0 {
				t.Fatalf("%s is %+v for %+v", name, i, s)
			}
		}
		if !(a.Utilization.High <= 1) || !(a.Stall.High <= 1) || !(a.Slowdown.Low >= 1) || !(a.Utilization.Low > 0) {
			t.Fatalf("utilization %+v, stall %+v of %+v", a.Utilization, a.Stall, s)
		}
		if len(a.Unknown) > 0 || a.Bound.Resource == "" || len(a.Wrong) == 0 {
			t.Fatalf("unknown %v, bound %+v, wrong %v", a.Unknown, a.Bound, a.Wrong)
		}
		if text := strings.Join(a.Wrong, " "); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Fatal(text)
		}
	}
}

// Faster input never lowers throughput, at either end of the interval.
func TestFasterInputNeverLowersThroughput(t *testing.T) {
	const played = 0.01 // by which the mean of a queue that was played may differ
	r := rand.New(rand.NewPCG(3, 4))
	times := func(i stoker.Interval, k float64) stoker.Interval { return bounds.Scale(i, k) }
	for range 1000 {
		s := anySetup(t, r)
		k := 1 + r.Float64()*3
		before := mustSolve(t, s)
		for name, change := range map[string]func(*Setup){
			"storage":   func(s *Setup) { s.Storage = times(s.Storage, k) },
			"smaller":   func(s *Setup) { s.Sample = times(s.Sample, 1/k) },
			"decoded":   func(s *Setup) { s.Decoded = times(s.Decoded, 1/k) },
			"preparing": func(s *Setup) { s.PrepareCPU = times(s.PrepareCPU, 1/k) },
			"cores":     func(s *Setup) { s.Cores *= k },
			"cache":     func(s *Setup) { s.Cached += (1 - s.Cached) * (k - 1) / 3 },
			"pinned":    func(s *Setup) { s.Pinned = true },
			"device":    func(s *Setup) { s.Step = times(s.Step, 1/k) },
		} {
			after := s
			change(&after)
			a, of := mustSolve(t, after), before.PerGPU
			if got := a.PerGPU; got.Low < of.Low*(1-played) || got.Point < of.Point*(1-played) ||
				got.High < of.High*(1-played) {
				t.Fatalf("%s x %.2f: %+v, was %+v, of %+v", name, k, got, of, s)
			}
		}
	}
}

// More workers never lower throughput by more than what cores cost each other
// when they come into use.
func TestMoreWorkersNeverLowerThroughput(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		s := anySetup(t, r)
		s = s.WithWorkers(max(1, s.Workers))
		more := s
		more.Workers += float64(1 + r.IntN(8))
		a, b := mustSolve(t, s).Throughput, mustSolve(t, more).Throughput
		if s.GPUs*(s.Workers+1) > 2 && b.Point < a.Point*(1-rounding) || b.Point < a.Point/crowding.High {
			t.Fatalf("%v to %v workers: %+v to %+v of %+v", s.Workers, more.Workers, a, b, s)
		}
	}
}

// The general form is the tutorial's two-sided one where only its inputs are
// given: batch, sample size, rate of the workers, step time.
func TestAgreesWithTransformation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		batch, sample, rate, step := float64(1+r.IntN(4096)), drawInterval(r, 1e2, 1e8).Point, drawInterval(r, 1e7, 1e12).Point,
			drawInterval(r, 1e-4, 1).Point
		a := mustSolve(t, Setup{
			Batch: batch, Sample: stoker.Exactly(sample), PrepareRate: stoker.Exactly(rate),
			Step: stoker.Exactly(step), Workers: math.NaN(),
			Cached: 1, Decoded: stoker.Exactly(1), Link: linkOf(1e15, true), Pinned: true, // nothing else takes time
		})
		transform := batch * sample / rate
		slow := max(transform, step)
		if !near(a.Utilization.Point, step/slow, 1e-9) || !near(a.Slowdown.Point/(slow/step), 1, 1e-9) ||
			!near(a.Step.Point/slow, 1, 1e-9) {
			t.Fatalf("batch %v: %+v, want %v", batch, a.Step, slow)
		}
		if (a.Bound.Stage == stoker.Prepare) != (transform > step) {
			t.Fatalf("bound %+v, transform %v, step %v", a.Bound, transform, step)
		}
	}
}

// What nobody gave stays unknown, is named, and leaves a lower bound of the step.
func TestUnknownInputs(t *testing.T) {
	for name, lose := range map[string]func(*Setup){
		"storage rate": func(s *Setup) { s.Storage = stoker.Interval{} },
		"sample":       func(s *Setup) { s.Sample = stoker.Unknown() },
		"decoded":      func(s *Setup) { s.Decoded = stoker.Interval{} },
		"prepare":      func(s *Setup) { s.PrepareCPU = stoker.Unknown() },
		"workers":      func(s *Setup) { s.Workers = math.NaN() },
		"cores":        func(s *Setup) { s.Cores = 0 },
		"step time":    func(s *Setup) { s.Step = stoker.Interval{} },
		"link":         func(s *Setup) { s.Link = hardware.Link{} },
	} {
		s := images(t)
		lose(&s)
		a := mustSolve(t, s)
		found := false
		for _, m := range a.Unknown {
			found = found || m.Input == name
		}
		if !found || a.Step.Known() || a.Throughput.Known() || a.Utilization.Known() || a.Bound.Resource != "" {
			t.Errorf("without %s: unknown %v, step %+v", name, a.Unknown, a.Step)
		}
		if full := mustSolve(t, images(t)); name != "step time" &&
			!(a.Step.Low <= full.Step.Low && a.Utilization.High >= full.Utilization.High) {
			t.Errorf("without %s: step %+v is no lower bound of %+v", name, a.Step, full.Step)
		}
		if name == "step time" && (a.Utilization.Known() || a.Stall.Known()) {
			t.Errorf("utilization %+v of an unknown step", a.Utilization)
		}
	}
	a := mustSolve(t, Setup{Batch: 1, Workers: math.NaN()})
	if a.Step.Known() || a.Utilization.Known() || a.Bound.Resource != "" || len(a.Unknown) < 5 {
		t.Errorf("nothing known: %+v", a)
	}
}

// A data set in memory asks nothing of storage, known or not.
func TestCached(t *testing.T) {
	s := images(t)
	s.Storage, s.Cached = stoker.Unknown(), 1
	if a := mustSolve(t, s); len(a.Unknown) > 0 || a.Demand.Storage.Point != 0 {
		t.Errorf("unknown %v, demand %v", a.Unknown, a.Demand.Storage)
	}
	// research: simulation agrees to 0.006
	for cached, hits := range map[float64]float64{0.25: 0.034, 0.5: 0.153, 0.8: 0.478, 0.95: 0.800} {
		if m := missRatio(cached); !near(1-m.High, hits, 0.001) || !near(1-m.Low, cached, 1e-12) {
			t.Errorf("%v cached: misses %+v, want hits from %v", cached, m, hits)
		}
	}
}

// A zero is never a setting: who does not say how many workers there are is told what
// is unknown, not what the launching thread would load.
func TestZeroWorkersAreNotSet(t *testing.T) {
	s := images(t)
	s.Workers = 0
	unset, unknown := mustSolve(t, s), mustSolve(t, s.WithWorkers(math.NaN()))
	// an unknown end is no number, which equals nothing
	told := func(a Answer) string { return fmt.Sprint(a.Step, a.Bound) }
	if told(unset) != told(unknown) || told(unset) == told(mustSolve(t, s.WithWorkers(0))) {
		t.Errorf("not set: %+v; unknown: %+v", unset.Step, unknown.Step)
	}
}

func TestSerialLoop(t *testing.T) {
	s := images(t).WithWorkers(0)
	s.Pinned = true
	a := mustSolve(t, s)
	batch := 256 * s.Decoded.Point // so large that its pages are new each time
	input := 256*2e-3 + 256*110e3/6.5e9 + costFreshPages(bounds.Likely, batch)
	if !near(a.Step.Point, input+0.1, 1e-9) || a.Bound.Resource != stoker.MainThread || a.Step.Low >= a.Step.Point {
		t.Errorf("step %+v bound %+v, want %v in the launching thread", a.Step, a.Bound, input+0.1)
	}
}

// A copy from pageable memory adds to the step; from pinned memory the slower of
// the two decides.
func TestPinned(t *testing.T) {
	s := images(t)
	s.Decoded, s.PrepareCPU, s.HandOver = stoker.Exactly(5e6), stoker.Exactly(1e-6), stoker.Exactly(1e-6)
	s.Workers, s.Cores, s.Cached = 64, 256, 1
	pinned := mustSolve(t, s)
	s.Pinned = false
	pageable := mustSolve(t, s)
	if !near(pinned.Step.Point, 0.1, 1e-9) {
		t.Errorf("pinned: %+v", pinned.Step)
	}
	l := s.linkRate()
	if want := 0.1 + 256*5e6/l.Point; !near(pageable.Step.Point, want, 1e-9) {
		t.Errorf("pageable: %+v, want %v", pageable.Step, want)
	}
}

func TestBadSetups(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Setup)
	}{
		{"batch is 1e+300", func(s *Setup) { s.Batch = 1e300 }},
		{"batch is 0", func(s *Setup) { s.Batch = 0 }},
		{"batch is -1", func(s *Setup) { s.Batch = -1 }},
		{"batch is NaN", func(s *Setup) { s.Batch = math.NaN() }},
		{"gpus is 0.5", func(s *Setup) { s.GPUs = 0.5 }},
		{"workers is -1", func(s *Setup) { s.Workers = -1 }},
		{"the launching thread loads", func(s *Setup) { s.InLoop = true }},
		{"cores is -4", func(s *Setup) { s.Cores = -4 }},
		{"storage rate is -1", func(s *Setup) { s.Storage = stoker.Exactly(-1) }},
		{"storage rate is 2", func(s *Setup) { s.Storage = stoker.Interval{Low: 3, Point: 2, High: 1} }},
		{"step is 1", func(s *Setup) { s.Step = stoker.Interval{Low: 0, Point: 1, High: 1} }},
		{"sample is +Inf", func(s *Setup) { s.Sample = stoker.Exactly(math.Inf(1)) }},
		{"cached is 1.5", func(s *Setup) { s.Cached = 1.5 }},
	} {
		s := images(t)
		c.change(&s)
		if _, err := s.Solve(); err == nil || !strings.Contains(err.Error(), c.name) ||
			!strings.Contains(err.Error(), "expected") {
			t.Errorf("error %v, want %q and what is expected", err, c.name)
		}
	}
}

// A setup made of tables alone is answered in full, and small files are slower
// than large ones.
func TestFromTables(t *testing.T) {
	p, found := FindProfile("imagenet-jpeg")
	nvme, known := hardware.FindStorage("nvme")
	if !found || !known {
		t.Fatal("no ImageNet or no NVMe")
	}
	s := trained(t)
	s.Sample, s.Decoded, s.PrepareCPU, s.Storage = stoker.Interval{}, stoker.Interval{}, stoker.Interval{},
		stoker.Interval{}
	s = s.withProfile(p).WithStorage(nvme, p.Access)
	if a := mustSolve(t, s); len(a.Unknown) > 0 || !a.Step.Known() {
		t.Errorf("unknown: %v", a.Unknown)
	}
	s.Sample = stoker.Exactly(100)
	s.Batch = 100
	shards, files := s.WithStorage(nvme, Sequential).read(t), s.WithStorage(nvme, Files).read(t)
	if want := 100 / nvme.IOPS.Value; !near(files, want, 1e-9) || !(shards < files/10) {
		t.Errorf("100 files of 100 bytes: %v s, want %v; in shards %v", files, want, shards)
	}
}

// read is for how long storage is busy with a batch.
func (s Setup) read(t *testing.T) float64 {
	t.Helper()
	for _, stage := range mustSolve(t, s).Stages {
		if stage.Resource == stoker.Storage {
			return stage.Time.Point
		}
	}
	t.Fatal("no storage")
	return 0
}

// Nothing overflows at the ends of what is accepted.
func TestExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	far := func(low, high float64) stoker.Interval { return stoker.Exactly([]float64{low, high}[r.IntN(2)]) }
	for range 500 {
		s := Setup{
			Batch: far(1, bounds.MostCount).Point, GPUs: far(1, bounds.MostCount).Point,
			Step: far(bounds.Least, bounds.Most), Sample: far(bounds.Least, bounds.Most),
			Decoded: far(bounds.Least, bounds.Most),
			Workers: far(0, bounds.MostCount).Point, Cores: far(0.01, bounds.MostCount).Point,
			PrepareCPU: far(bounds.Least, bounds.Most), Spread: far(0, bounds.MostCount).Point,
			Storage: far(bounds.Least, bounds.Most), Cached: r.Float64(), Link: link(t, "pcie4"),
			Pinned: r.IntN(2) == 0,
		}
		s = s.WithWorkers(s.Workers)
		a := mustSolve(t, s)
		for name, i := range map[string]stoker.Interval{
			"step": a.Step, "throughput": a.Throughput,
			"utilization": a.Utilization, "slowdown": a.Slowdown, "cores": a.Demand.Cores,
		} {
			if math.IsNaN(i.Low+i.Point+i.High) || math.IsInf(i.Low+i.Point+i.High, 0) {
				t.Fatalf("%s is %+v of %+v", name, i, s)
			}
		}
		if z, err := s.Size(0.9); err != nil || math.IsInf(z.Workers.High, 0) || math.IsInf(z.Storage.High, 0) {
			t.Fatalf("%v, %+v", err, z)
		}
	}
}

// withProfile fills in what a kind of data usually costs, where the setup does
// not say: stored and decoded bytes, core time, its spread. Samples that are
// computed rather than read ask nothing of storage. A profile per token is to be
// made one per sample first (Profile.For).
func (s Setup) withProfile(p Profile) Setup {
	fill := func(to *stoker.Interval, from Amount) {
		if !bounds.IsSet(*to) && bounds.IsSet(from.Interval) {
			*to = from.Interval
		}
	}
	fill(&s.Sample, p.Stored)
	fill(&s.Decoded, p.Decoded)
	if !bounds.IsSet(s.PrepareRate) {
		fill(&s.PrepareCPU, p.Prepare)
	}
	if s.Spread == 0 && p.Spread.Point > 0 {
		s.Spread = p.Spread.Point
	}
	if p.Access == NoStorage {
		s.Cached = 1
	}
	return s
}
