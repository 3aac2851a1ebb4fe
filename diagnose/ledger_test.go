package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// diary writes what a program does, one thing after another, and what its device does meanwhile.
type diary struct {
	run  recording.Run
	at   float64
	n    map[int]int // steps of each loader
	busy recording.Series
	work float64 // of the device since the last sample
}

func newDiary() *diary {
	d := &diary{n: map[int]int{}}
	d.run.Facts.GPUs = []recording.GPU{{Index: 0, Name: "NVIDIA H100 80GB HBM3"}}
	d.run.Facts.Processes = []recording.Process{{
		PID: 7, Role: recording.RoleTrainer, Device: 0, LaunchThread: 7, LauncherSeen: true, Hooked: true,
	}}
	d.run.Facts.Loaders = []recording.Loader{{ID: 1, PID: 7, Where: "train.py:10"}, {ID: 2, PID: 7, Where: "train.py:20"}}
	d.run.Facts.Model = &recording.ModelFacts{Device: "cuda:0", Steps: 1000}
	d.busy = recording.Series{Signal: recording.GPUKernels, Subject: "gpu/0"}
	d.busy.T, d.busy.V = []float64{0}, []float64{0}
	return d
}

// sampled is how often the device's meter is read, seconds.
const sampled = 0.1

// pause is time in which the device is busy for a part, and no step is made.
func (d *diary) pause(seconds, busy float64) {
	for end := d.at + seconds; d.at < end; {
		next := sampled * float64(len(d.busy.T))
		to := min(end, next)
		d.work += busy * (to - d.at)
		if d.at = to; to == next {
			d.busy.T, d.busy.V = append(d.busy.T, to), append(d.busy.V, d.work/sampled)
			d.work = 0
		}
	}
}

// step is one of a loader: the device waits, works, and idles until the next one.
func (d *diary) step(loader int, phase recording.Phase, wait, work, rest float64, first bool) {
	s := recording.Step{
		PID: 7, Loader: loader, N: d.n[loader], Start: d.at, Period: wait + work + rest, Wait: wait, Samples: 32, First: first,
		Phase: phase, Idle: wait, DevicePeriod: wait + work + rest, Optimized: 1,
	}
	d.n[loader]++
	if loader == recording.OwnLoop {
		s.Wait, s.Idle, s.DevicePeriod = math.NaN(), math.NaN(), math.NaN()
	}
	d.run.Steps = append(d.run.Steps, s)
	d.pause(wait, 0)
	d.pause(work, 1)
	d.pause(rest, 0)
}

func (d *diary) judge() diagnose.Verdict {
	d.run.Series = []recording.Series{d.busy}
	return judge.Judge(&d.run)
}

// checkLedger compares rows with what is wanted, and their sum with the run's time.
func checkLedger(t *testing.T, what string, l diagnose.Ledger, wall float64, want map[diagnose.RowName][3]float64) {
	t.Helper()
	sum := 0.0
	for _, r := range l.Rows {
		sum += r.Seconds
		if _, ok := want[r.Name]; !ok && r.Seconds > 0.01*wall {
			t.Errorf("%s: %.2f s of %s", what, r.Seconds, r.Name)
		}
	}
	if math.Abs(l.Wall-wall) > sampled+0.01 || math.Abs(sum-wall) > 0.01*wall {
		t.Errorf("%s: rows add up to %.2f s, of %.2f; the run took %.2f", what, sum, l.Wall, wall)
	}
	for name, w := range want {
		r := l.Find(name)
		for i, got := range []float64{r.Seconds, r.Busy, r.Idle} {
			if !math.IsNaN(w[i]) && !(math.Abs(got-w[i]) <= 0.01*wall) {
				t.Errorf("%s: %s has %.2f s, busy %.2f, idle %.2f; want %v", what, name, r.Seconds, r.Busy, r.Idle, w)
				break
			}
		}
	}
}

// Each second of a run has one owner, whatever the program does.
func TestLedgerAddsUp(t *testing.T) {
	d := newDiary()
	d.pause(10, 0)
	for range 4 {
		for i := range 200 {
			wait := 0.002
			if i == 0 {
				wait = 1
			}
			d.step(1, recording.Train, wait, 0.018, 0, i == 0)
		}
		d.step(recording.OwnLoop, recording.Checkpoint, 0, 0, 2, false)
		for i := range 20 {
			d.step(2, recording.Evaluate, 0.2, 0.05, 0, i == 0)
		}
	}
	d.pause(3, 0)
	nan := math.NaN()
	v := d.judge()
	checkLedger(t, "a run", v.Ledger, 10+4*(1+199*0.002+200*0.018+2+5)+3, map[diagnose.RowName][3]float64{
		diagnose.RowStartUp:    {11, 0, 11},
		diagnose.RowTraining:   {4*(199*0.002+200*0.018) - 0.2, nan, 4 * 199 * 0.002},
		diagnose.RowEdge:       {3, 0, 3},
		diagnose.RowCheckpoint: {8, 0, 8},
		diagnose.RowEvaluation: {20, 4, 16},
		diagnose.RowTail:       {3, 0, 3},
	})
	r := v.Ledger.Find(diagnose.RowEvaluation)
	if r.Count != 4 || r.MostlyWaitsFor() != diagnose.WaitInput || r.Line.String() != "train.py:20" {
		t.Errorf("evaluation: %d times, waits for %v at %s", r.Count, r.Waits, r.Line)
	}
	if n := v.Ledger.Find(diagnose.RowTraining).Count; n != 800 {
		t.Errorf("%d steps of 800", n)
	}
}

// diaryOfUploads has a thousand steps of 20 ms, and after every tenth of them 200 ms of something else.
func diaryOfUploads() *diary {
	d := newDiary()
	for i := range 1000 {
		rest := 0.0
		if i%10 == 9 {
			rest = 0.2
		}
		d.step(1, recording.Train, 0, 0.02, rest, i == 0)
	}
	return d
}

