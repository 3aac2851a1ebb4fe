package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/verify"
)

// machine is a made-up machine: a command whose step depends on its workers.
type machine struct {
	t      *testing.T
	step   func(workers int) float64 // seconds
	fails  int                       // the start that fails, from 0; -1: none
	set    bool                      // the hook sets what a plan says
	starts int
	change func(f *recording.Facts)
}

// start makes a run of the hand-written one: its steps last as this machine's do.
func (m *machine) start(_ context.Context, _ string, plan *Plan) (Attempt, error) {
	defer func() { m.starts++ }()
	if m.starts == m.fails {
		return Attempt{}, errors.New("CMD failed with code 1")
	}
	run := starved(m.t, m.change).Run
	workers := 0
	if plan != nil && m.set {
		for _, c := range plan.Loaders[0].Changes {
			run.Facts.Loaders[0].Settings[c.Setting] = c.To
			if c.Setting == stoker.NumWorkers {
				workers = c.To.(int)
			}
		}
	}
	factor, chance := m.step(workers)/m.step(0), rand.New(rand.NewPCG(1, uint64(m.starts)))
	for i, s := range run.Series {
		for j := range s.V {
			if s.Signal == recording.GPUUtilisation { // the device does the same work
				run.Series[i].V[j] /= factor
			}
		}
	}
	at := run.Steps[0].Start
	for i := range run.Steps {
		s := &run.Steps[i]
		wobble := 1 + 0.01*chance.NormFloat64()
		s.Period *= factor * wobble
		s.Wait = math.Max(1e-4, s.Period-0.01)
		s.DevicePeriod, s.Idle = s.Period, math.Max(0, s.Period-0.01)
		s.Start, at = at, at+s.Period
	}
	return Attempt{Run: run, File: fmt.Sprintf("%d.jsonl.gz", m.starts)}, nil
}

