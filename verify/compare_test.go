package verify

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// job describes a hand-made run.
type job struct {
	steps  int
	period float64 // seconds
	jitter float64 // standard deviation as a share of the period
	idle   float64 // of it, by the device's clock; NaN without
	batch  int
	busy   float64 // utilisation, NaN without
	seed   uint64
	edit   func(*recording.Run)
}

// typical is a starved run: 100 steps of 100 ms, 40 ms of them waiting for input.
func typical() job {
	return job{steps: 400, period: 0.1, jitter: 0.05, idle: 0.04, batch: 64, busy: 0.5, seed: 7}
}

func (j job) run() *recording.Run {
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPU: "Test CPU", CPUs: 8},
		GPUs:      []recording.GPU{{Index: 0, Name: "H100", Emulated: true}},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer, Device: 0, World: 1}},
		Loaders: []recording.Loader{{
			ID: 0, PID: 1, Settings: stoker.Settings{stoker.NumWorkers: 0}, Dataset: "ImageFolder", Samples: 10_000,
			BatchBytes: float64(j.batch) * 602_112, BatchDType: "float32",
		}},
		Model: &recording.ModelFacts{Device: "cuda:0", DType: "float32"},
	}}
	source := rand.New(rand.NewPCG(j.seed, 0))
	at := 0.0
	for n := range j.steps {
		period := j.period * (1 + j.jitter*source.NormFloat64())
		run.Steps = append(run.Steps, recording.Step{
			PID: 1, N: n, Start: at, Period: period, DevicePeriod: period, Wait: j.idle, Idle: j.idle,
			Samples: float64(j.batch), Phase: recording.Train,
		})
		at += period
	}
	if !math.IsNaN(j.busy) {
		run.Series = append(run.Series, recording.Series{
			Signal: recording.GPUUtilisation, Subject: "gpu/0", T: []float64{0, at / 2, at}, V: []float64{j.busy, j.busy, j.busy},
		})
	}
	if j.edit != nil {
		j.edit(run)
	}
	return run
}

// twice is the typical run after its input became fast.
func twice() job {
	j := typical()
	j.period, j.idle, j.busy, j.seed = 0.05, 0, 1, 8
	return j
}

func promise(low, point, high float64) predict.Forecast {
	return predict.Forecast{Speedup: stoker.Interval{Low: low, Point: point, High: high}}
}

var nothing = predict.Forecast{Speedup: stoker.Unknown()}

func TestEqualRuns(t *testing.T) {
	j := typical()
	same := Compare(j.run(), j.run(), nothing)
	j.seed = 99
	alike := Compare(typical().run(), j.run(), nothing)
	for name, o := range map[string]Outcome{"the same run": same, "the same job again": alike} {
		if o.Difference != None || o.Refused != "" {
			t.Errorf("%s: %s %q, want no detectable difference", name, o.Difference, o.Refused)
		}
		if math.Abs(o.Speedup.Point-1) > 0.02 || !o.Speedup.Contains(o.Speedup.Point) {
			t.Errorf("%s: speed-up %v", name, *o.Speedup)
		}
		if o.Promise.Kept != NotPromised {
			t.Errorf("%s: promise %s", name, o.Promise.Kept)
		}
	}
	if same.Speedup.Point != 1 || *same.Stall.Fell {
		t.Errorf("the same run: speed-up %v, stall fell %v", *same.Speedup, *same.Stall.Fell)
	}
}

// What more steps would decide, a longer run decides: all of its steady steps count.
func TestLongRunsAreComparedWhole(t *testing.T) {
	long := typical()
	long.steps, long.period = 4000, 0.5
	o := Compare(long.run(), long.run(), nothing)
	if o.Before.Steps < 3900 || o.After.Steps < 3900 {
		t.Errorf("%d and %d of 4000 steps are compared", o.Before.Steps, o.After.Steps)
	}
}

