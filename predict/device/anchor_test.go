package device

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// transfer is a step that is predicted from another one of the same program: of one
// file, network, variant, in training or inference.
type transfer struct {
	judgement // with the anchor
	kind      string
	from      hardware.GPU
	stranger  bool // of a repository from which nothing was learnt
	without   judgement
}

// program is what two rows have in common that an anchor carries between.
func (p *proof) program() string {
	return fmt.Sprint(p.file(), p.Workload, p.Variant, p.Training, p.Recompute, p.Shard, p.GPUs,
		strings.Contains(p.Source, "real data"))
}

// differs says what differs between two rows: "batch", "length", "GPU",
// "precision", "software", "several", or "" for nothing.
func differs(a, b *proof) string {
	var what []string
	if a.load.Workload.Tokens != b.load.Workload.Tokens || a.load.Workload.Side != b.load.Workload.Side {
		what = append(what, "length")
	} else if a.Batch != b.Batch { // a longer sequence takes a smaller batch
		what = append(what, "batch")
	}
	if !sameChip(a.load.GPU, b.load.GPU, a.Precision) {
		what = append(what, "GPU")
	}
	if a.Precision != b.Precision {
		what = append(what, "precision")
	}
	if a.Software != b.Software {
		what = append(what, "software")
	}
	switch {
	case len(what) == 2 && what[0] == "batch": // what a device or a precision has room for
		return what[1]
	case len(what) > 1:
		return "several"
	}
	return strings.Join(what, "")
}

// transfers predicts each row from each other one of its program, with
// efficiencies and clues of the other repositories alone.
func transfers(t *testing.T) []transfer {
	t.Helper()
	rows := resolve(t, fitRows(t))
	problem := newFit(rows)
	fitted := problem.solve(nil, nil)
	groups := map[string][]int{}
	for i, p := range rows {
		groups[p.repository()] = append(groups[p.repository()], i)
	}
	var all []transfer
	for _, group := range groups {
		kept := make([]bool, len(rows))
		for i := range kept {
			kept[i] = true
		}
		for _, i := range group {
			kept[i] = false
		}
		var others proofs
		for i, p := range rows {
			if kept[i] {
				others = append(others, p)
			}
		}
		solved := problem.without(kept, fitted)
		all = append(all, carriedWithin(knowledge{solved, published().widths, others.against(solved)}, group, rows)...)
	}
	return all
}

func carriedWithin(known knowledge, group []int, rows proofs) (all []transfer) {
	without := map[int]judgement{}
	for _, i := range group {
		without[i] = judge(rows[i], known)
	}
	for _, i := range group {
		for _, j := range group {
			a, b := rows[i], rows[j]
			kind := differs(a, b)
			if i == j || kind == "" || a.program() != b.program() {
				continue
			}
			anchor := Anchor{Load: a.load, Batch: a.Batch, Step: a.Step(), GPUs: float64(a.GPUs)}
			at := known.anchorCurve(b.load, anchor, math.Abs(math.Log(b.Batch/a.Batch))).At(b.Batch)
			at = bounds.Add(at, b.exchanged(b.load, at))
			all = append(all, transfer{
				judgement: judgement{proof: b, error: math.Log(b.Step() / at.Point), low: at.Low, high: at.High},
				kind:      kind, without: without[j], from: a.load.GPU,
			})
		}
	}
	return all
}

// The published table of what an anchor is worth (predict/RESULTS.md) is what the code
// gives, and the interval holds 80 %.
func TestPublishedAnchors(t *testing.T) {
	all := transfers(t)
	var table strings.Builder
	fmt.Fprintf(&table, "| another | | pairs | repositories | median error without | with | 80 %% within | "+
		"inside, by pairs | inside, by repositories | interval |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, kind := range []string{"batch", "length", "GPU", "precision", "software", "several"} {
		for _, trained := range []training{true, false} {
			var some []judgement
			var without []float64
			for _, x := range all {
				if x.kind == kind && training(x.Training) == trained {
					some, without = append(some, x.judgement), append(without, x.without.size())
				}
			}
			if len(some) == 0 {
				continue
			}
			s := sum80(some)
			fmt.Fprintf(&table, "| %s | %s | %d | %d | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.2f to "+
				"%.2f |\n",
				kind, trained, s.rows, s.sources, 100*stat.Median(without), 100*s.median, 100*s.most, 100*s.inside,
				100*s.sourcesRows, s.typicalLow, s.typicalH)
			if min(s.inside, s.sourcesRows) < 0.8 && len(some) >= 20 {
				t.Errorf("%s, %s: the interval holds %.1f %% of %d transfers, %.1f %% where each repository "+
					"counts as one, want 80 %%", kind, trained, 100*s.inside, len(some), 100*s.sourcesRows)
			}
		}
	}
	checkTable(t, "anchors", table.String())
}

// An anchor at the very setting that is asked gives itself back.
func TestAnchorGivesItselfBack(t *testing.T) {
	for _, batch := range []float64{1, 16, 256} {
		for _, step := range []float64{0.004, 0.1036, 2, 1e4} {
			if batch == 256 && step == 0.004 {
				continue // more than its peak
			}
			l := resnetOn(t, "a100-80gb-sxm")
			a := Anchor{Load: l, Batch: batch, Step: step}
			c, err := l.Anchored(a, batch)
			if err != nil {
				t.Fatal(err)
			}
			at := c.At(batch)
			if math.Abs(at.Point/step-1) > 0.05 || !at.Contains(step) {
				t.Errorf("%v s at batch %v come back as %v", step, batch, at)
			}
			if batch == 256 && step > 0.1 && at.High/at.Low > 1.25 {
				t.Errorf("%v s at batch %v: %v is no measured step", step, batch, at)
			}
		}
	}
}