// What a loop does every tenth step is a row of its own.
func TestLedgerHasWhatIsBetweenSteps(t *testing.T) {
	v := diaryOfUploads().judge()
	checkLedger(t, "uploads", v.Ledger, 40, map[diagnose.RowName][3]float64{
		diagnose.RowTraining: {20, 20, 0}, diagnose.RowBetween: {20, 0, 20},
	})
	if r := v.Ledger.Find(diagnose.RowBetween); r.Count != 100 || math.Abs(r.Saves-20) > 0.4 {
		t.Errorf("%d times, saves %.1f s", r.Count, r.Saves)
	}
	if got := v.Costs.Rare.Every; got != 10 {
		t.Errorf("every %v steps, want 10", got)
	}
}

// What the device still has to do when a loop is over is work of its steps.
func TestLedgerDrainsTheDevice(t *testing.T) {
	d := newDiary()
	for i := range 1000 {
		d.run.Steps = append(d.run.Steps, recording.Step{
			PID: 7, Loader: 1, N: i, Start: d.at, Period: 0.02, Wait: 0.001, Samples: 32, First: i == 0, Phase: recording.Train,
			Idle: 0, DevicePeriod: 0.03, Optimized: 1,
		})
		d.pause(0.02, 1)
	}
	d.pause(10, 1)
	d.pause(2, 0)
	checkLedger(t, "a loop that is ahead", d.judge().Ledger, 32, map[diagnose.RowName][3]float64{
		diagnose.RowTraining: {30, 30, 0}, diagnose.RowTail: {2, 0, 2},
	})
}

// Of a long run not all steps are kept: those that are stand for the others, in each row.
func TestLedgerOfAThinnedRun(t *testing.T) {
	d := newDiary()
	for i := range 8192 {
		d.step(1, recording.Train, 0, 0.02, 0.03, i == 0)
	}
	kept := d.run.Steps[:0]
	for _, s := range d.run.Steps {
		if s.N/64%4 == 0 {
			kept = append(kept, s)
		}
	}
	d.run.Steps = kept
	v := d.judge()
	sum := 0.0
	for _, r := range v.Ledger.Rows {
		sum += r.Seconds
	}
	if math.Abs(sum-v.Ledger.Wall) > 0.01*v.Ledger.Wall {
		t.Errorf("rows add up to %.1f of %.1f s: %s", sum, v.Ledger.Wall, namesOf(v.Ledger))
	}
}

func namesOf(l diagnose.Ledger) (text string) {
	for _, r := range l.Rows {
		text += fmt.Sprintf("%s %.2f, ", r.Name, r.Seconds)
	}
	return text
}

// A run of which nobody saw a step still has an owner for each second.
func TestLedgerWithoutSteps(t *testing.T) {
	d := newDiary()
	d.pause(5, 0)
	d.pause(10, 0.5)
	d.pause(1, 0)
	checkLedger(t, "no steps", d.judge().Ledger, 16, map[diagnose.RowName][3]float64{
		diagnose.RowStartUp: {5, 0, 5}, diagnose.RowUnknown: {10, 5, 5}, diagnose.RowTail: {1, 0, 1},
	})
}

// A verdict leads with the row that loses most, and with the steps where those do.
func TestVerdictLeadsWithTheLargestLoss(t *testing.T) {
	uploads := diaryOfUploads()
	evaluates, starved, steady := newDiary(), newDiary(), newDiary()
	for range 5 {
		for i := range 100 {
			evaluates.step(1, recording.Train, 0.001, 0.02, 0, i == 0)
			starved.step(1, recording.Train, 0.05, 0.02, 0, i == 0)
			steady.step(1, recording.Train, 0, 0.02, 0, i == 0)
		}
		for i := range 20 {
			evaluates.step(2, recording.Evaluate, 0.2, 0.05, 0, i == 0)
		}
		starved.step(recording.OwnLoop, recording.Checkpoint, 0, 0, 1, false)
	}
	for _, c := range []struct {
		what string
		*diary
		want diagnose.Class
		most float64
	}{
		{"uploads", uploads, diagnose.BetweenSteps, 2},
		{"evaluation", evaluates, diagnose.InEvaluation, 35.0 / 15},
		{"starved steps beside checkpoints", starved, "", 0},
		{"steady", steady, "", 0},
	} {
		v := c.judge()
		switch {
		case c.want == "" && v.Lead != nil:
			t.Errorf("%s: leads with %s, and its steps lose most: %s", c.what, v.Headline(), namesOf(v.Ledger))
		case c.want != "" && (v.Headline() != c.want || math.Abs(v.Lead.Most-c.most) > 0.1*c.most):
			t.Errorf("%s: leads with %s (%+v), want %s of %.2f", c.what, v.Headline(), v.Lead, c.want, c.most)
		}
	}
}

// The row of what lies between steps has the line on which the launching thread is seen, and garbage its own name.
func TestLineBetweenSteps(t *testing.T) {
	for kind, stack := range map[diagnose.Kind]string{
		diagnose.Subprocess: "asleep;/home/me/train.py:12 log;subprocess.py:550 run;selectors.py:415 select",
		diagnose.Pausing:    "asleep;/home/me/train.py:12 upload",
		diagnose.Uploading:  "asleep;/home/me/train.py:12 upload;requests/api.py:59 request",
		diagnose.Locking:    "asleep;/home/me/train.py:12 put;threading.py:355 wait",
		diagnose.Disk:       "disk;/home/me/train.py:12 log",
	} {
		checkLineBetween(t, kind, stack)
	}
	checkLineBetween(t, diagnose.Locking, "lock;/home/me/train.py:12 current") // "with guard:" has no frame of its own
}

// A model on the CPU is no reason for the time that the profiler takes, and is the reason for a line that may compute it.
func TestModelOnCPUBesideOtherWork(t *testing.T) {
	for stack, want := range map[string]diagnose.Class{
		"core;/home/me/train.py:12 main;torch/profiler/profiler.py:9 profile.step": diagnose.BetweenSteps,
		"core;/home/me/train.py:12 forward":                                        diagnose.ComputeOnCPU,
	} {
		d := newDiary()
		d.run.Facts.Model.Device = "cpu"
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.0005, 0.04, i == 0)
		}
		d.run.Series = append(d.run.Series, seen(d.at, 0.9, "process/7;loop;"+stack)...)
		d.run.Series = append(d.run.Series, d.busy)
		if v := judge.Judge(&d.run); v.Headline() != want || v.Class != diagnose.ComputeOnCPU {
			t.Errorf("%s: %s, of the steps %s, want %s", stack, v.Headline(), v.Class, want)
		}
	}
}

