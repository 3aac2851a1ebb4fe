package recording

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/internal/stat"
)

// fetches are rows of steps of one loader that are alike.
type fetches struct {
	n         int
	optimized float64 // NaN: unknown
	work      float64 // of the device in each, of a step of 10 ms; NaN: no clock
	pass      int
}

// runOf returns a run of such rows on a device whose counter records their work. called says
// that a model was called.
func runOf(called bool, rows ...fetches) *Run {
	r := &Run{}
	if called {
		r.Facts.Model = &ModelFacts{Device: "cuda:0"}
	}
	meter := Series{Signal: GPUKernels, Subject: "gpu/0"}
	const took = 0.01
	for _, row := range rows {
		for range row.n {
			at := took * float64(len(r.Steps))
			r.Steps = append(r.Steps, Step{
				PID: 1, N: len(r.Steps), Start: at, Period: took, Wait: took - stat.Or(row.work, 0), Samples: 8, Phase: Train, Pass: row.pass,
				Optimized: row.optimized, Idle: took - row.work, DevicePeriod: took,
			})
			meter.T, meter.V = append(meter.T, at+took/2), append(meter.V, max(0, stat.Or(row.work, 0)/took))
		}
	}
	r.Series = []Series{meter}
	return r
}

// Batches behind which nothing works are no steps, with an optimizer in sight or without, before
// anything else has happened and after it; what works a little in each step is a step.
func TestSkippedFetchesAreNotSteps(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		run  *Run
		want int // of them skipped
	}{
		"then it trains":                   {runOf(true, fetches{100, 0, 0, 0}, fetches{200, 1, 8e-3, 0}), 100},
		"then it computes":                 {runOf(false, fetches{100, 0, 0, 0}, fetches{200, 0, 8e-3, 0}), 100},
		"optimizer steps are not known":    {runOf(false, fetches{100, nan, 0, 0}, fetches{200, nan, 8e-3, 0}), 100},
		"it has just begun":                {runOf(false, fetches{500, 0, 0, 0}, fetches{12, 0, 8e-3, 0}), 500},
		"nothing else has happened yet":    {runOf(false, fetches{100, 0, 0, 0}), 100},
		"nor though a model was evaluated": {runOf(true, fetches{100, 0, 0, 0}), 100},
		"some in the midst":                {runOf(true, fetches{100, 1, 8e-3, 0}, fetches{50, 0, 0, 0}, fetches{100, 1, 8e-3, 0}), 50},
		"they are copied first":            {runOf(true, fetches{100, 0, 3e-4, 0}, fetches{200, 1, 8e-3, 0}), 100},
		"whole epochs":                     {runOf(true, fetches{100, 0, 0, 0}, fetches{100, 0, 0, 1}, fetches{50, 1, 8e-3, 2}), 200},
		"copied, then it computes":         {runOf(false, fetches{100, 0, 3e-4, 0}, fetches{200, 0, 8e-3, 0}), 100},
		"a large one now and then":         {runOf(false, fetches{50, 0, 2e-4, 0}, fetches{3, 0, 8e-3, 0}, fetches{50, 0, 2e-4, 0}, fetches{3, 0, 8e-3, 0}), 0},
		"the clock starts with training":   {runOf(false, fetches{100, 0, nan, 0}, fetches{200, 0, 8e-3, 0}), 100},
		"the first has first calls":        {runOf(false, fetches{1, 0, 9e-3, 0}, fetches{100, 0, 0, 0}, fetches{400, 0, 8e-3, 0}), 101},
		"the host is late for one":         {runOf(false, fetches{50, 0, 0, 0}, fetches{1, 0, 9e-3, 0}, fetches{50, 0, 0, 0}, fetches{300, 0, 8e-3, 0}), 101},
		"no clock":                         {runOf(true, fetches{100, 0, nan, 0}, fetches{200, 1, nan, 0}), 100},
		"it trains from the first on":      {runOf(true, fetches{300, 1, 8e-3, 0}), 0},
		"a small model starves":            {runOf(true, fetches{300, 0, 1e-4, 0}), 0},
		"as one that trains":               {runOf(true, fetches{300, 1, 1e-4, 0}), 0},
		"gradients are accumulated":        {runOf(true, fetches{15, 0, 8e-3, 0}, fetches{1, 1, 8e-3, 0}, fetches{15, 0, 8e-3, 0}, fetches{1, 1, 8e-3, 0}), 0},
		"it acts before it learns":         {runOf(true, fetches{100, 0, 7e-3, 0}, fetches{100, 1, 8e-3, 0}), 0},
		"a batch without a label":          {runOf(true, fetches{100, 1, 8e-3, 0}, fetches{1, 0, 0, 0}, fetches{100, 1, 8e-3, 0}), 0},
		"an evaluation without a clock":    {runOf(true, fetches{100, 1, nan, 0}, fetches{100, 0, nan, 1}), 0},
		"a few fetches":                    {runOf(false, fetches{5, 0, 0, 0}), 0},
	} {
		c.run.tellSkipping()
		n := 0
		for i, s := range c.run.Steps {
			if s.Phase == Skip {
				n++
				if !(workOf(s) < 1e-3 || s.N == 0 || name == "the host is late for one" || math.IsNaN(workOf(s))) || s.Optimized > 0 {
					t.Errorf("%s: step %d works and is skipped", name, i)
				}
			}
		}
		if n != c.want {
			t.Errorf("%s: %d fetches are skipped, want %d", name, n, c.want)
		}
	}
}

// A job that only infers passes over what it has done already. Evaluation beside training skips nothing.
func TestSkippedFetchesOfInference(t *testing.T) {
	for trains, want := range map[bool]int{false: 100, true: 0} {
		run := runOf(false, fetches{100, 0, 0, 0}, fetches{200, 0, 8e-3, 0})
		for i := range run.Steps {
			run.Steps[i].Phase = Evaluate
		}
		if trains {
			run.Steps = append(run.Steps, Step{PID: 1, Loader: 1, Start: 4, Period: 0.01, Phase: Train, Optimized: 1})
		}
		run.tellSkipping()
		n := 0
		for _, s := range run.Steps {
			if s.Phase == Skip {
				n++
			}
		}
		if n != want {
			t.Errorf("trains %v: %d fetches are skipped, want %d", trains, n, want)
		}
	}
}

// The judged steps are those that train, in a separate window.
func TestSkippedFetchesAreNotJudged(t *testing.T) {
	run := runOf(true, fetches{400, 0, 0, 0}, fetches{200, 1, 8e-3, 0})
	run.tellSkipping()
	windows := run.Windows()
	if len(windows) != 1 || windows[0].Start < 4 || len(windows[0].Steps) < 190 {
		t.Fatalf("judged: %+v", windows)
	}
	run = runOf(false, fetches{400, 0, 0, 0})
	if run.tellSkipping(); len(run.Windows()) > 0 {
		t.Error("fetches that were thrown away are judged")
	}
}
