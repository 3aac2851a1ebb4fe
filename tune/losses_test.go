package tune

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// descent are losses that fall, each off by its batch, which seed chooses.
func descent(n int, seed uint64) []float64 {
	chance := rand.New(rand.NewPCG(18, seed))
	losses := make([]float64, n)
	for i := range losses {
		losses[i] = 0.5 + 2*math.Exp(-float64(i)/80) + 0.1*chance.NormFloat64()
	}
	return losses
}

// moved are losses with something added to each.
func moved(losses []float64, by func(i int) float64) []float64 {
	after := make([]float64, len(losses))
	for i, v := range losses {
		after[i] = v + by(i)
	}
	return after
}

func TestCompareLosses(t *testing.T) {
	const n = 200
	a, b := descent(n, 1), descent(n, 2)
	rounding := moved(a, func(i int) float64 { return 1e-6 * float64(i%3) })
	half := func(i int) float64 { return 0.004 * math.Sin(float64(i)) }
	shift := func(int) float64 { return 0.1 }
	diverges := func(i int) float64 { return math.Exp(float64(i-150) / 20) }
	steep := func(i int) float64 { return 40 * math.Exp(-float64(i)/8) }
	pair := func(seed uint64) []float64 { // two networks in turn, as in a GAN
		return moved(descent(n, seed), func(i int) float64 { return 3 * float64(i%2) })
	}
	for _, c := range []struct {
		name                string
		before, again, with []float64
		repeats, within     bool
		units               [2]float64 // from, to
	}{
		{"another seed each", a, b, descent(n, 3), false, true, [2]float64{0.5, 2}},
		{"another seed each, shifted", a, b, moved(descent(n, 3), func(int) float64 { return 0.3 }), false, false, [2]float64{4, 20}},
		{"the same seed", a, a, moved(a, half), true, true, [2]float64{0.001, 0.1}},
		{"the same but for rounding", a, rounding, moved(a, half), true, true, [2]float64{0.001, 0.1}},
		{"the same seed, shifted", a, a, moved(a, shift), true, false, [2]float64{2, 5}},
		{"the same seed, it diverges", a, a, moved(a, diverges), true, false, [2]float64{5, 1000}},
		{"two networks, the same seed", pair(1), pair(1), moved(pair(1), half), true, true, [2]float64{0.001, 0.1}},
		{"two networks, the same seed, shifted", pair(1), pair(1), moved(pair(1), shift), true, false, [2]float64{2, 5}},
		{"a steep beginning, shifted", moved(a, steep), moved(a, steep), moved(moved(a, steep), shift), true, false, [2]float64{2, 6}},
		{"nothing differs", a, a, a, true, true, [2]float64{0, 0}},
		{"one of them is short", a, b, descent(40, 3), false, true, [2]float64{0.5, 2}},
	} {
		l, err := compareLosses(c.before, c.again, c.with)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if l.Repeats != c.repeats || l.Within != c.within || l.Units == nil || *l.Units < c.units[0] || *l.Units > c.units[1] {
			t.Errorf("%s: %+v", c.name, *l)
		}
		if last := l.Rows[len(l.Rows)-1]; len(l.Rows) != lossRows || l.Rows[0].First != 1 || last.Last != min(n, len(c.with)) {
			t.Errorf("%s: rows %+v", c.name, l.Rows)
		}
		if strings.Contains(l.Sentence(), "repeats itself") != c.repeats {
			t.Errorf("%s: %s", c.name, l.Sentence())
		}
	}
	flat := make([]float64, n)
	if l, err := compareLosses(flat, flat, moved(flat, shift)); err != nil || l.Within || l.Units != nil || !strings.Contains(l.Sentence(), "infinitely") {
		t.Errorf("a loss that never changes: %+v, %v", l, err)
	}
	for want, with := range map[string][]float64{
		"29 times":                    a[:29],
		"loss 8 is not a number with": moved(a, func(i int) float64 { return 1 / float64(min(i, 7)-7) }),
		"loss 1 is not a number with": moved(a, func(int) float64 { return math.NaN() }),
	} {
		if _, err := compareLosses(a, b, with); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if _, err := compareLosses(moved(a, func(int) float64 { return math.NaN() }), b, b); err == nil || !strings.Contains(err.Error(), "not a number without it") {
		t.Errorf("%v", err)
	}
}

func TestReadLosses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "losses")
	if got := readLosses(file); got != nil {
		t.Errorf("%v of no file", got)
	}
	if err := os.WriteFile(file, []byte("0.25\nnan\n-inf\n1e-05\n0.1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(readLosses(file)); got != "[0.25 NaN -Inf 1e-05]" {
		t.Errorf("%s", got)
	}
}