// A program that launches work on a device computes there, wherever the parameters lie that were seen.
func TestLaunchesTellOfADevice(t *testing.T) {
	for launches, want := range map[float64]bool{0: true, 1: false} {
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.001, 0.039, i == 0)
			d.run.Steps[i].Inside = &recording.Inside{Clock: "emulated", Span: 0.04, Launches: &launches}
		}
		d.run.Facts.Model = &recording.ModelFacts{Device: "cpu", DType: "float32", Steps: 1000}
		d.run.Series = append(d.run.Series, d.busy)
		if v := judge.Judge(&d.run); (v.Class == diagnose.ComputeOnCPU) != want {
			t.Errorf("%v launches a step: %s", launches, v.Class)
		}
	}
}

// Anomaly detection is named from few samples, because most of its cost is native code that no sample shows.
func TestAnomalyDetectionIsFound(t *testing.T) {
	for share, want := range map[float64]bool{0.1: true, 0.01: false} {
		d := diaryOfUploads()
		stack := "process/7;loop;core;/home/me/train.py:12 forward;torch/fx/traceback.py:510 format_stack"
		d.run.Series = append(append(d.run.Series, seen(d.at, share, stack)...), d.busy)
		found := slices.ContainsFunc(judge.Judge(&d.run).Findings, func(f diagnose.Finding) bool {
			return f.Name == diagnose.FindingAnomalyDetection && f.Advice != ""
		})
		if found != want {
			t.Errorf("%v of the looks: found %v", share, found)
		}
	}
}

// An optimizer whose parameters lie in host memory may be that of a model on the device: then each step waits for it.
func TestOptimizerOnTheCPUIsFound(t *testing.T) {
	for syncs, want := range map[float64]bool{1: true, 0: false} {
		waited := 0.001 * syncs
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.001, 0.039, i == 0)
			d.run.Steps[i].Inside = &recording.Inside{Clock: "cuda", Span: 0.04, Optimizer: 0.03, Syncs: &syncs, SyncTime: &waited}
		}
		d.run.Facts.Model = &recording.ModelFacts{Device: "cpu", DType: "float32", Steps: 1000}
		d.run.Series = append(d.run.Series, d.busy)
		v := judge.Judge(&d.run)
		found := func(name string) bool {
			return slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == name })
		}
		if found(diagnose.FindingCPUOptimizer) != want || (v.Class == diagnose.ComputeOnCPU) == want || found(diagnose.FindingHiddenSync) {
			t.Errorf("%v waits a step: %s, %v", syncs, v.Class, v.Findings)
		}
		waited = 0.029 * syncs // within the optimizer's step, which calls the model: Lightning hands it a closure
		if v = judge.Judge(&d.run); found(diagnose.FindingCPUOptimizer) {
			t.Errorf("%v waits a step, nearly all of the optimizer's time: %v", syncs, v.Findings)
		}
	}
}

// A wait in a collective of the program's own is named by that line, or by the line on which another rank works
// meanwhile.
func TestLineOfALateRank(t *testing.T) {
	const (
		wait     = "lock;/home/me/train.py:22 train;torch/distributed/c10d_logger.py:83 wrapper"
		backward = "lock;/home/me/train.py:22 train;torch/_tensor.py:581 Tensor.backward"
		works    = "core;/home/me/train.py:10 save_samples"
	)
	for _, c := range []struct {
		waits, stack string
		want         int
	}{
		{wait, works, 10},
		{wait, wait, 22}, // both wait for each other now and then
		{backward, works, 10},
		{backward, backward, 22},
	} {
		d, wait, stack, want := diaryOfUploads(), c.waits, c.stack, c.want
		d.run.Facts.Processes[0].World = 2
		for _, s := range d.run.Steps {
			s.PID = 8
			d.run.Steps = append(d.run.Steps, s)
		}
		d.run.Series = append(d.run.Series, seen(d.at, 0.5, "process/7;loop;"+wait)...)
		d.run.Series = append(d.run.Series, seen(d.at, 0.5, "process/8;loop;"+stack)...)
		d.run.Series = append(d.run.Series, d.busy)
		v := judge.Judge(&d.run)
		if line := v.Ledger.Find(diagnose.RowBetween).Line.Own.Line; line != want {
			t.Errorf("another rank at %s: line %d, want %d; judged %d", stack, line, want, v.Costs.Window.PID)
		}
	}
}

// checkLineBetween looks for the kind of the line on which a launching thread is half of its time.
func checkLineBetween(t *testing.T, kind diagnose.Kind, stack string) {
	t.Helper()
	d := diaryOfUploads()
	d.run.Series = append(d.run.Series, seen(d.at, 0.5, "process/7;loop;"+stack)...)
	d.run.Series = append(d.run.Series, d.busy)
	r := judge.Judge(&d.run).Ledger
	row := r.Find(diagnose.RowBetween)
	if row.Line.Kind != kind || row.Line.Own.Line != 12 {
		t.Errorf("the line is %q (%s), want %s", row.Line, row.Line.Kind, kind)
	}
}

// seen are looks at a launching thread, ten a second, of which a share found it in a stack.
func seen(until, share float64, stack string) []recording.Series {
	looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
	there := recording.Series{Signal: recording.FetchStack, Subject: stack}
	rest := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;core;/home/me/train.py:9 train;torch/nn/modules/module.py:1 Module.__call__"}
	for at := 0.0; at <= until; at++ {
		looks.T, looks.V = append(looks.T, at), append(looks.V, 10*at)
		there.T, there.V = append(there.T, at), append(there.V, share*at)
		rest.T, rest.V = append(rest.T, at), append(rest.V, (1-share)*at)
	}
	return []recording.Series{looks, there, rest}
}