func TestLoop(t *testing.T) {
	faster := func(workers int) float64 { return 0.06 / math.Max(1, math.Min(float64(workers), 5)) }
	same := func(int) float64 { return 0.06 }
	worse := func(workers int) float64 { return 0.06 * (1 + 0.1*float64(workers)) }
	for _, c := range []struct {
		name    string
		machine machine
		allow   []string
		most    int
		kept    int // trials that are kept
		starts  int // at most
		says    string
	}{
		{"workers help", machine{step: faster, fails: -1, set: true}, nil, 5, 1, 5, ""},
		{"workers change nothing", machine{step: same, fails: -1, set: true}, nil, 5, 0, 5, ""},
		{"workers are worse", machine{step: worse, fails: -1, set: true}, nil, 5, 0, 5, ""},
		{"the hook sets nothing", machine{step: same, fails: -1}, nil, 2, 0, 2, "were not set"},
		{"the second start fails", machine{step: faster, fails: 1, set: true}, nil, 2, 0, 2, "CMD failed with code 1"},
		{"one start alone", machine{step: faster, fails: -1, set: true}, nil, 1, 0, 1, "no more starts are allowed"},
		{"it draws", machine{step: faster, fails: -1, set: true, change: func(f *recording.Facts) { f.Draws.From = []string{"numpy"} }}, nil, 5, 0, 2, "--allow draws"},
		{"it may draw", machine{step: faster, fails: -1, set: true, change: func(f *recording.Facts) { f.Draws.From = []string{"numpy"} }}, []string{Draws}, 5, 1, 5, ""},
		{"iterable", machine{step: faster, fails: -1, set: true, change: func(f *recording.Facts) { f.Loaders[0].Iterable = true }}, nil, 5, 0, 1, "iterable"},
	} {
		c.machine.t = t
		var said []string
		plans := 0
		r, err := Run(t.Context(), Options{
			Allow: c.allow, Most: c.most, Version: "v1", Start: c.machine.start, Read: script12,
			Say: func(text string) { said = append(said, text) }, Best: func(Plan) { plans++ },
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Trials == nil {
			t.Errorf("%s: in JSON trials are null", c.name)
		}
		kept := 0
		for _, trial := range r.Trials {
			if trial.Kept {
				kept++
			}
		}
		all := strings.Join(append(said, r.Stopped), "\n")
		if kept < c.kept || c.kept == 0 && kept > 0 || plans != kept || r.Starts > c.starts || r.Stopped == "" || !strings.Contains(all, c.says) {
			t.Errorf("%s: %d kept, %d plans, %d starts, stopped by %q\n%s", c.name, kept, plans, r.Starts, r.Stopped, all)
		}
		if (r.Outcome != nil) != (kept > 0) || kept > 0 && (r.Outcome.Difference != verify.Faster || len(r.Plan.Loaders) != 1) {
			t.Errorf("%s: outcome %+v, plan %+v", c.name, r.Outcome, r.Plan)
		}
	}
}

// What ends the first start ends the tuning; later it leaves the best so far.
func TestInterrupted(t *testing.T) {
	m := machine{t: t, step: func(workers int) float64 { return 0.06 / math.Max(1, float64(workers)) }, fails: 0, set: true}
	o := Options{Most: 5, Start: m.start, Read: script12, Say: func(string) {}, Best: func(Plan) {}}
	if _, err := Run(t.Context(), o); err == nil {
		t.Error("a command that fails at once was tuned")
	}
	m.fails, m.starts = -1, 0
	ctx, cancel := context.WithCancel(t.Context())
	o.Start = func(ctx context.Context, name string, plan *Plan) (Attempt, error) {
		if m.starts == 1 {
			cancel()
		}
		return m.start(ctx, name, plan)
	}
	r, err := Run(ctx, o)
	if err != nil || !strings.Contains(r.Stopped, "interrupted") || r.Outcome != nil {
		t.Errorf("stopped by %q, outcome %v, %v", r.Stopped, r.Outcome, err)
	}
}

func TestKeep(t *testing.T) {
	pairs := func(all ...verify.Difference) (o []verify.Outcome) {
		for _, d := range all {
			o = append(o, verify.Outcome{Difference: d})
		}
		return o
	}
	for _, c := range []struct {
		pairs []verify.Outcome
		want  bool
	}{
		{nil, false},
		{pairs(verify.Faster), true},
		{pairs(verify.None), false},
		{pairs(verify.TooShort), false},
		{pairs(verify.Faster, verify.None), true},
		{pairs(verify.Faster, verify.Slower), false},
		{pairs(verify.Faster, verify.NotCompared), false},
		{pairs(verify.None, verify.None), false},
	} {
		if got := shouldKeep(c.pairs); got != c.want {
			t.Errorf("%v: %t", c.pairs, got)
		}
	}
}

func TestNoisy(t *testing.T) {
	even := make([]float64, 40)
	for i := range even {
		even[i] = 0.1
	}
	uneven := append(append([]float64{}, even...), even...)
	for i := range even {
		uneven[i] = 0.12
	}
	for _, c := range []struct {
		times  []float64
		others float64
		want   string
	}{{even, 0, ""}, {even, 0.9, "other programs"}, {uneven, 0, "two halves"}, {nil, 0, ""}} {
		if got := whyNoisy(c.times, c.others); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d steps, %g cores: %q", len(c.times), c.others, got)
		}
	}
}

func TestWith(t *testing.T) {
	made := []stoker.Change{{Setting: stoker.NumWorkers, From: 0, To: 2}}
	got := Trial{Changes: addChanges(made, []stoker.Change{{Setting: stoker.PinMemory, To: true}, {Setting: stoker.NumWorkers, From: 2, To: 4}})}.SettingsText()
	if want := "num_workers 0 -> 4, pin_memory unknown -> true"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if made[0].To != 2 {
		t.Error("what was kept before was changed")
	}
}

// Pairs of runs without a difference, each stopped by the rule: the interval of their
// ratio, and that of each mean, hold the truth about as often as they say.
func TestStopping(t *testing.T) {
	const pairs = 60 // of 300 held 95.3 %, 95.7 % and, with a memory of 0.8, 95.0 %
	for _, memory := range []float64{0, 0.5} {
		chance := rand.New(rand.NewPCG(18, uint64(memory*10)))
		held, steps := 0, 0
		for range pairs {
			logs := [2]float64{}
			half := 0.0
			for side := range logs {
				times := stopped(memory, chance)
				mean := verify.Mean(times)
				steps += len(times)
				logs[side] = math.Log(mean.Point)
				half = math.Hypot(half, math.Log(mean.High/mean.Point))
			}
			if math.Abs(logs[0]-logs[1]) <= half {
				held++
			}
		}
		share := float64(held) / pairs
		t.Logf("memory %.1f: held in %.1f %% of %d pairs, %d steps a run", memory, 100*share, pairs, steps/pairs/2)
		if share < 0.88 {
			t.Errorf("memory %.1f: an interval of 95 %% holds in %.1f %% of pairs", memory, 100*share)
		}
	}
}

// stopped are the steps of a run that the rule ends, of 0.2 s and a spread of 10 %.
func stopped(memory float64, chance *rand.Rand) []float64 {
	var watch StopRule
	var times []float64
	level := chance.NormFloat64()
	for len(times) < 3000 {
		for range 5 { // a second
			times = append(times, 0.2*(1+0.1*level))
			level = memory*level + math.Sqrt(1-memory*memory)*chance.NormFloat64()
		}
		if watch.isEnough(times) {
			break
		}
	}
	return times
}

func TestPatch(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 to find the call with")
	}
	for _, c := range []struct{ name, script, want, left string }{
		{"on a line", "a = 1\nx = DataLoader(data, 32, shuffle=True)  # mine\n", "+x = DataLoader(data, 32, shuffle=True, num_workers=2, pin_memory=True)  # mine", ""},
		{"on lines", "a = 1\nx = torch.utils.data.DataLoader(\n    data,\n    num_workers=0,  # as it was\n)\n", "+    num_workers=2,\n+    pin_memory=True,  # as it was", ""},
		{"given", "a = 1\nx = DataLoader(data, num_workers=0, pin_memory=False)\n", "+x = DataLoader(data, num_workers=2, pin_memory=True)", ""},
		{"by place", "a = 1\nx = DataLoader(data, 8, True, None, None, 0)\n", "+x = DataLoader(data, 8, True, None, None, 2, pin_memory=True)", ""},
		{"of an argument", "a = 1\nx = DataLoader(data, num_workers=args.workers)\n", "+x = DataLoader(data, num_workers=args.workers, pin_memory=True)", "num_workers is args.workers there: give that 2"},
		{"spread", "a = 1\nx = DataLoader(data, **more)\n", "", "passes * or **"},
		{"no call", "a = 1\nx = make(data)\n", "", "no call named DataLoader"},
		{"within another", "a = 1\nx = wrap(DataLoader(data), 3)\n", "+x = wrap(DataLoader(data, num_workers=2, pin_memory=True), 3)", ""},
		{"not in ASCII", "a = 1\nx = [\"ü\", DataLoader(data)]\n", "+x = [\"ü\", DataLoader(data, num_workers=2, pin_memory=True)]", ""},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "train.py")
		if err := os.WriteFile(path, []byte(c.script), 0o600); err != nil {
			t.Fatal(err)
		}
		plan := Plan{Loaders: []Loader{{Call: path + ":2", Changes: []stoker.Change{{Setting: stoker.NumWorkers, To: 2}, {Setting: stoker.PinMemory, To: true}}}}}
		diff, left, err := Patch(t.Context(), plan, folder)
		if err != nil || !strings.Contains(diff, c.want) || (c.want == "") != (diff == "") || !strings.Contains(strings.Join(left, "\n"), c.left) {
			t.Errorf("%s: %v\n%s%s", c.name, err, diff, left)
		}
		if diff != "" && !strings.HasPrefix(diff, "--- a/train.py\n+++ b/train.py\n") {
			t.Errorf("%s: a patch of another file:\n%s", c.name, diff)
		}
	}
}

// Lines around the call are printed with the patch, and on pages, so secrets are left out. The
// patch must still apply.
func TestPatchLeavesSecretsOut(t *testing.T) {
	for _, tool := range []string{"python3", "patch"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool)
		}
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "train.py")
	script := `import torch
b = 2
wandb.login(key="hunter2")
c = 3
x = DataLoader(data)
d = 4
os.environ["HF_TOKEN"] = "hunter2"
e = 5
`
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := Plan{Loaders: []Loader{{Call: path + ":5", Changes: []stoker.Change{{Setting: stoker.NumWorkers, To: 2}}}}}
	diff, _, err := Patch(t.Context(), plan, folder)
	want := "@@ -4,3 +4,3 @@\n c = 3\n-x = DataLoader(data)\n+x = DataLoader(data, num_workers=2)\n d = 4\n"
	if err != nil || !strings.HasSuffix(diff, want) {
		t.Fatalf("%v\n%s", err, diff)
	}
	patch := exec.Command("patch", "-p1", "-d", folder)
	patch.Stdin = strings.NewReader(diff)
	if out, err := patch.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != strings.Replace(script, "(data)", "(data, num_workers=2)", 1) {
		t.Errorf("%v\n%s", err, text)
	}
}
