package recording

import (
	"math"
	"testing"
)

// A second loader that evaluates in the middle, in a loop that turns gradients off
// only around the model: nothing but the optimizer tells that it is no training.
func evaluatesBetween(accumulate int) *Run {
	r := &Run{}
	at, pass := 0.0, 0
	step := func(loader, n, pass int, period, wait, optimized float64) {
		r.Steps = append(r.Steps, Step{
			PID: 1, Loader: loader, N: n, Pass: pass, Start: at, Period: period, Wait: wait, Phase: Train,
			Idle: wait, DevicePeriod: period, Optimized: optimized,
		})
		at += wait
	}
	for i := range 200 {
		updates, evaluates := 0.0, i%50 == 49
		if i%accumulate == accumulate-1 {
			updates = 1
		}
		if !evaluates {
			step(1, i, 0, 0.1, 0.01, updates)
			at += 0.09
			continue
		}
		step(1, i, 0, 2.1, 0.01, updates)
		at += 0.09
		for j := range 10 {
			step(2, 10*pass+j, pass, 0.2, 0.15, 0)
			at += 0.05
		}
		pass++
	}
	return r
}

func TestEvaluationIsRecognisedByTheOptimizer(t *testing.T) {
	for _, accumulate := range []int{1, 8} {
		run := evaluatesBetween(accumulate)
		tellEvaluation(run.Steps)
		w := only(t, run)
		if w.Loader != 1 || len(w.Side) != 0 || math.Abs(w.Wait()-0.01) > 1e-9 || math.Abs(w.Time()-0.1) > 1e-9 {
			t.Errorf("accumulating %d: loader %d, %d steps of others, wait %v of %v; want loader 1 alone, no second of the 4 evaluations, 10 of 100 ms",
				accumulate, w.Loader, len(w.Side), w.Wait(), w.Time())
		}
	}
}

// An iterator that is kept from evaluation to evaluation is asked many times without an
// optimizer step, and then not while many of them pass.
func TestEvaluationWithAKeptIterator(t *testing.T) {
	run := evaluatesBetween(1)
	last := -1
	for i := range run.Steps {
		if s := &run.Steps[i]; s.Loader == 2 {
			s.Pass, last = 0, i
		} else if last >= 0 && s.N%50 == 0 {
			run.Steps[last].Optimized, run.Steps[last].Period = 50, run.Steps[last].Period+50*0.1
		}
	}
	tellEvaluation(run.Steps)
	w := only(t, run)
	apart := 0.0
	for _, s := range w.Apart {
		apart += s.Period
	}
	if w.Loader != 1 || len(w.Side) != 0 || math.Abs(w.Wait()-0.01) > 1e-9 || !(apart > 7.9 && apart < 8.1) {
		t.Errorf("loader %d, %d steps of others, wait %v, %v s of evaluation; want loader 1 alone, 10 ms, 4 evaluations of 2 s", w.Loader, len(w.Side), w.Wait(), apart)
	}
}

// What a signal says during an evaluation is not said of training.
func TestMeanLeavesEvaluationOut(t *testing.T) {
	run := evaluatesBetween(1)
	tellEvaluation(run.Steps)
	w := only(t, run)
	util := Series{Signal: GPUUtilisation, Subject: "gpu/0"}
	for i := range int(10 * w.End) {
		at, value := float64(i)/10+0.001, 0.5
		for _, s := range w.Apart {
			if at >= s.Start && at < s.Start+s.Period {
				value = 0
			}
		}
		util.T, util.V = append(util.T, at), append(util.V, value)
	}
	if len(w.Apart) == 0 || math.Abs(w.Mean(&util)-0.5) > 1e-9 || util.Mean(w.Start, w.End) > 0.45 {
		t.Errorf("mean %v of a window with %d steps of evaluation, want 0.5; %v of all", w.Mean(&util), len(w.Apart), util.Mean(w.Start, w.End))
	}
}

// If optimizer steps are not counted, or none is seen (a custom optimizer), phases do not
// change; nor do those of two loaders that train together.
func TestPhasesStayWithoutOptimizerSteps(t *testing.T) {
	for name, change := range map[string]func(*Step){
		"unknown":  func(s *Step) { s.Optimized = math.NaN() },
		"no steps": func(s *Step) { s.Optimized = 0 },
		"both":     func(s *Step) { s.Optimized = 1 },
	} {
		run := evaluatesBetween(1)
		for i := range run.Steps {
			change(&run.Steps[i])
		}
		tellEvaluation(run.Steps)
		for _, s := range run.Steps {
			if s.Phase != Train {
				t.Errorf("%s: a step of loader %d is told to be %s", name, s.Loader, s.Phase)
				break
			}
		}
	}
}

// The last fetch of a pass has no period, so that it is unknown what the optimizer did within
// it. It takes the phase of its pass; one alone keeps its phase.
func TestStepWithoutPeriodGoesWithItsPass(t *testing.T) {
	steps := []Step{
		{PID: 1, Loader: 1, Phase: Train, Optimized: 1},
		{PID: 1, Loader: 2, Phase: Train, Optimized: 0},
		{PID: 1, Loader: 2, Phase: Train, Optimized: math.NaN()},
		{PID: 1, Loader: 2, Pass: 1, Phase: Train, Optimized: math.NaN()},
	}
	tellEvaluation(steps)
	for i, want := range []Phase{Train, Evaluate, Evaluate, Train} {
		if steps[i].Phase != want {
			t.Errorf("step %d is %s, want %s", i, steps[i].Phase, want)
		}
	}
}