// judgeSeen judges a diary whose launching thread was seen on some lines, each for a share of the time.
func (d *diary) judgeSeen(shares map[string]float64) diagnose.Verdict {
	looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
	for at := 0.0; at <= d.at; at++ {
		looks.T, looks.V = append(looks.T, at), append(looks.V, 10*at)
	}
	d.run.Series = []recording.Series{d.busy, looks}
	for stack, share := range shares {
		there := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;" + stack}
		for at := 0.0; at <= d.at; at++ {
			there.T, there.V = append(there.T, at), append(there.V, share*at)
		}
		d.run.Series = append(d.run.Series, there)
	}
	return judge.Judge(&d.run)
}

// diaryOfEpochs has short epochs whose first batch takes a second, with some time outside of the loader between them.
func diaryOfEpochs(inside, outside float64) *diary {
	d := newDiary()
	d.run.Facts.Loaders[0].Settings = stoker.Settings{stoker.NumWorkers: 2, stoker.PersistentWorkers: false}
	for range 20 {
		for i := range 50 {
			wait := 0.0
			if i == 0 {
				wait = inside
			}
			d.step(1, recording.Train, wait, 0.02, 0, i == 0)
		}
		d.pause(outside, 0)
	}
	return d
}

// What the time between epochs goes to is seen on the launching thread's stack, and each has its own remedy.
func TestLineOfEdges(t *testing.T) {
	const loader = "torch/utils/data/dataloader.py:"
	for _, c := range []struct {
		what            string
		inside, outside float64
		stack           string
		kind            diagnose.Kind
		own             int
		fix             string
	}{
		{"the program's sampler", 1, 0, "core;" + loader + "1 __next__;/home/me/train.py:30 Buckets.__iter__", diagnose.Sampling, 30, "epoch-edge"},
		{"PyTorch's sampler", 1, 0, "core;/home/me/train.py:10 main;" + loader + "1 DataLoader.__iter__;torch/utils/data/sampler.py:1 __iter__", diagnose.Sampling, 10, "epoch-edge"},
		{"workers start", 1, 0, "core;/home/me/train.py:10 main;" + loader + "1 DataLoader.__iter__;multiprocessing/popen_fork.py:1 Popen._launch", diagnose.StartingWorkers, 10, "persistent_workers"},
		{"workers end", 1, 0, "asleep;/home/me/train.py:10 main;" + loader + "1 __del__;selectors.py:1 select", diagnose.EndingWorkers, 10, "persistent_workers"},
		{"the program's own work", 0, 1, "core;/home/me/train.py:40 read_all", diagnose.HostCode, 40, "epoch-edge"},
		{"own work that the steps hide", 1, 0, "core;/home/me/train.py:40 log", "", 10, "persistent_workers"},
	} {
		d := diaryOfEpochs(c.inside, c.outside)
		v := d.judgeSeen(map[string]float64{c.stack: 0.5, "core;/home/me/train.py:9 train;torch/nn/modules/module.py:1 Module.__call__": 0.5})
		edge := v.Ledger.Find(diagnose.RowEdge)
		if edge.Line.Kind != c.kind || edge.Line.Own.Line != c.own || v.Headline() != diagnose.AtEpochEdges {
			t.Errorf("%s: %s, the line is %q (%s), want line %d (%s)", c.what, v.Headline(), edge.Line, edge.Line.Kind, c.own, c.kind)
		}
		if plan := advise.Rank(&d.run, v); len(plan.Fixes) == 0 || plan.Fixes[0].Name != c.fix {
			t.Errorf("%s: first of %v, want %s", c.what, plan.Fixes, c.fix)
		}
	}
}

// A checkpoint is written by the program's own file object, which is its line if samples of training cannot explain it.
func TestLineOfOwnFile(t *testing.T) {
	for share, want := range map[float64]string{0.8: "train.py:12", 0.3: ""} {
		d := newDiary()
		for i := range 200 {
			d.step(1, recording.Train, 0.002, 0.018, 0, i == 0)
			if i%50 == 49 {
				d.step(recording.OwnLoop, recording.Checkpoint, 0, 0, 4, false)
			}
		}
		v := d.judgeSeen(map[string]float64{
			"asleep;/home/me/train.py:12 SlowFile.write": share, "core;/home/me/train.py:9 train;torch/nn/modules/module.py:1 Module.__call__": 1 - share,
		})
		if got := v.Ledger.Find(diagnose.RowCheckpoint).Line.Short(); got != want {
			t.Errorf("of %g of the samples: %q", share, got)
		}
	}
}

// A loop that makes an iterator for each batch has no step that anybody can judge, and yet a cause.
func TestIteratorOfEachBatch(t *testing.T) {
	d := newDiary()
	for range 30 {
		d.step(1, recording.Train, 0.5, 0.02, 0, true)
		d.run.Steps[len(d.run.Steps)-1].Period = math.NaN() // nobody asks this iterator again
	}
	v := d.judge()
	if v.Headline() != diagnose.AtEpochEdges || v.Lead.Line.Kind != diagnose.Iterating || v.Lead.Count != 29 {
		t.Errorf("%s: %+v", v.Headline(), v.Lead)
	}
	if short := newDiary(); short.judge().Lead != nil {
		t.Error("a run without a step leads with a row")
	}
}

// Where workers stay and the loader's __iter__ works long all the same, no longer epochs are advised, but a data set
// that is quickly pickled.
func TestIterThatWorks(t *testing.T) {
	d := newDiary()
	d.run.Facts.Loaders[0].Settings = stoker.Settings{stoker.NumWorkers: 2, stoker.PersistentWorkers: true}
	for range 6 {
		for i := range 50 {
			wait := 0.0
			if i == 0 {
				wait = 2
			}
			d.step(1, recording.Train, wait, 0.02, 0, i == 0)
		}
	}
	v := d.judgeSeen(map[string]float64{
		"core;/home/me/train.py:20 main;torch/utils/data/dataloader.py:1 DataLoader.__iter__": 0.6,
	})
	plan := advise.Rank(&d.run, v)
	if v.Headline() != diagnose.AtEpochEdges || len(plan.Fixes) == 0 || !strings.Contains(plan.Fixes[0].Title, "large tables") {
		t.Errorf("%s: %+v", v.Headline(), plan.Fixes)
	}
}