func TestTwiceAsFast(t *testing.T) {
	o := Compare(typical().run(), twice().run(), promise(1.8, 2, 2.2))
	if o.Refused != "" || o.Difference != Faster || o.Basis != PerStep || !o.Emulated {
		t.Fatalf("%+v", o)
	}
	if !near(o.Speedup.Point, 2, 0.03) || !o.Speedup.Contains(2) || o.Speedup.High/o.Speedup.Low > 1.05 {
		t.Errorf("speed-up %v, want a narrow interval around 2", *o.Speedup)
	}
	if !near(o.Before.Time.Mean.Point, 0.1, 0.002) || !near(o.After.Throughput.Mean.Point, 1280, 20) || !near(o.After.Throughput.Median, 1280, 20) {
		t.Errorf("before %+v, after %+v", *o.Before.Time, *o.After.Throughput)
	}
	if !near(*o.Stall.Before, 0.4, 0.01) || *o.Stall.After != 0 || !*o.Stall.Fell {
		t.Errorf("stall %v -> %v, fell %v", *o.Stall.Before, *o.Stall.After, *o.Stall.Fell)
	}
	back := Compare(twice().run(), typical().run(), nothing)
	if back.Difference != Slower || *back.Stall.Fell {
		t.Errorf("the other way round: %s, stall fell %v", back.Difference, *back.Stall.Fell)
	}
}

func TestPromise(t *testing.T) {
	for _, c := range []struct {
		forecast predict.Forecast
		want     PromiseState
	}{
		{promise(1.8, 2, 2.2), PromiseKept},
		{promise(1.99, 2.1, 2.2), PromiseKept}, // a little below, within what starting again does
		{promise(1.2, 1.7, 1.99), PromiseKept},
		{promise(2.02, 2.3, 3), PromiseUndecided},
		{promise(2.5, 3, 3.5), PromiseMissed},
		{promise(1.1, 1.3, 1.5), PromiseExceeded},
		{nothing, NotPromised},
		{predict.Forecast{}, NotPromised},
		{promise(1, math.NaN(), 3), NotPromised}, // "at most" promises nothing
		{promise(math.NaN(), 2, 3), NotPromised},
	} {
		o := Compare(typical().run(), twice().run(), c.forecast)
		if o.Promise.Kept != c.want {
			t.Errorf("promised %v, achieved %v: %s, want %s", c.forecast.Speedup, *o.Speedup, o.Promise.Kept, c.want)
		}
		if known := c.want != NotPromised; known != (o.Promise.Promised != nil) || o.Promise.Achieved == nil {
			t.Errorf("promise %+v does not hold both sides", o.Promise)
		}
	}
}

// That two intervals meet keeps no promise.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		promised, achieved stoker.Interval
		want               PromiseState
	}{
		{about(1.8, 2, 2.2), about(1.9, 2, 2.1), PromiseKept},
		{about(1.8, 2, 2.2), about(1.81, 2.19, 2.6), PromiseKept},
		{about(1.8, 2, 2.2), about(1.9, 2.4, 2.9), PromiseReached},
		{about(1.8, 2, 2.2), about(2.4, 2.6, 2.8), PromiseExceeded},
		{about(1.8, 2, 2.2), about(1.5, 1.6, 1.7), PromiseMissed},
		{about(1.8, 2, 2.2), about(1.7, 2, 2.3), PromiseUndecided},
		{about(1.8, 2, 2.2), about(0.5, 2, 8), PromiseUndecided}, // proves nothing
		{about(0.97, 1.03, 1.1), about(1.02, 2.6, 6.6), PromiseReached},
		{about(0.97, 1.03, 1.1), about(0.9, 2.6, 7.5), PromiseUndecided}, // was "kept", in the review
		{about(0.97, 1.03, 1.1), about(2.3, 2.6, 2.9), PromiseExceeded},
		{about(0.99, 1.03, 2.52), about(2.45, 2.6, 2.76), PromiseExceeded}, // the very figures: the ends touch
		{about(1.8, 2, 2.2), about(2.1, 2.3, 2.5), PromiseExceeded},
		{about(1.8, 2, 2.2), about(2.1, 2.15, 2.2), PromiseKept},  // within what was promised
		{about(0.97, 1, 1.03), about(0.99, 1, 1.01), PromiseKept}, // that nothing comes of it is a promise too
		{about(0.97, 1, 1.03), about(0.8, 1, 1.25), PromiseUndecided},
	} {
		if got := hold(c.promised, c.achieved).Kept; got != c.want {
			t.Errorf("promised %v, achieved %v: %s, want %s", c.promised, c.achieved, got, c.want)
		}
	}
}

