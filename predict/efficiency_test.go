package predict

import (
	"flag"
	"fmt"
	"go/format"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"stoker/hardware"
	"stoker/internal/stat"
)

var refit = flag.Bool("fit", false, "rewrite fitted.go from Measurements: go test ./predict -run TestEfficiencies -fit")

// The constants in fitted.go are those that Measurements give, and predictions of
// rows that a fit did not see are as good as their intervals say.
func TestEfficienciesAreFitted(t *testing.T) {
	rows := resolve(Measurements)
	all := newFit(rows)
	fitted := all.solve(nil, nil)
	judged := all.leaveGroupsOut(fitted)
	if *refit {
		text, err := format.Source([]byte(printed(fitted, rows, judged)))
		if err == nil {
			err = os.WriteFile("fitted.go", text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Log("fitted.go is rewritten: run the tests again")
		t.Log("\n" + table(judged))
		return
	}
	for key, v := range fitted {
		if have := efficient.of(key); math.Abs(math.Log(v/have)) > 0.1 {
			t.Errorf("%s: fitted.go says %.3g, the rows give %.3g: fit again with -fit", key, have, v)
		}
	}
	checkEvidence(t, rows)
	t.Log("\n" + table(judged))
	if m := stat.Median(absolute(judged)); m > 0.20 {
		t.Errorf("median error at left-out rows is %.1f %%", 100*m)
	}
	inside := 0
	for _, j := range judged {
		w := widths[j.level][training(j.Training)]
		if math.Abs(j.error) <= j.width(w) {
			inside++
		}
	}
	if share := float64(inside) / float64(len(judged)); share < 0.8 {
		t.Errorf("intervals hold %.1f %% of the left-out rows", 100*share)
	} else {
		t.Logf("intervals hold %.1f %% of %d left-out rows", 100*share, len(judged))
	}
}

// checkEvidence compares the prepared clues with those of the rows.
func checkEvidence(t *testing.T, rows proofs) {
	t.Helper()
	want := rows.against(efficient)
	if len(evidence) != len(want) {
		t.Fatalf("fitted.go has %d clues, the rows give %d: fit again with -fit", len(evidence), len(want))
	}
	for i, w := range want {
		have := evidence[i]
		if math.Abs(have.error-w.error) > 0.02 || math.Abs(have.device-w.device) > 0.02 || math.Abs(have.weight-w.weight) > 0.002 {
			t.Errorf("clue %d is %+v, the rows give %+v: fit again with -fit", i, have, w)
		}
		w.error, w.device, w.weight = have.error, have.device, have.weight
		if have != w {
			t.Errorf("clue %d is of %+v, the rows give %+v: fit again with -fit", i, have, w)
		}
	}
}

// proof is a measured step, ready to be compared.
type proof struct {
	Measurement
	load Load
	clue clue
}

type proofs []*proof

// resolve finds the rows' workloads and GPUs. Rows of an unknown one, and those
// that name no software, are left out.
func resolve(rows []Measurement) proofs {
	count := map[sheet]float64{}
	for _, m := range rows {
		count[m.sheet()]++
	}
	var all proofs
	for i, m := range rows {
		load, err := m.Load()
		if err == nil && load.check() == nil && load.Software != AnySoftware {
			all = append(all, &proof{Measurement: m, load: load, clue: clue{
				row: i, chip: architecture(load.GPU), software: load.Software, tokens: load.Workload.Tokens, side: load.Workload.Side,
				weight: 1 / math.Sqrt(count[m.sheet()]),
			}})
		}
	}
	return all
}

// against gives the clues with the errors of a set of efficiencies at the rows.
func (all proofs) against(e efficiency) clues {
	tried := make(clues, len(all))
	for i, p := range all {
		tried[i] = p.clue
		tried[i].error, tried[i].device = p.compare(e.terms(p.ideal()))
	}
	return tried
}

// compare is the logarithm of measured over predicted step time, and how much of
// the predicted one is the device's.
func (p *proof) compare(t Terms) (wrong, device float64) {
	return math.Log(p.Step() / t.at(p.Batch)), t.deviceBound(p.Batch)
}

func (p *proof) ideal() ideal {
	passes := p.load.passes()
	if p.Recompute {
		passes++ // the forward pass is repeated
	}
	return p.load.ideal(passes)
}

// sheet names rows that share a table and so their errors.
type sheet struct {
	workload, gpu, source string
	precision             hardware.Precision
	software              Software
	training              bool
}

func (m Measurement) sheet() sheet {
	words := strings.SplitN(m.Source, ",", 3) // repository, file, the rest
	return sheet{m.Workload, m.GPU, strings.Join(words[:2], ","), m.Precision, m.Software, m.Training}
}

// judgement is the error of a prediction that did not know the row's group.
type judgement struct {
	*proof
	error, device float64 // of the whole prediction, as in a clue
	level         level
}

// width is the half width of an interval at the row.
func (j judgement) width(w width) float64 { return j.device*w.device + (1-j.device)*w.launch }

func absolute(all []judgement) []float64 {
	var errors []float64
	for _, j := range all {
		errors = append(errors, math.Abs(math.Expm1(-j.error))) // predicted over measured, less one
	}
	return errors
}

// fit is a least-squares problem in the logarithms of the efficiencies.
type fit struct {
	rows  proofs
	names []string
	at    []places // of each row
}

// places are the numbers of the keys of a row.
type places struct {
	peak, bandwidth, scores, start, launch int
	factors                                []int // of keys.whole, then keys.compute
}

func newFit(rows proofs) fit {
	f := fit{rows: rows}
	known := map[string]int{}
	number := func(name string) int {
		n, seen := known[name]
		if !seen {
			n = len(f.names)
			known[name] = n
			f.names = append(f.names, name)
		}
		return n
	}
	for _, p := range rows {
		k := p.ideal().keys()
		at := places{peak: number(k.peak), bandwidth: number(k.bandwidth), scores: number(k.scores), start: number(k.start), launch: number(k.launch)}
		for _, name := range append(k.whole[:], k.compute[:]...) {
			at.factors = append(at.factors, number(name))
		}
		f.at = append(f.at, at)
	}
	return f
}

// solve fits the rows that are kept (nil: all), starting from a known solution
// (nil: from the priors): damped Gauss-Newton with weights that tame outliers.
func (f fit) solve(kept []bool, from efficiency) efficiency {
	theta := make([]float64, len(f.names))
	for i, name := range f.names {
		theta[i] = math.Log(from.of(name))
	}
	rounds := 40
	if from != nil {
		rounds = 6
	}
	for range rounds {
		a, b := f.normal(theta, kept)
		step := solveLinear(a, b)
		for i := range theta {
			theta[i] += max(-0.5, min(0.5, step[i]))
		}
	}
	solved := efficiency{}
	for i, name := range f.names {
		solved[name] = math.Exp(theta[i])
	}
	return solved
}

// normal builds the normal equations at theta.
func (f fit) normal(theta []float64, kept []bool) ([][]float64, []float64) {
	n := len(theta)
	a, b := make([][]float64, n), make([]float64, n)
	for i, name := range f.names {
		a[i] = make([]float64, n)
		p := priorOf(name)
		a[i][i] = 1 / (p.sd * p.sd)
		b[i] = (p.mean - theta[i]) / (p.sd * p.sd)
	}
	for r, p := range f.rows {
		if kept != nil && !kept[r] {
			continue
		}
		predicted, slopes := f.row(r, theta)
		off := (math.Log(p.Step()) - predicted) / noise
		w := p.clue.weight * p.clue.weight / (noise * noise) / math.Sqrt(1+p.clue.weight*p.clue.weight*off*off/2)
		for _, i := range slopes {
			b[i.place] += w * i.slope * off * noise
			for _, j := range slopes {
				a[i.place][j.place] += w * i.slope * j.slope
			}
		}
	}
	return a, b
}

type slope struct {
	place int
	slope float64
}

// row is the logarithm of a row's predicted step, and its slopes in theta.
func (f fit) row(r int, theta []float64) (float64, []slope) {
	at, p := f.at[r], f.rows[r]
	i := p.ideal()
	whole, chip := at.factors[:len(keys{}.whole)], at.factors[len(keys{}.whole):]
	factor, slower := 1.0, 1.0
	for _, n := range whole {
		factor *= math.Exp(theta[n])
	}
	for _, n := range chip {
		slower *= math.Exp(theta[n])
	}
	compute := factor * slower * p.Batch * i.compute / math.Exp(theta[at.peak])
	scores := factor * p.Batch * i.scores * math.Exp(theta[at.scores]) / math.Exp(theta[at.bandwidth])
	move := factor*p.Batch*i.move/math.Exp(theta[at.bandwidth]) + scores
	samples := math.Hypot(compute, move)
	start := math.Exp(theta[at.start]) * i.layers
	t := Terms{Floor: math.Exp(theta[at.launch]) * i.layers, Fixed: start + factor*i.weights, PerSample: samples / p.Batch}
	bound := t.deviceBound(p.Batch)
	device := t.Fixed + samples
	computing, moving := bound*compute*compute/samples/device, bound*move/samples/device
	slopes := []slope{{at.peak, -computing}, {at.bandwidth, -moving * move}, {at.scores, moving * scores}, {at.start, bound * start / device}, {at.launch, 1 - bound}}
	for _, n := range whole {
		slopes = append(slopes, slope{n, bound * (device - start) / device})
	}
	for _, n := range chip {
		slopes = append(slopes, slope{n, computing})
	}
	return math.Log(t.at(p.Batch)), slopes
}

// solveLinear solves a x = b for a symmetric positive a, by Cholesky.
func solveLinear(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			if i == j {
				a[i][i] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
	x := slices.Clone(b)
	for i := range n {
		for k := range i {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[k][i] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}

// leaveGroupsOut predicts each group of rows from the others alone: efficiencies
// and corrections both.
func (f fit) leaveGroupsOut(fitted efficiency) []judgement {
	groups := map[sheet][]int{}
	for i, p := range f.rows {
		groups[p.sheet()] = append(groups[p.sheet()], i)
	}
	var judged []judgement
	for _, group := range groups {
		kept := make([]bool, len(f.rows))
		for i := range kept {
			kept[i] = !slices.Contains(group, i)
		}
		solved := f.solve(kept, fitted)
		var others proofs
		for i, p := range f.rows {
			if kept[i] {
				others = append(others, p)
			}
		}
		clues := others.against(solved)
		for _, i := range group {
			judged = append(judged, judge(f.rows[i], solved, clues))
		}
	}
	sort.SliceStable(judged, func(i, j int) bool { return judged[i].clue.row < judged[j].clue.row })
	return judged
}

func judge(p *proof, e efficiency, others clues) judgement {
	found := others.about(&p.load)
	wrong, device := p.compare(e.terms(p.ideal()).scaled(math.Exp(found.launch), math.Exp(found.device)))
	return judgement{p, wrong, device, found.level}
}

// held is the share of left-out rows that an interval is made to hold: more than
// the 80 % that it promises, for other rows lie further out than these.
const held = 0.85

// widthsOf are the half widths that hold that share. Where fewer than 10 rows
// tell, those of the kind of load at any level have to be held too. An interval
// with less behind it is never the narrower one.
func widthsOf(judged []judgement) map[level]map[training]width {
	found := map[level]map[training]width{exact: {}, alike: {}, distant: {}}
	for _, kind := range []training{false, true} {
		before := width{}
		for _, l := range []level{exact, alike, distant} {
			w := width{
				launch: max(before.launch, quantileOf(judged, func(j judgement) bool {
					return j.device < 0.5 && training(j.Training) == kind && j.level == l
				}, func(j judgement) bool { return j.device < 0.5 })),
				device: max(before.device, quantileOf(judged, func(j judgement) bool {
					return j.device >= 0.5 && training(j.Training) == kind && j.level == l
				}, func(j judgement) bool { return j.device >= 0.5 && training(j.Training) == kind })),
			}
			found[l][kind], before = w, w
		}
	}
	return found
}

func quantileOf(judged []judgement, kept, otherwise func(judgement) bool) float64 {
	var errors []float64
	for _, j := range judged {
		if kept(j) {
			errors = append(errors, math.Abs(j.error))
		}
	}
	if len(errors) >= 10 || otherwise == nil {
		return stat.Quantile(errors, held)
	}
	pooled := quantileOf(judged, otherwise, nil)
	if len(errors) == 0 {
		return pooled
	}
	return max(pooled, stat.Quantile(errors, held))
}

// printed is fitted.go.
func printed(e efficiency, rows proofs, judged []judgement) string {
	var out strings.Builder
	fmt.Fprintf(&out, "package predict\n\n// Written by go test ./predict -run TestEfficiencies -fit; do not edit.\n")
	fmt.Fprintf(&out, "//\n// Fitted to %d rows of Measurements by least squares in logarithms with the\n// priors of priorOf. Errors at groups of rows (one workload, GPU, precision,\n// software and table) that were left out of fit and corrections:\n//\n", len(judged))
	for line := range strings.Lines(table(judged)) {
		fmt.Fprint(&out, "//\t"+line)
	}
	fmt.Fprintf(&out, "\n// efficient are the efficiencies that published steps reached.\nvar efficient = efficiency{\n")
	names := []string{}
	for name := range e {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&out, "\t%q: %.3g,\n", name, e[name])
	}
	fmt.Fprintf(&out, "}\n\n// widths hold %.0f %% of the errors above.\nvar widths = map[level]map[training]width{\n", 100*held)
	w := widthsOf(judged)
	for i, name := range []string{"exact", "alike", "distant"} {
		fmt.Fprintf(&out, "\t%s: {\n", name)
		for _, kind := range []training{false, true} {
			fmt.Fprintf(&out, "\t\t%v: {launch: %.2f, device: %.2f}, // %s\n", bool(kind), w[level(i)][kind].launch, w[level(i)][kind].device, kind)
		}
		fmt.Fprintf(&out, "\t},\n")
	}
	fmt.Fprintf(&out, "}\n\n// evidence are the errors of these efficiencies at the rows: row, architecture,\n// software, tokens, side, weight, error, device's share.\nvar evidence = clues{\n")
	for _, c := range rows.against(e) {
		fmt.Fprintf(&out, "\t{%d, %q, %q, %g, %g, %.3g, %.3f, %.3f},\n", c.row, c.chip, c.software, c.tokens, c.side, c.weight, c.error, c.device)
	}
	fmt.Fprintf(&out, "}\n")
	return out.String()
}

// table lists the errors by what was predicted.
func table(judged []judgement) string {
	var out strings.Builder
	line := func(name string, kept func(judgement) bool) {
		var some []judgement
		for _, j := range judged {
			if kept(j) {
				some = append(some, j)
			}
		}
		if len(some) > 0 {
			errors := absolute(some)
			fmt.Fprintf(&out, "%-28s n = %3d  median %3.0f %%  80 %% within %3.0f %%\n", name, len(some), 100*stat.Median(errors), 100*stat.Quantile(errors, 0.8))
		}
	}
	line("all", func(judgement) bool { return true })
	for i, name := range []string{"measured", "alike", "distant"} {
		line(name+", training", func(j judgement) bool { return j.level == level(i) && j.Training })
		line(name+", inference", func(j judgement) bool { return j.level == level(i) && !j.Training })
	}
	line("batch up to 4, inference", func(j judgement) bool { return j.Batch <= 4 && !j.Training })
	for _, w := range Workloads {
		line(w.Name+", training", func(j judgement) bool { return j.Workload == w.Name && j.Training })
		line(w.Name+", inference", func(j judgement) bool { return j.Workload == w.Name && !j.Training })
	}
	for _, class := range []Software{Eager, ChannelsLast, Compiled, Engine} {
		line(string(class), func(j judgement) bool { return j.load.Software == class })
	}
	return out.String()
}