// diaryOfEvaluations evaluates on the host's time or on its loader's.
func diaryOfEvaluations(wait, host float64) *diary {
	d := newDiary()
	for i := range 2 {
		d.run.Facts.Loaders[i].Settings = stoker.Settings{stoker.NumWorkers: 4, stoker.PersistentWorkers: false}
	}
	for range 6 {
		for i := range 100 {
			d.step(1, recording.Train, 0, 0.02, 0, i == 0 && len(d.run.Steps) == 0)
		}
		for i := range 20 {
			d.step(2, recording.Evaluate, wait, 0.02, host, i == 0)
		}
	}
	return d
}

// Evaluation names the line that keeps its device waiting, or that its workers start anew.
func TestLineOfEvaluation(t *testing.T) {
	metrics := map[string]float64{"core;/home/me/train.py:31 confusion;numpy/lib/x.py:1 bincount": 0.6}
	v := diaryOfEvaluations(0, 0.3).judgeSeen(metrics)
	if row := v.Ledger.Find(diagnose.RowEvaluation); row.Line.Own.Line != 31 || row.Line.Kind != diagnose.Metrics {
		t.Errorf("on the host: the line is %q (%s), want train.py:31", row.Line, row.Line.Kind)
	}
	spread := map[string]float64{ // no line has a third of the time, and their function has most of it
		"core;/home/me/train.py:31 compute":                                     0.2,
		"core;/home/me/train.py:32 compute;torchvision/ops/boxes.py:1 box_iou":  0.25,
		"core;/home/me/train.py:33 compute":                                     0.2,
		"core;/home/me/train.py:12 log;torch/utils/tensorboard/writer.py:1 add": 0.22,
	}
	v = diaryOfEvaluations(0, 0.3).judgeSeen(spread)
	if row := v.Ledger.Find(diagnose.RowEvaluation); row.Line.Own.Function != "compute" {
		t.Errorf("of a function with several lines: the line is %q, want one of compute", row.Line)
	}
	reads := map[string]float64{"asleep;/home/me/train.py:35 evaluate;stoker/emulated.py:9 Device.item": 0.6}
	v = diaryOfEvaluations(0, 0.3).judgeSeen(reads)
	if row := v.Ledger.Find(diagnose.RowEvaluation); row.Line.Own.Line != 35 || row.Line.Kind != diagnose.Syncing {
		t.Errorf("it reads each batch's loss: the line is %q (%s), want train.py:35", row.Line, row.Line.Kind)
	}
	for _, share := range []float64{0.1, 0.3} { // of the framework's own work
		v = diaryOfEvaluations(0, 0.3).judgeSeen(map[string]float64{
			"core;/home/me/train.py:20 main;lightning/pytorch/trainer/trainer.py:584 Trainer.fit":                      share,
			"core;/home/me/train.py:31 Net.validation_step;/home/me/train.py:12 waves;numpy/fft/_pocketfft.py:1 irfft": 0.12,
			"asleep;/home/me/train.py:9 Net.forward;stoker/emulated.py:164 Device.copy":                                0.68 - share,
			"core;/home/me/train.py:32 Net.validation_step;native write":                                               0.1,
		})
		row, between := v.Ledger.Find(diagnose.RowEvaluation), v.Ledger.Find(diagnose.RowBetween)
		if row.Line.Own.Line != 31 || row.Line.Kind != diagnose.Evaluating || between.Line.Own.File != "" {
			t.Errorf("a framework calls it: the line is %q (%s), want train.py:31; between steps %q", row.Line, row.Line.Kind, between.Line)
		}
	}
	d := diaryOfEvaluations(0.3, 0)
	v = d.judgeSeen(map[string]float64{
		"core;/home/me/train.py:20 validate;torch/utils/data/dataloader.py:1 DataLoader.__iter__;multiprocessing/popen_fork.py:1 Popen._launch": 0.6,
	})
	plan := advise.Rank(&d.run, v)
	if len(plan.Fixes) == 0 || len(plan.Fixes[0].Changes) != 1 || plan.Fixes[0].Changes[0].Setting != stoker.PersistentWorkers {
		t.Errorf("its workers start: %+v", plan.Fixes)
	}
}

// Where evaluation takes its samples one by one, a larger batch comes before more workers.
func TestSmallBatchesOfEvaluation(t *testing.T) {
	for size, want := range map[int]bool{1: true, 32: false} {
		d := diaryOfEvaluations(0.3, 0)
		d.run.Facts.Loaders[0].Settings = stoker.Settings{stoker.BatchSize: 32, stoker.NumWorkers: 2}
		d.run.Facts.Loaders[1].Settings = stoker.Settings{stoker.BatchSize: size, stoker.NumWorkers: 2}
		v := d.judgeSeen(map[string]float64{"asleep;/home/me/train.py:20 validate;torch/utils/data/dataloader.py:1 __next__": 0.6})
		plan := advise.Rank(&d.run, v)
		if got := slices.ContainsFunc(plan.Fixes, func(f advise.Fix) bool {
			return len(f.Changes) == 1 && f.Changes[0].Setting == stoker.BatchSize && f.Changes[0].To == 32
		}); got != want {
			t.Errorf("batches of %d: %+v", size, plan.Fixes)
		}
	}
}