// A promise that is not decided says how long both runs would have to be.
func TestUndecidedPromise(t *testing.T) {
	before, after := typical(), twice()
	before.jitter, after.jitter, before.steps, after.steps = 0.3, 0.3, 60, 60
	o := Compare(before.run(), after.run(), promise(1.95, 2.1, 2.4))
	if o.Promise.Kept != PromiseUndecided || o.Difference != Faster || o.After.Needed == nil || o.After.Needed.Steps < 80 {
		t.Errorf("%s, %s, achieved %v, needed %+v", o.Promise.Kept, o.Difference, *o.Speedup, o.After.Needed)
	}
	// At the very edge no length decides.
	edge := *o.Speedup
	if o := Compare(before.run(), after.run(), promise(edge.Point*(1+restart), 3, 4)); o.Promise.Kept != PromiseUndecided || o.After.Needed != nil {
		t.Errorf("at the edge: %s, needed %+v", o.Promise.Kept, o.After.Needed)
	}
}

func about(low, point, high float64) stoker.Interval {
	return stoker.Interval{Low: low, Point: point, High: high}
}

func TestDifferentWork(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*recording.Run)
		want string
	}{
		"data set":    {func(r *recording.Run) { r.Facts.Loaders[0].Dataset = "CIFAR10" }, "data set ImageFolder before, CIFAR10 after"},
		"length":      {func(r *recording.Run) { r.Facts.Loaders[0].Samples = 5000 }, "10000 samples before, 5000 after"},
		"sample size": {func(r *recording.Run) { r.Facts.Loaders[0].BatchBytes /= 4 }, "a sample is 602112 bytes before, 150528 after"},
		"device":      {func(r *recording.Run) { r.Facts.GPUs[0].Name = "A100" }, "device H100 before, A100 after"},
		"emulated":    {func(r *recording.Run) { r.Facts.GPUs[0].Emulated = false }, "one device is emulated"},
		"ranks":       {func(r *recording.Run) { r.Facts.Processes[0].World = 8 }, "world size 1 before, 8 after"},
		"model":       {func(r *recording.Run) { scaleUtilisation(r, 0.2) }, "the device computes 0.05 s per step before, 0.01 s after"},
		"phase":       {func(r *recording.Run) { setPhase(r, recording.Evaluate) }, "phase train before, evaluate after"},
	} {
		after := twice()
		after.edit = c.edit
		o := Compare(typical().run(), after.run(), promise(1.8, 2, 2.2))
		if !strings.Contains(o.Refused, c.want) || o.Speedup != nil || o.Difference != NotCompared {
			t.Errorf("%s: refused %q, want %q", name, o.Refused, c.want)
		}
		if o.Promise.Kept != PromiseUntested || o.Before.Steps == 0 {
			t.Errorf("%s: promise %s, %d steps", name, o.Promise.Kept, o.Before.Steps)
		}
	}
}

// Settings are changed on purpose: they are listed, not refused.
func TestChangedSettingsAreTheSameWork(t *testing.T) {
	after := twice()
	after.edit = func(r *recording.Run) {
		r.Facts.Loaders[0].Settings = stoker.Settings{stoker.NumWorkers: 6}
		scaleUtilisation(r, 0.2)
		r.Facts.Model.DType = "bfloat16"
	}
	o := Compare(typical().run(), after.run(), nothing)
	want := []stoker.Change{{Setting: stoker.NumWorkers, From: 0, To: 6}}
	if o.Refused != "" || !reflect.DeepEqual(o.Changes, want) || !warned(o, "parameters are float32 before, bfloat16 after") {
		t.Errorf("refused %q, changes %v, warnings %q", o.Refused, o.Changes, o.Warnings)
	}
	before := typical()
	before.edit = func(r *recording.Run) { r.Facts.Model.Device = "cpu" }
	o = Compare(before.run(), twice().run(), nothing)
	if o.Refused != "" || !warned(o, "device cpu -> cuda") {
		t.Errorf("to the GPU: refused %q, warnings %q", o.Refused, o.Warnings)
	}
}