// A loader that a function asks which evaluates by its name evaluates, if another one trains and no optimizer is seen.
func TestTellNamed(t *testing.T) {
	both := []Loader{{PID: 1, ID: 1, Where: "/train.py:90", Function: "main"}, {PID: 1, ID: 2, Where: "/train.py:40", Function: "ASR.evaluate"}}
	for name, c := range map[string]struct {
		loaders   []Loader
		optimized float64
		want      Phase
	}{
		"evaluates": {both, math.NaN(), Evaluate}, "an optimizer": {both, 1, Train}, "unnamed": {both[:1], math.NaN(), Train},
		"all": {[]Loader{both[1], {PID: 1, ID: 1, Where: "/train.py:90", Function: "test"}}, math.NaN(), Train},
	} {
		steps := []Step{
			{PID: 1, Loader: 1, Phase: Train, Optimized: c.optimized},
			{PID: 1, Loader: 2, Phase: Train, Optimized: math.NaN()},
		}
		tellNamed(steps, c.loaders)
		if steps[0].Phase != Train || steps[1].Phase != c.want {
			t.Errorf("%s: %s and %s, want %s", name, steps[0].Phase, steps[1].Phase, c.want)
		}
	}
}

// Steps during a trace by the hook are marked. Steps of other processes are not, nor those
// during a trace by libkineto's daemon, whose start is unknown.
func TestStepsOfATrace(t *testing.T) {
	for _, c := range []struct {
		capture Capture
		want    int
	}{
		{Capture{PID: 1, From: 1.0, To: 1.45, Inside: true}, 6}, // that before 1.0, which ends there, and the one in which it ends
		{Capture{PID: 2, From: 1.0, To: 1.45, Inside: true}, 0},
		{Capture{PID: 1, From: 1.0, To: 1.45}, 0},
	} {
		steps := make([]Step, 40)
		for i := range steps {
			steps[i] = Step{PID: 1, Start: float64(i) / 10, Period: 0.1, Phase: Train}
		}
		tellTraced(steps, []Capture{c.capture})
		n := 0
		for _, s := range steps {
			if s.Phase == Traced {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%+v: %d steps, want %d", c.capture, n, c.want)
		}
	}
}

// A whole pass over another loader within an epoch is a separate phase, even if no optimizer is
// seen. A loader that is used in each step, or between epochs, or that trains, is not.
func TestPassesThatInterruptAnEpoch(t *testing.T) {
	for name, c := range map[string]struct {
		every, batches int     // steps from pass to pass, batches of each
		epoch          int     // steps of an epoch
		optimized      float64 // in a batch of the other loader
		want           Phase
	}{
		"now and then":        {40, 20, 1000, math.NaN(), Evaluate},
		"in each step":        {1, 3, 1000, math.NaN(), Train},
		"one batch in a turn": {40, 1, 1000, math.NaN(), Train},
		"between epochs":      {40, 20, 40, math.NaN(), Train},
		"that trains":         {40, 20, 1000, 1, Train},
	} {
		var steps []Step
		at, passes := 0.0, 0
		put := func(loader, pass int, optimized float64) {
			steps = append(steps, Step{PID: 1, Loader: loader, Pass: pass, Start: at, Period: 0.01, Phase: Train, Optimized: optimized})
			at += 0.01
		}
		for n := range 400 {
			if n > 0 && n%c.every == 0 {
				for range c.batches {
					put(2, passes, c.optimized)
				}
				passes++
			}
			put(1, n/c.epoch, math.NaN())
		}
		tellInterruptions(steps)
		for _, s := range steps {
			want := Train
			if s.Loader == 2 {
				want = c.want
			}
			if s.Phase != want {
				t.Errorf("%s: %s of loader %d", name, s.Phase, s.Loader)
				break
			}
		}
	}
}

// Passes that were too quick for a loop's are no steps, as the hook stops to count them. A short run of a loop, and one
// whose optimizer steps, are.
func TestQuickPassesAreNoSteps(t *testing.T) {
	for name, c := range map[string]struct {
		n       int
		period  float64
		updates float64
		left    int
	}{
		"given up": {500, 0.0003, 0, 0}, "a short run": {300, 0.0003, 0, 300}, "a loop": {500, 0.02, 0, 500},
		"trains": {500, 0.0003, 1, 500},
	} {
		var steps []Step
		for i := range c.n {
			steps = append(steps, Step{PID: 1, Loader: OwnLoop, N: i, Start: float64(i) * c.period, Period: c.period, Optimized: c.updates})
		}
		steps = append(steps, Step{PID: 1, Loader: 1, Start: 1}, Step{PID: 2, Loader: OwnLoop, Start: 1})
		if left := len(dropQuickPasses(steps)); left != c.left+2 {
			t.Errorf("%s: %d steps are left of %d, want %d", name, left, c.n+2, c.left+2)
		}
	}
}