// What the device still has to do when evaluation begins is work of the steps before it.
func TestLedgerDrainsBeforeEvaluation(t *testing.T) {
	d := newDiary()
	for range 5 {
		for range 100 {
			d.run.Steps = append(d.run.Steps, recording.Step{
				PID: 7, Loader: 1, N: d.n[1], Start: d.at, Period: 0.01, Wait: 0.001, Samples: 32, First: d.n[1] == 0,
				Phase: recording.Train, Idle: 0, DevicePeriod: 0.03, Optimized: 1,
			})
			d.n[1]++
			d.pause(0.01, 1)
		}
		s := recording.Step{PID: 7, Loader: 2, N: d.n[2], Start: d.at, Period: 4, Wait: 2, First: true, Phase: recording.Evaluate, Idle: 0, DevicePeriod: 4}
		d.n[2]++
		d.run.Steps = append(d.run.Steps, s)
		d.pause(2, 1)
		d.pause(2, 0)
	}
	checkLedger(t, "a queue before evaluation", d.judge().Ledger, 25, map[diagnose.RowName][3]float64{
		diagnose.RowTraining: {15, 15, 0}, diagnose.RowEvaluation: {10, 0, 10},
	})
}

// So it is when an epoch ends: a loop that runs ahead reads its loss there.
func TestLedgerDrainsAtTheEndOfAnEpoch(t *testing.T) {
	d := newDiary()
	for range 5 {
		for i := range 100 {
			d.run.Steps = append(d.run.Steps, recording.Step{
				PID: 7, Loader: 1, N: d.n[1], Start: d.at, Period: 0.01, Wait: 0.001, Samples: 32, First: i == 0,
				Phase: recording.Train, Idle: 0, DevicePeriod: 0.03, Optimized: 1,
			})
			d.n[1]++
			d.pause(0.01, 1)
		}
		d.pause(2, 1)
		d.pause(2, 0)
	}
	l := d.judge().Ledger
	if training, edge := l.Find(diagnose.RowTraining), l.Find(diagnose.RowEdge); training.Seconds < 14 || edge.Seconds > 9 {
		t.Errorf("training has %v s, and the epochs' edges %v s; want 15 and 8", training.Seconds, edge.Seconds)
	}
}

// A loop without workers that waits for the device in each step loads while the device idles. Without the wait it
// would load while the device works.
func TestWaitOfALoopThatLoads(t *testing.T) {
	for workers, want := range map[int]bool{0: true, 2: false} {
		d := newDiary()
		d.run.Facts.Loaders[0].Settings = stoker.Settings{stoker.NumWorkers: workers}
		once, waited := 1.0, 0.01
		for i := range 1000 {
			d.step(1, recording.Train, 0.01, 0.01, 0.0003, i == 0)
			d.run.Steps[i].Inside = &recording.Inside{Clock: "cuda", Span: 0.02, Syncs: &once, SyncTime: &waited}
		}
		v := d.judge()
		found := false
		for _, f := range v.Findings {
			found = found || f.Name == diagnose.FindingHiddenSync && f.Saves > 0.4
		}
		if found != want {
			t.Errorf("%d workers: %v, %+v", workers, v.Idle, v.Findings)
		}
	}
}

// Where training loses time as well, the bound of evaluation is that of evaluation alone.
func TestBoundOfEvaluation(t *testing.T) {
	d := newDiary()
	for range 6 {
		for i := range 100 {
			d.step(1, recording.Train, 0.01, 0.01, 0, i == 0 && len(d.run.Steps) == 0)
		}
		for i := range 20 {
			d.step(2, recording.Evaluate, 0.2, 0.01, 0, i == 0)
		}
	}
	v := d.judge() // 12 s of training, half of it idle, and 25.2 s of evaluation with 24 s idle
	if v.Headline() != diagnose.InEvaluation || math.Abs(v.Lead.Most-37.2/13.2) > 0.2 {
		t.Errorf("%s: at most %+v, want about %.2f", v.Headline(), v.Lead, 37.2/13.2)
	}
}

// Work between epochs, in which the device is busy, costs a run as much as if it idled: its line is named.
func TestBusyBesideTraining(t *testing.T) {
	for stack, want := range map[string]bool{
		"asleep;/home/me/train.py:33 speak;stoker/emulated.py:201 Device.item":                                    true,
		"core;/home/me/train.py:20 main;torch/utils/data/dataloader.py:1 DataLoader.__iter__":                     false,
		"asleep;/home/me/train.py:20 main;torch/utils/data/dataloader.py:1 _BaseDataLoaderIter.__next__;a.py:1 b": false,
	} {
		d := newDiary()
		for range 6 {
			for i := range 100 {
				d.step(1, recording.Train, 0, 0.02, 0, i == 0)
			}
			d.pause(1.5, 0.95)
		}
		v := d.judgeSeen(map[string]float64{
			stack: 0.6,
			"asleep;/home/me/train.py:20 main;torch/utils/data/dataloader.py:1 _BaseDataLoaderIter.__next__": 0.1,
		})
		is := func(f diagnose.Finding) bool { return f.Name == diagnose.FindingBesideTraining }
		if got := slices.ContainsFunc(v.Findings, is); got != want {
			t.Errorf("%s: found %t, %s; edge %+v", stack, got, v.Headline(), v.Ledger.Find(diagnose.RowEdge))
		}
	}
}

// A run that had hardly begun to train, as one line takes so long before its first step, leads with that line.
func TestSlowStartLeads(t *testing.T) {
	for line, want := range map[string]bool{
		"/home/me/train.py:12 read_sizes":                                       true,
		"/home/me/train.py:3 <module>;frozen importlib._bootstrap:9 _find_spec": false,
	} {
		d := newDiary()
		d.pause(30, 0)
		d.step(1, recording.Train, 0, 0.02, 0, true)
		looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
		there := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;core;" + line}
		for at := 0.0; at <= d.at; at++ {
			looks.T, looks.V = append(looks.T, at), append(looks.V, 20*at)
			there.T, there.V = append(there.T, at), append(there.V, at)
		}
		d.run.Series = append(d.run.Series, d.busy, looks, there)
		v := judge.Judge(&d.run)
		if led := v.Headline() == diagnose.StartUp; led != want {
			t.Errorf("%s: the headline is %s", line, v.Headline())
		}
		if plan := advise.Rank(&d.run, v); want && (len(plan.Fixes) != 1 || plan.Fixes[0].At != "train.py:12") {
			t.Errorf("%s: the plan is %+v", line, plan.Fixes)
		}
	}
}