// Settings of PyTorch's workers mean nothing to stoker's loader: that it took their
// place, with how many threads, is the change.
func TestAnotherLoader(t *testing.T) {
	after := typical()
	after.edit = func(run *recording.Run) {
		run.Facts.Loaders[0].Settings = stoker.Settings{stoker.LoaderKind: stoker.StokerLoader, stoker.PersistentWorkers: true}
	}
	before := typical()
	before.edit = func(run *recording.Run) {
		run.Facts.Loaders[0].Settings[stoker.PersistentWorkers] = false
	}
	want := []stoker.Change{
		{Setting: stoker.NumWorkers, From: 0, To: 7},
		{Setting: stoker.LoaderKind, From: "torch", To: stoker.StokerLoader},
	}
	if got := Changes(before.run(), after.run()); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %v, want %v", got, want)
	}
}

func TestPerSample(t *testing.T) {
	after := typical()
	after.batch, after.period, after.idle = 128, 0.15, 0
	o := Compare(typical().run(), after.run(), promise(1.2, 1.3, 1.4))
	if o.Refused != "" || o.Basis != PerSample || !warned(o, "64 samples before, 128 after") {
		t.Fatalf("refused %q, basis %s, warnings %q", o.Refused, o.Basis, o.Warnings)
	}
	if !near(o.Speedup.Point, 4.0/3, 0.03) || !near(o.After.Time.Mean.Point, 0.15/128, 0.0001) || !near(o.After.Throughput.Mean.Point, 128/0.15, 20) {
		t.Errorf("speed-up %v, time %v, throughput %v", *o.Speedup, *o.After.Time, *o.After.Throughput)
	}
}

func TestFewSteps(t *testing.T) {
	for steps, want := range map[int]string{
		0:  "0 steps were recorded",
		2:  "2 steps were recorded",
		15: "12 steady steps in 1.2 s, 20 are needed, about 2.0 s at the least",
	} {
		short := typical()
		short.steps = steps
		first, second := Compare(short.run(), twice().run(), nothing), Compare(typical().run(), short.run(), nothing)
		for _, o := range []Outcome{first, second} {
			if !strings.Contains(o.Refused, want) || o.Speedup != nil {
				t.Errorf("%d steps: refused %q, want %q", steps, o.Refused, want)
			}
		}
		if known := steps == 15; known != (first.Before.Needed != nil) || first.After.Needed != nil || second.Before.Needed != nil {
			t.Errorf("%d steps: needed %v before, %v after", steps, first.Before.Needed, first.After.Needed)
		}
	}
}

// A run that changes its pace by 20 % half-way cannot tell a change of 5 %, however
// many steps it has, and the page says so.
func TestNoiseFloor(t *testing.T) {
	before := typical()
	before.edit = func(r *recording.Run) {
		for i := range r.Steps {
			if i >= len(r.Steps)/2 {
				r.Steps[i].DevicePeriod *= 1.2
			}
		}
	}
	after := typical()
	after.period, after.seed = 0.105, 3
	o := Compare(before.run(), after.run(), nothing)
	if o.Difference != TooShort || *o.Noise < 0.1 || !warned(o, "the run before drifts") || warned(o, "the run after drifts") {
		t.Errorf("%s, noise %v, warnings %q", o.Difference, *o.Noise, o.Warnings)
	}
	if quiet := Compare(typical().run(), twice().run(), nothing); *quiet.Noise > 0.02 {
		t.Errorf("quiet runs have a noise of %v", *quiet.Noise)
	}
}