// computing is a run whose device computes all the time in float32; with a plan that
// sets bf16 its steps are shorter.
func computing(t *testing.T, half bool, seed uint64) *recording.Run {
	t.Helper()
	run, err := recording.Open("../testdata/cases/labelled-healthy/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	run.Facts.Command, run.Facts.GPUs[0].Name = []string{"python", "train.py"}, "NVIDIA A100-SXM4-80GB"
	settings, factor := run.Facts.Loaders[0].Settings, 1.0
	settings[stoker.Precision], settings[stoker.TF32] = "float32", true
	if half {
		settings[stoker.Precision], factor = "autocast", 0.6
	}
	chance := rand.New(rand.NewPCG(2, seed))
	at := run.Steps[0].Start
	for i := range run.Steps {
		s := &run.Steps[i]
		s.Period *= factor * (1 + 0.01*chance.NormFloat64())
		s.DevicePeriod = s.Period
		s.Start, at = at, at+s.Period
	}
	return run
}

// Changes of numbers are tried if allowed, and kept if losses are as close as those of two
// starts without the change. If they are not allowed, a line says what they promise.
func TestNumbers(t *testing.T) {
	alike := func(start int, _ bool) []float64 { return descent(200, uint64(start)) }
	worse := func(_ int, half bool) []float64 {
		return moved(descent(200, 1), func(int) float64 {
			if half {
				return 0.2
			}
			return 0
		})
	}
	none := func(int, bool) []float64 { return nil }
	for _, c := range []struct {
		name   string
		allow  []string
		most   int
		losses func(start int, half bool) []float64
		sets   bool
		kept   bool
		starts int
		says   string
	}{
		{"not allowed", nil, 5, alike, true, false, 1, "precision float32 -> bf16 changes numbers: --allow precision tries it all the same"},
		{"another seed each", []string{Precision}, 5, alike, true, true, 3, "is kept"},
		{"losses are worse", []string{Precision}, 5, worse, true, false, 3, "precision float32 -> bf16 is not kept: 1.67x"},
		{"no losses", []string{Precision}, 5, none, true, false, 3, "losses cannot be compared: backward() was called on a single number 0 times"},
		{"the hook sets nothing", []string{Precision}, 5, alike, false, false, 3, "were not set"},
		{"two starts are too few", []string{Precision}, 2, alike, true, false, 1, "no more starts are allowed"},
	} {
		var said []string
		starts, plans := 0, 0
		r, err := Run(t.Context(), Options{
			Allow: c.allow, Most: c.most, Version: "v1", Read: script12,
			Start: func(_ context.Context, _ string, plan *Plan) (Attempt, error) {
				starts++
				half := plan != nil && len(plan.Program) == 1
				return Attempt{computing(t, half && c.sets, uint64(starts)), "0.jsonl.gz", c.losses(starts, half)}, nil
			},
			Say: func(text string) { said = append(said, text) }, Best: func(Plan) { plans++ },
		})
		all := strings.Join(append(said, r.Stopped), "\n")
		if err != nil || starts != c.starts || (plans == 1) != c.kept || !strings.Contains(all, c.says) {
			t.Errorf("%s: %d starts, %d plans, %v\n%s", c.name, starts, plans, err, all)
		}
		if (len(r.Plan.Program) == 1) != c.kept || c.kept && (len(r.Plan.Denied(nil)) != 1 || len(r.Plan.Denied([]string{Precision})) != 0) {
			t.Errorf("%s: plan %+v", c.name, r.Plan)
		}
		for _, trial := range r.Trials {
			if trial.Promised != nil || len(trial.Pairs) != 2 || (trial.Losses != nil) != strings.Contains(trial.sentence(), "losses differ by") {
				t.Errorf("%s: %+v", c.name, trial)
			}
		}
	}
}

// What changes numbers needs no DataLoader that can be set; advise leaves it to be tried.
func TestNumbersInPlans(t *testing.T) {
	best := starved(t, func(f *recording.Facts) { f.Loaders[0].Iterable = true })
	change := stoker.Change{Setting: stoker.TF32, From: false, To: true}
	best.Plan.Fixes = append(best.Plan.Fixes, advise.Fix{Name: "tf32", Changes: []stoker.Change{change}, Forecast: predict.Forecast{Speedup: stoker.Interval{Low: 1, Point: math.NaN(), High: 3}}})
	next := chooseNext(best, nil, []string{Precision}, 3, true)
	if len(next.Changes) != 1 || next.Changes[0] != change {
		t.Errorf("%+v", next)
	}
	if next := chooseNext(best, nil, []string{Precision}, 2, true); !strings.Contains(next.Why, "to try tf32 takes 3, and --starts leaves 2. It would promise at most 3.00x") {
		t.Errorf("%+v", next)
	}
	if next := chooseNext(best, nil, nil, 3, true); !strings.Contains(next.Why, "--allow precision") {
		t.Errorf("%+v", next)
	}
	plan, err := planOf(best.Run, best.Verdict, next.Changes, "run.jsonl.gz", "v1", script12)
	if err != nil || len(plan.Program) != 1 || len(plan.Loaders)+len(plan.Elsewhere) != 0 {
		t.Errorf("%+v, %v", plan, err)
	}
	_, left, err := Patch(t.Context(), plan, t.TempDir())
	if err != nil || !strings.Contains(strings.Join(left, "\n"), `tf32 false -> true is not an argument of a DataLoader: write torch.set_float32_matmul_precision("high")`) {
		t.Errorf("%v, %v", left, err)
	}
	text, err := plan.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Read(text); err != nil || len(again.Program) != 1 || again.Program[0] != change {
		t.Errorf("%+v, %v", again, err)
	}
	if advised, err := New(best.Run, best.Verdict, best.Plan, "run.jsonl.gz", "v1", script12); err != nil || len(advised.Program) != 0 || !strings.Contains(strings.Join(advised.Unset(), "\n"), "stoker tune --allow precision compares losses first") {
		t.Errorf("%+v, %v", advised, err)
	}
}