// A start that a line of the program holds up leads, if the device is busy from then on; an import, a first batch or a
// short one is not named.
func TestSlowStart(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		stack   string
		want    bool
	}{
		{20, "/home/me/train.py:12 count_lengths;PIL/Image.py:9 open", true},
		{2, "/home/me/train.py:12 count_lengths;PIL/Image.py:9 open", false},
		{20, "/home/me/train.py:3 <module>;frozen importlib._bootstrap:9 _find_and_load", false},
		{20, "/home/me/train.py:30 main;torch/utils/data/dataloader.py:9 _MultiProcessingDataLoaderIter.__next__;selectors.py:4 select", false},
	} {
		d := newDiary()
		d.pause(c.seconds, 0)
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.02, 0, i == 0)
		}
		looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
		there := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;core;" + c.stack}
		for at := 0.0; at <= d.at; at++ {
			looks.T, looks.V = append(looks.T, at), append(looks.V, 20*at)
			there.T, there.V = append(there.T, at), append(there.V, min(at, c.seconds))
		}
		d.run.Series = append(d.run.Series, d.busy, looks, there)
		v := judge.Judge(&d.run)
		if got := v.Headline() == diagnose.StartUp; got != c.want {
			t.Errorf("%v s in %s: leads %t; start-up %+v", c.seconds, c.stack, got, v.Ledger.Find(diagnose.RowStartUp))
		}
	}
}

// Beside longer imports, the work of a function counts on all of its lines, and that of functions that it calls too.
func TestSlowStartBesideImports(t *testing.T) {
	for name, c := range map[string]struct {
		at   [2]string
		work [2]float64
	}{
		"a function":            {[2]string{"/home/me/data.py:20 read", "/home/me/data.py:21 read"}, [2]float64{2.5, 2.5}},
		"one and what it calls": {[2]string{"/home/me/data.py:20 read", "/home/me/data.py:7 norm"}, [2]float64{2.8, 2.2}},
	} {
		v := startWith(c.at, c.work)
		at := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingSlowStart })
		if at < 0 || !strings.Contains(v.Findings[at].Source, "data.py:20") || math.Abs(v.Findings[at].Seconds-5) > 0.2 {
			t.Errorf("%s: %+v; start-up %+v", name, v.Findings, v.Ledger.Find(diagnose.RowStartUp))
		}
	}
}

// startWith judges a run that imports and then works on two lines before its first step.
func startWith(lines [2]string, work [2]float64) diagnose.Verdict {
	d := newDiary()
	d.pause(12, 0)
	for i := range 1000 {
		d.step(1, recording.Train, 0, 0.02, 0, i == 0)
	}
	d.run.Series = append(d.run.Series, d.busy)
	looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
	for _, at := range []struct {
		stack   string
		seconds float64
	}{
		{"/home/me/train.py:3 <module>;frozen importlib._bootstrap:9 _find_and_load", 7},
		{lines[0], work[0]},
		{lines[1], work[1]},
	} {
		there := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;core;" + at.stack}
		for t := 0.0; t <= d.at; t++ {
			there.T, there.V = append(there.T, t), append(there.V, min(t, 12)*at.seconds/12)
		}
		d.run.Series = append(d.run.Series, there)
	}
	for t := 0.0; t <= d.at; t++ {
		looks.T, looks.V = append(looks.T, t), append(looks.V, 20*t)
	}
	d.run.Series = append(d.run.Series, looks)
	return judge.Judge(&d.run)
}

// A program that waits for its loader's workers at its end says so; one that saves a model there does not. Other work does.
func TestSlowEnd(t *testing.T) {
	const loader = "torch/utils/data/dataloader.py:9 _MultiProcessingDataLoaderIter._shutdown_workers;selectors.py:4 select"
	for _, c := range []struct {
		seconds float64
		stack   string
		want    bool
	}{
		{12, "/home/me/train.py:30 main;" + loader, true},
		{2, "/home/me/train.py:30 main;" + loader, false},
		{12, "/home/me/train.py:31 main;torch/serialization.py:9 save", false},
		{12, "/home/me/train.py:32 write_report", true},
		{6, "/home/me/train.py:32 write_report", true},
		{4, "/home/me/train.py:32 write_report", false},
	} {
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.02, 0, i == 0)
		}
		last := d.at
		d.pause(c.seconds, 0)
		looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
		there := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;asleep;" + c.stack}
		for at := 0.0; at <= d.at; at++ {
			looks.T, looks.V = append(looks.T, at), append(looks.V, 20*at)
			there.T, there.V = append(there.T, at), append(there.V, max(0, at-last))
		}
		d.run.Series = append(d.run.Series, d.busy, looks, there)
		v := judge.Judge(&d.run)
		got := slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingSlowEnd })
		if got != c.want {
			t.Errorf("%v s in %s: told %t; tail %+v", c.seconds, c.stack, got, v.Ledger.Find(diagnose.RowTail))
		}
	}
}

// A validation every so many steps has its own advice. Beside other programs its waits for a core are its own, too.
func TestEvaluationBetweenSteps(t *testing.T) {
	for name, queues := range map[string]bool{"free": false, "beside others": true} {
		d := newDiary()
		state := recording.Series{Signal: recording.ThreadState, Subject: "thread/7"}
		for i := range 600 {
			rest := 0.0
			if i%60 == 59 {
				rest = 3
			}
			from := d.at + 0.02
			d.step(1, recording.Train, 0, 0.02, rest, i == 0)
			for at := from; at < d.at; at += 0.1 {
				state.T, state.V = append(state.T, at), append(state.V, float64(recording.Running))
			}
		}
		inside := "core;/home/me/train.py:70 evaluate_beam_search;/home/me/train.py:38 Model.next;stoker/emulated.py:201 Device.item"
		v := d.judgeWith(map[string]float64{inside: 0.7, "asleep;/home/me/train.py:90 main;stoker/emulated.py:201 Device.item": 0.3}, queues, state)
		between := v.Ledger.Find(diagnose.RowBetween)
		if v.Headline() != diagnose.BetweenSteps || between.Line.Kind != diagnose.Evaluating || between.Line.Own.Line != 70 {
			t.Errorf("%s: %s, %s (%s), %v s", name, v.Headline(), between.Line, between.Line.Kind, between.Seconds)
		}
	}
}