// Two runs whose steps are the same to the last digit still differ by what starting
// again does: a tenth of a percent is no finding.
func TestLeastDifference(t *testing.T) {
	before, after := typical(), typical()
	before.jitter, after.jitter = 0, 0
	for change, want := range map[float64]Difference{1: None, 1.001: None, 0.995: None, 1.02: Faster, 0.98: Slower} {
		after.period = before.period / change
		o := Compare(before.run(), after.run(), nothing)
		if o.Difference != want || *o.Noise != restart {
			t.Errorf("changed by %v: %s, noise %v", change, o.Difference, *o.Noise)
		}
	}
}

// What few steps cannot tell is called too short, with how long they would have to
// be; and runs of that length then tell it.
func TestTooShort(t *testing.T) {
	before, after := typical(), typical()
	before.jitter, after.jitter, after.seed = 0.3, 0.3, 9
	before.steps, after.steps = 40, 60
	after.period = before.period / 1.1
	o := Compare(before.run(), after.run(), nothing)
	if o.Difference != TooShort || o.Before.Needed == nil || o.After.Needed == nil {
		t.Fatalf("%s, speed-up %v, needed %v, %v", o.Difference, *o.Speedup, o.Before.Needed, o.After.Needed)
	}
	if n := o.Before.Needed; n.Steps < 100 || n.Steps > 2000 || !near(n.Seconds, n.Steps*before.period, 0.3*n.Seconds) {
		t.Errorf("needed %+v", *n)
	}
	before.steps, after.steps = int(o.Before.Needed.Steps), int(o.After.Needed.Steps)
	if o := Compare(before.run(), after.run(), nothing); o.Difference != Faster || o.Before.Needed != nil {
		t.Errorf("at the length needed: %s, speed-up %v, needed %v", o.Difference, *o.Speedup, o.Before.Needed)
	}
}

// A machine changes its pace for longer than this run lasts.
func TestFewSecondsAreTooShort(t *testing.T) {
	before, after := typical(), typical()
	after.steps, after.period = 200, 0.004
	o := Compare(before.run(), after.run(), nothing)
	if o.Difference != NotCompared || o.After.Needed == nil || o.After.Needed.Seconds != 1 || o.After.Needed.Steps < 240 ||
		!strings.Contains(o.Refused, "about 1 s are needed") {
		t.Errorf("%s, %+v, %s", o.Difference, o.After.Needed, o.Refused)
	}
	if o.Before.Needed != nil {
		t.Errorf("the longer run needs %+v", o.Before.Needed)
	}
}

// The words at the end of the whole way, over runs whose steps remember: unchanged
// ones are hardly ever called faster or slower, ones that are far apart always are.
func TestWordsOfCorrelatedRuns(t *testing.T) {
	const pairs = 200
	for _, n := range []int{20, 100} {
		for _, memory := range []float64{0, 0.9} {
			called, found := 0, 0
			for seed := range uint64(pairs) {
				before, after := remember(n, memory, 2*seed), remember(n, memory, 2*seed+1)
				before.period, after.period = 0.5, 0.5 // twenty steps last longer than leastSeconds, also at four times the speed
				if d := Compare(before.run(), after.run(), nothing).Difference; d == Faster || d == Slower {
					called++
				}
				after.period /= 4
				if Compare(before.run(), after.run(), nothing).Difference == Faster {
					found++
				}
			}
			t.Logf("n %d, rho %.1f: %d of %d unchanged pairs called, %d of four times the speed found", n, memory, called, pairs, found)
			if called > pairs*8/100 || found < pairs*95/100 { // 5 %, and two standard errors
				t.Errorf("n %d, rho %.1f: %d of %d unchanged pairs called, %d of four times the speed found", n, memory, called, pairs, found)
			}
		}
	}
}