// The further away, the less an anchor says; on another GPU never less than nothing.
func TestAnchorFades(t *testing.T) {
	l := resnetOn(t, "a100-80gb-sxm")
	l.Software = ChannelsLast
	a := Anchor{Load: l, Batch: 256, Step: 256 / 2470.}
	width := func(l Load, batch float64) float64 {
		c, err := l.Anchored(a, batch)
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind != fromAnchor || !strings.HasPrefix(c.Source, "measured: ") {
			t.Errorf("kind %q, source %q", c.Kind, c.Source)
		}
		at := c.At(batch)
		return at.High / at.Low
	}
	same, other := width(l, 256), width(l, 512)
	newer := l
	newer.GPU, _ = hardware.FindGPU("h100-sxm")
	wide := newer
	wide.Precision = hardware.TF32
	plain, err := newer.StepCurve()
	if err != nil {
		t.Fatal(err)
	}
	all := []float64{same, other, width(newer, 512), width(wide, 512)}
	if !slices.IsSorted(all) || all[2] > plain.At(512).High/plain.At(512).Low {
		t.Errorf("interval widths are %.2f: want them to grow, up to %.2f on another GPU", all,
			plain.At(512).High/plain.At(512).Low)
	}
}

// What is said of one of the two holds for the other: it is one program.
func TestAnchorFillsIn(t *testing.T) {
	l := resnetOn(t, "a100-80gb-sxm")
	a := Anchor{Load: Load{Training: true, Precision: hardware.BF16, Software: Compiled}, Batch: 256, Step: 0.1}
	l.Precision, l.Software = AnyPrecision, AnySoftware
	c, err := l.Anchored(a, 256)
	if err != nil || strings.Contains(c.Source, "any ") || c.At(256).High/c.At(256).Low > 1.25 {
		t.Errorf("%+v, %v", c, err)
	}
	a.Load = Load{Training: true}
	if c, err = l.Anchored(a, 256); err != nil || c.At(256).High/c.At(256).Low > 1.35 ||
		!strings.Contains(c.Source, "any precision") {
		t.Errorf("nothing said: %v, %q, %v", c.At(256), c.Source, err)
	}
	a.GPUs = 8
	if c, err = l.Anchored(a, 256); err != nil || !(c.At(256).Point < 0.1) {
		t.Errorf("of eight: %v, %v", c.At(256), err)
	}
	for want, change := range map[string]func(*Load, *Anchor){
		"same network":      func(_ *Load, a *Anchor) { a.Load.Workload, _ = FindWorkload("vit-b16") },
		"of inference":      func(_ *Load, a *Anchor) { a.Load.Training = false },
		"more than 0":       func(_ *Load, a *Anchor) { a.Step = 0 },
		"batch of 1":        func(_ *Load, a *Anchor) { a.Batch = math.NaN() },
		"no fp8 units":      func(l *Load, _ *Anchor) { l.Precision = hardware.FP8 },
		"memory bandwidth":  func(_ *Load, a *Anchor) { a.Load.GPU = hardware.GPU{Name: "x"} },
		"for inference":     func(_ *Load, a *Anchor) { a.Load.Software = Engine },
		"parameters and la": func(l *Load, a *Anchor) { l.Workload = Workload{} },
	} {
		l, a := resnetOn(t, "a100-80gb-sxm"), Anchor{Load: Load{Training: true}, Batch: 256, Step: 0.1}
		change(&l, &a)
		if _, err := l.Anchored(a, 256); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// A measured step as it comes bounds that of the same program compiled, and one that
// was compiled bounds that as it comes from below; the same chip under another name
// takes as long.
func TestAnchorKeepsTheOrder(t *testing.T) {
	l := resnetOn(t, "a100-80gb-sxm")
	for _, step := range []float64{0.05, 0.1, 0.3} {
		for _, batch := range []float64{1, 8, 64, 256} {
			l.Software = Compiled
			a := Anchor{Load: l, Batch: batch, Step: step}
			a.Load.Software = Eager
			c, err := l.Anchored(a, batch)
			if err != nil || c.At(batch).Point > 1.001*step {
				t.Errorf("%v s at batch %v as it comes: compiled %v, %v", step, batch, c.At(batch), err)
			}
			l.Software, a.Load.Software = Eager, Compiled
			if plain, err := l.Anchored(a, batch); err != nil || plain.At(batch).Point < 0.999*step {
				t.Errorf("%v s at batch %v compiled: as it comes %v, %v", step, batch, plain.At(batch), err)
			}
			l.Software, a.Load.Software = Compiled, Eager
			a.Load.GPU.Name, a.Load.GPU.Match = "ours", nil
			if twin, err := l.Anchored(a, batch); err != nil || twin.At(batch) != c.At(batch) {
				t.Errorf("under another name %v, not %v, %v", twin.At(batch), c.At(batch), err)
			}
		}
	}
}