// Steps that are long because the program evaluates in them are evaluation, though the device works. What one rank alone
// does is shared out over all.
func TestEvaluationInLongSteps(t *testing.T) {
	for name, other := range map[string]string{"alone": "/home/me/train.py:80 main", "all": "/home/me/train.py:70 evaluate"} {
		d := newDiary()
		for i := range 600 {
			work := 0.02
			if i%60 == 59 {
				work = 3.02
			}
			d.step(1, recording.Train, 0, work, 0, i == 0)
		}
		d.run.Facts.Processes[0].World = 2
		d.run.Facts.Processes = append(d.run.Facts.Processes, recording.Process{PID: 8, Role: recording.RoleTrainer, World: 2, Rank: 1})
		var more []recording.Series
		for subject, rate := range map[string]float64{"process/8;loop": 10, "process/8;loop;asleep;" + other: 1} {
			s := recording.Series{Signal: recording.FetchStack, Subject: subject}
			if rate > 1 {
				s.Signal = recording.FetchLooks
			}
			for at := 0.0; at <= d.at; at++ {
				s.T, s.V = append(s.T, at), append(s.V, rate*at)
			}
			more = append(more, s)
		}
		inside := "asleep;/home/me/train.py:70 evaluate;/home/me/train.py:38 Model.next;stoker/emulated.py:201 Device.item"
		v := d.judgeWith(map[string]float64{inside: 0.7, "asleep;/home/me/train.py:90 main;stoker/emulated.py:201 Device.item": 0.3}, false, more...)
		r := v.Ledger.Find(diagnose.RowEvaluation)
		if r.Count != 10 || math.Abs(r.Seconds-30) > 0.5 || r.Line.Own.Line != 70 {
			t.Errorf("%s: %d times, %.1f s at %s", name, r.Count, r.Seconds, r.Line)
		}
		shared := slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Advice == diagnose.EvaluateOnAllAdvice })
		if shared != (name == "alone") {
			t.Errorf("%s: told to share it out %t: %+v", name, shared, v.Findings)
		}
	}
}

// judgeWith is judgeSeen with more series, on a machine of which other programs have the cores.
func (d *diary) judgeWith(shares map[string]float64, others bool, more ...recording.Series) diagnose.Verdict {
	d.judgeSeen(shares)
	d.run.Series = append(d.run.Series, more...)
	if others {
		d.run.Facts.Machine = recording.Machine{CPUs: 2, Allowed: 2}
		for signal, rate := range map[recording.Signal]float64{recording.MachineCPU: 2, recording.TreeCPU: 0.2, recording.ThreadQueue: 0.6} {
			s := recording.Series{Signal: signal, Subject: map[recording.Signal]string{
				recording.MachineCPU: "machine", recording.TreeCPU: "tree", recording.ThreadQueue: "thread/7",
			}[signal]}
			for at := 0.0; at <= d.at; at++ {
				s.T, s.V = append(s.T, at), append(s.V, rate*at)
			}
			d.run.Series = append(d.run.Series, s)
		}
	}
	return judge.Judge(&d.run)
}

// A program that launches mostly in its own optimizer trains, and its advice names the optimizer.
func TestOwnOptimizerThatLaunches(t *testing.T) {
	for function, want := range map[string]bool{"Lion.step": true, "FusedAdam8bit.step": true, "Environment.step": false} {
		launches, syncs, waited := 2000.0, 1.0, 0.001
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Evaluate, 0, 0.015, 0.025, i == 0)
			d.run.Steps[i].Optimized = 0
			d.run.Steps[i].Inside = &recording.Inside{
				Clock: "cuda", Span: 0.04, Launches: &launches, Syncs: &syncs, SyncTime: &waited,
			}
		}
		d.run.Facts.Model = nil
		v := d.judgeSeen(map[string]float64{"core;/opt.py:12 " + function + ";torch/_tensor.py:9 Tensor.add_": 0.5})
		if got := v.Has(diagnose.FindingOptimizerLaunches); got != want {
			t.Errorf("%s: %t, want %t: %s %v", function, got, want, v.Class, v.Findings)
		}
		if got := v.Grounds.Program == diagnose.Inference; got == want {
			t.Errorf("%s: %s", function, v.Grounds.Program)
		}
	}
}

// An optimizer that launches kernel after kernel is no optimizer on the CPU, wherever its parameters lie.
func TestOptimizerThatLaunchesMuch(t *testing.T) {
	for launches, want := range map[float64]string{2000: diagnose.FindingOptimizerLaunches, 2: diagnose.FindingCPUOptimizer} {
		syncs, waited := 1.0, 0.001
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0, 0.015, 0.025, i == 0)
			d.run.Steps[i].Inside = &recording.Inside{
				Clock: "cuda", Span: 0.04, Optimizer: 0.024, Launches: &launches, Syncs: &syncs, SyncTime: &waited,
			}
		}
		d.run.Facts.Model = &recording.ModelFacts{Device: "cpu", DType: "float32", Steps: 1000}
		d.run.Series = append(d.run.Series, d.busy)
		v := judge.Judge(&d.run)
		var found []string
		for _, f := range v.Findings {
			if f.Name == diagnose.FindingOptimizerLaunches || f.Name == diagnose.FindingCPUOptimizer {
				found = append(found, f.Name)
			}
		}
		if !slices.Equal(found, []string{want}) {
			t.Errorf("%v launches: %s, %v, want %s", launches, v.Class, found, want)
		}
		if fixes := advise.Rank(&d.run, v).Fixes; len(fixes) == 0 || fixes[0].Name != want {
			t.Errorf("%v launches: %v comes first, want %s", launches, fixes, want)
		}
	}
}