// remember is a typical run of n judged steps that remember.
func remember(n int, memory float64, seed uint64) job {
	j := typical()
	j.steps, j.jitter, j.busy = n+3, 0, math.NaN() // three are warm-up
	j.edit = func(r *recording.Run) {
		for i, d := range normal(len(r.Steps), memory, rand.New(rand.NewPCG(seed, 5))) {
			r.Steps[i].DevicePeriod *= 1 + 0.05*d
		}
	}
	return j
}

func TestUnknownFacts(t *testing.T) {
	bare := func(j job) *recording.Run {
		j.idle, j.busy, j.batch = math.NaN(), math.NaN(), 0
		run := j.run()
		run.Facts = recording.Facts{}
		for i := range run.Steps {
			run.Steps[i].DevicePeriod, run.Steps[i].Wait = math.NaN(), 0.01
		}
		return run
	}
	o := Compare(bare(typical()), bare(twice()), nothing)
	if o.Refused != "" || o.Difference != Faster || o.Stall.Before != nil || o.Stall.Fell != nil || o.Before.Throughput != nil {
		t.Errorf("%+v", o)
	}
	if !warned(o, "batch size is unknown in both") {
		t.Errorf("warnings %q", o.Warnings)
	}
	mixed := Compare(bare(typical()), twice().run(), nothing)
	if !warned(mixed, "device's clock in one run") || !warned(mixed, "GPU of one run is unknown") {
		t.Errorf("warnings %q", mixed.Warnings)
	}
	for _, o := range []Outcome{o, mixed, Compare(&recording.Run{}, &recording.Run{}, nothing)} {
		if _, err := json.Marshal(o); err != nil {
			t.Errorf("as JSON: %v", err)
		}
	}
}

// The page cache that the first run filled is not the change's merit.
func TestWarmCacheIsNamed(t *testing.T) {
	reads := func(j job, share float64) *recording.Run {
		run := j.run()
		end := run.End()
		for signal, total := range map[recording.Signal]float64{recording.ProcessRead: 1e9, recording.ProcessDisk: share * 1e9} {
			run.Series = append(run.Series, recording.Series{Signal: signal, Subject: "process/1", T: []float64{0, 2, end}, V: []float64{0, 0, total}})
		}
		return run
	}
	if o := Compare(reads(typical(), 0.9), reads(twice(), 0), nothing); !warned(o, "page cache") {
		t.Errorf("warnings %q", o.Warnings)
	}
	if o := Compare(reads(typical(), 0.9), reads(twice(), 0.9), nothing); warned(o, "page cache") {
		t.Errorf("warnings %q", o.Warnings)
	}
}

// Cores used by other programs in only one of the runs are named together with a missed
// promise.
func TestOthersCoresAreNamed(t *testing.T) {
	beside := func(j job, others float64) *recording.Run {
		run := j.run()
		machine := recording.Series{Signal: recording.MachineCPU, Subject: "machine"}
		tree := recording.Series{Signal: recording.TreeCPU, Subject: "tree"}
		for at := 0.0; at <= run.End(); at++ {
			machine.T, machine.V = append(machine.T, at), append(machine.V, (1+others)*at)
			tree.T, tree.V = append(tree.T, at), append(tree.V, at)
		}
		run.Series = append(run.Series, machine, tree)
		return run
	}
	for now, named := range map[float64]bool{0.2: true, 0.05: false} {
		o := Compare(beside(typical(), 0), beside(typical(), now), promise(1.4, 1.5, 1.6))
		if got := slices.ContainsFunc(o.Besides, func(w string) bool { return strings.Contains(w, "other programs used") }); got != named {
			t.Errorf("%.2f cores more: %q, of %q", now, o.Besides, o.Warnings)
		}
	}
}

func scaleUtilisation(r *recording.Run, to float64) {
	for i := range r.Series {
		for k := range r.Series[i].V {
			r.Series[i].V[k] = to
		}
	}
}

func setPhase(r *recording.Run, phase recording.Phase) {
	for i := range r.Steps {
		r.Steps[i].Phase = phase
	}
}

func warned(o Outcome, part string) bool {
	return strings.Contains(strings.Join(o.Warnings, "\n"), part)
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by }
