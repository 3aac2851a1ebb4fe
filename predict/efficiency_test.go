package predict

import (
	"flag"
	"fmt"
	"go/format"
	"math"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
)

var refit = flag.Bool("fit", false, "rewrite fitted.go and the tables of docs/predict.md from testdata/fit.csv: go test ./predict -run Efficiencies -fit")

// The constants in fitted.go are those that the rows of testdata/fit.csv give.
func TestEfficienciesAreFitted(t *testing.T) {
	rows := resolve(t, fitRows(t))
	origins := rows.named()
	problem := newFit(rows)
	fitted := problem.solve(nil, nil)
	if *refit {
		away := problem.leaveOut(repositories, fitted)
		text, err := format.Source([]byte(printed(fitted, rows, origins, widthsOf(away, problem.leaveOut(networks, fitted)))))
		if err == nil {
			err = os.WriteFile("fitted.go", text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Log("fitted.go is rewritten: run the tests again, with -fit for the tables")
		return
	}
	for key, v := range fitted {
		if have, known := efficient[key]; !known && !strings.HasPrefix(key, "source/") || known && math.Abs(math.Log(v/have)) > 0.1 {
			t.Errorf("%s: fitted.go says %.3g, the rows give %.3g: fit again with -fit", key, have, v)
		}
	}
	if !slices.Equal(sources, origins) {
		t.Fatal("fitted.go lists other sources than the rows: fit again with -fit")
	}
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

// whole names what is left out together.
type whole struct {
	title string
	of    func(*proof) string
}

var (
	sheets       = whole{"a table: one network, GPU, precision, software, file", func(p *proof) string { return fmt.Sprint(p.sheet()) }}
	files        = whole{"a file", func(p *proof) string { return p.file() }}
	repositories = whole{"a repository", func(p *proof) string { return p.repository() }}
	networks     = whole{"a network", func(p *proof) string { return p.Workload }}
	devices      = whole{"a GPU", func(p *proof) string { return p.GPU }}
)

// judgement is the error of a prediction that did not know the row.
type judgement struct {
	*proof
	error, device float64 // of the whole prediction, as in a clue
	level         level
	unseen        bool    // no chip of its architecture was known in its precision
	low, high     float64 // ends of the interval, seconds
}

// own is the device's part of the prediction, by the error so far.
func (j judgement) own() float64 { return j.proof.own / math.Exp(j.error) }

// predicted is the point, seconds.
func (j judgement) predicted() float64 { return j.Step() / math.Exp(j.error) }

func (j judgement) inside() bool { return j.low <= j.Step() && j.Step() <= j.high }

// size is the error as people count it: predicted over measured, less one.
func (j judgement) size() float64 { return math.Abs(math.Expm1(-j.error)) }

// leaveOut predicts each whole from the other rows alone: efficiencies and
// corrections both.
func (f fit) leaveOut(w whole, fitted efficiency) []judgement {
	groups := map[string][]int{}
	for i, p := range f.rows {
		groups[w.of(p)] = append(groups[w.of(p)], i)
	}
	var judged []judgement
	order := map[*proof]int{}
	for _, group := range groups {
		kept := make([]bool, len(f.rows))
		for i := range kept {
			kept[i] = true
		}
		for _, i := range group {
			kept[i] = false
		}
		solved := f.without(kept, fitted)
		var others proofs
		for i, p := range f.rows {
			if kept[i] {
				others = append(others, p)
			}
		}
		known := knowledge{solved, others.against(solved)}
		for _, i := range group {
			order[f.rows[i]] = i
			judged = append(judged, judge(f.rows[i], known))
		}
	}
	sort.Slice(judged, func(i, j int) bool { return order[judged[i].proof] < order[judged[j].proof] })
	return judged
}

// without fits the rows that are kept. An efficiency of which they know nothing is
// not known: its prior counts.
func (f fit) without(kept []bool, fitted efficiency) efficiency {
	solved := f.solve(kept, fitted)
	known := map[string]bool{}
	for i, at := range f.at {
		if kept[i] {
			for _, n := range append(at.factors, at.peak, at.bandwidth, at.scores, at.start, at.launch) {
				known[f.names[n]] = true
			}
		}
	}
	for key := range solved {
		if !known[key] {
			delete(solved, key)
		}
	}
	return solved
}

func judge(p *proof, known knowledge) judgement {
	point, w, found := known.of(&p.load)
	wrong, device := p.compare(point)
	_, seen := known.efficient[p.load.ideal().keys().chip()]
	j := judgement{proof: p, error: wrong, device: device, level: found.level, unseen: !seen}
	half := math.Exp(j.device*w.device + (1-j.device)*w.launch)
	at := stoker.Interval{Low: j.own() / half, Point: j.own(), High: j.own() * half}
	at = sum(at, p.exchanged(p.load, at))
	j.error, j.low, j.high = math.Log(p.Step()/at.Point), at.Low, at.High
	return j
}

// held is the share of sources never seen that an interval is made to hold: more
// than the 80 % that it promises, for other sources lie further out than these.
const held = 0.85

// widthsOf are the half widths that hold that share of the errors at left-out
// repositories, each repository counting as one, and 80 % of the rows at least; of
// a network that nobody measured, those at left-out networks. Where fewer than
// four repositories tell, those of the kind of load at any level have to be held
// too. An interval with less behind it is never the narrower one.
func widthsOf(away, strange []judgement) map[level]map[training]width {
	found := map[level]map[training]width{exact: {}, alike: {}, distant: {}, stranger: {}}
	for _, kind := range []training{false, true} {
		before := width{}
		for _, l := range []level{exact, alike, distant, stranger} {
			from := away
			if l == stranger {
				from = strange
			}
			w := width{
				launch: max(before.launch, reach(from, func(j judgement) bool { return j.device < 0.5 && training(j.Training) == kind && j.level == l },
					func(j judgement) bool { return j.device < 0.5 })),
				device: max(before.device, reach(from, func(j judgement) bool { return j.device >= 0.5 && training(j.Training) == kind && j.level == l },
					func(j judgement) bool { return j.device >= 0.5 && training(j.Training) == kind })),
			}
			found[l][kind], before = w, w
		}
	}
	return found
}

func reach(all []judgement, kept, otherwise func(judgement) bool) float64 {
	count := map[string]float64{}
	var some []judgement
	for _, j := range all {
		if kept(j) && !j.unseen {
			some = append(some, j)
			count[j.repository()]++
		}
	}
	if len(count) < 4 && otherwise != nil {
		pooled := reach(all, otherwise, nil)
		if len(some) == 0 {
			return pooled
		}
		return max(pooled, reach(some, kept, nil))
	}
	sort.Slice(some, func(i, j int) bool { return math.Abs(some[i].error) < math.Abs(some[j].error) })
	share := 0.0
	for i, j := range some {
		share += 1 / count[j.repository()] / float64(len(count))
		if share >= held-1e-9 && float64(i+1) >= 0.8*float64(len(some)) {
			return math.Abs(j.error)
		}
	}
	return math.NaN()
}

// printed is fitted.go.
func printed(e efficiency, rows proofs, origins []string, w map[level]map[training]width) string {
	var out strings.Builder
	fmt.Fprintf(&out, "package predict\n\n// Written by go test ./predict -run Efficiencies -fit; do not edit.\n//\n")
	fmt.Fprintf(&out, "// Fitted to %d rows of testdata/fit.csv by least squares in logarithms with the\n// priors of priorOf. docs/predict.md has the errors at what was left out.\n\n", len(rows))
	fmt.Fprintf(&out, "// efficient are the efficiencies that published steps reached.\nvar efficient = efficiency{\n")
	keys := []string{}
	for name := range e {
		if !strings.HasPrefix(name, "source/") {
			keys = append(keys, name)
		}
	}
	sort.Strings(keys)
	for _, name := range keys {
		fmt.Fprintf(&out, "\t%q: %.3g,\n", name, e[name])
	}
	fmt.Fprintf(&out, "}\n\n// widths hold %.0f %% of the repositories that were left out, stranger of the networks.\nvar widths = map[level]map[training]width{\n", 100*held)
	for i, name := range []string{"exact", "alike", "distant", "stranger"} {
		fmt.Fprintf(&out, "\t%s: {\n", name)
		for _, kind := range []training{false, true} {
			fmt.Fprintf(&out, "\t\t%v: {launch: %.2f, device: %.2f}, // %s\n", bool(kind), w[level(i)][kind].launch, w[level(i)][kind].device, kind)
		}
		fmt.Fprintf(&out, "\t},\n")
	}
	fmt.Fprintf(&out, "}\n\n// evidence are the errors of these efficiencies at the rows: network, training,\n// GPU, precision, software, tokens, side, batch, source, weight, error, device's share.\nvar evidence = clues{\n")
	for _, c := range rows.against(e) {
		fmt.Fprintf(&out, "\t{%q, %v, %q, %q, %q, %g, %g, %g, %d, %.3g, %.3f, %.3f},\n", c.network, c.training, c.gpu, c.precision, c.software, c.tokens, c.side, c.batch, c.source, c.weight, c.error, c.device)
	}
	fmt.Fprintf(&out, "}\n\n// sources are where the rows were read.\nvar sources = []string{\n")
	for _, name := range origins {
		fmt.Fprintf(&out, "\t%q,\n", name)
	}
	fmt.Fprintf(&out, "}\n")
	return out.String()
}

// The published errors (docs/predict.md) are what the code gives today: at wholes
// that were left out, and at the sources of the exam.
func TestPublishedErrors(t *testing.T) {
	rows := resolve(t, fitRows(t))
	rows.named()
	problem := newFit(rows)
	fitted := problem.solve(nil, nil)
	var table strings.Builder
	fmt.Fprintf(&table, "| left out | | rows | repositories | median error | 80 %% within | inside, by rows | inside, by repositories | interval |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, w := range []whole{sheets, files, repositories, networks, devices} {
		judged := problem.leaveOut(w, fitted)
		for _, kind := range []training{true, false} {
			fmt.Fprint(&table, line(w.title, kind, judged))
		}
		if w.title == repositories.title {
			promise(t, "left-out repositories", judged)
		}
	}
	asked := examined(t)
	for _, kind := range []training{true, false} {
		fmt.Fprint(&table, line("the exam: repositories never seen", kind, asked))
	}
	promise(t, "the exam", asked)
	checkTable(t, "errors", table.String())
}

// examined are the rows of the exam, as the program answers them.
func examined(t *testing.T) []judgement {
	t.Helper()
	var all []judgement
	for _, m := range examRows(t) {
		load, err := m.Load()
		if err != nil {
			t.Fatal(err)
		}
		curve, err := load.Curve()
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		at := curve.At(m.Batch)
		at = sum(at, m.exchanged(load, at))
		all = append(all, judgement{proof: &proof{Measurement: m, load: load}, error: math.Log(m.Step() / at.Point), low: at.Low, high: at.High})
	}
	return all
}

// summary is what is published of a set of judgements.
type summary struct {
	rows, sources        int
	median, most         float64 // errors: half and 80 % of the rows lie within
	inside, sourcesRows  float64 // share of the rows inside; the same with each source counting as one
	typicalLow, typicalH float64 // of the interval, over the point
}

func sum80(all []judgement) summary {
	var s summary
	var sizes, low, high []float64
	by := map[string][]float64{}
	for _, j := range all {
		in := 0.0
		if j.inside() {
			in = 1
		}
		by[j.repository()] = append(by[j.repository()], in)
		sizes, low, high = append(sizes, j.size()), append(low, j.low/j.predicted()), append(high, j.high/j.predicted())
		s.inside += in / float64(len(all))
	}
	for _, in := range by {
		s.sourcesRows += stat.Mean(in) / float64(len(by))
	}
	s.rows, s.sources = len(all), len(by)
	s.median, s.most = stat.Median(sizes), stat.Quantile(sizes, 0.8)
	s.typicalLow, s.typicalH = stat.Median(low), stat.Median(high)
	return s
}

// line is a row of the published table.
func line(title string, kind training, all []judgement) string {
	var some []judgement
	for _, j := range all {
		if training(j.Training) == kind {
			some = append(some, j)
		}
	}
	s := sum80(some)
	return fmt.Sprintf("| %s | %s | %d | %d | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.2f to %.2f |\n",
		title, kind, s.rows, s.sources, 100*s.median, 100*s.most, 100*s.inside, 100*s.sourcesRows, s.typicalLow, s.typicalH)
}

// promise checks that the interval holds 80 % of the rows, and of the sources.
func promise(t *testing.T, what string, all []judgement) {
	t.Helper()
	s := sum80(all)
	t.Logf("%s: %d rows of %d sources, median error %.1f %%, 80 %% within %.1f %%, inside %.1f %% of the rows, %.1f %% of the sources", what, s.rows, s.sources, 100*s.median, 100*s.most, 100*s.inside, 100*s.sourcesRows)
	if s.inside < 0.8 || s.sourcesRows < 0.8 {
		t.Errorf("%s: the interval holds %.1f %% of the rows and %.1f %% of the sources, want 80 %% of both", what, 100*s.inside, 100*s.sourcesRows)
	}
}

// document is where errors are published.
const document = "../docs/predict.md"

// figures are the numbers in a table: they may differ by one of their last digit,
// for a sum in another order rounds otherwise.
var figures = regexp.MustCompile(`\d+(\.\d+)?`)

// checkTable compares a published table, between comments with its name, with what
// the code gives; -fit writes it.
func checkTable(t *testing.T, name, got string) {
	t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": go test ./predict -run Published -fit -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(string(data), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table %q", document, name)
	}
	if *refit {
		if err := os.WriteFile(document, []byte(before+begin+got+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if figures.ReplaceAllString(table, "#") != figures.ReplaceAllString(got, "#") {
		t.Errorf("%s, table %s, reads\n%s\nthe code gives\n%s", document, name, table, got)
		return
	}
	were, are := figures.FindAllString(table, -1), figures.FindAllString(got, -1)
	for i := range were {
		was, _ := strconv.ParseFloat(were[i], 64)
		is, _ := strconv.ParseFloat(are[i], 64)
		_, fraction, _ := strings.Cut(are[i], ".")
		if math.Abs(was-is) > 1.01*math.Pow(10, -float64(len(fraction))) {
			t.Errorf("%s, table %s: %s stands where the code gives %s:\n%s", document, name, were[i], are[i], got)
			return
		}
	}
}

// TestExam prints each row of the exam: go test -v -run TestExam ./predict.
func TestExam(t *testing.T) {
	all := examined(t)
	for _, j := range all {
		t.Logf("%-10s %-9s %-14s %-4s %-13s batch %5.0f  tokens %4.0f  measured %9.3f ms  predicted %9.3f (%.3f to %.3f)  %+4.0f %%  %s",
			j.Workload, training(j.Training), j.GPU, j.Precision, j.Software, j.Batch, j.Tokens, 1e3*j.Step(), 1e3*j.predicted(), 1e3*j.low, 1e3*j.high, 100*math.Expm1(-j.error), j.repository())
	}
	for _, by := range []func(judgement) string{
		func(j judgement) string { return j.repository() },
		func(j judgement) string { return j.Workload + " " + training(j.Training).String() },
		func(j judgement) string { return j.GPU },
		func(j judgement) string { return string(j.Precision) },
	} {
		groups := map[string][]judgement{}
		for _, j := range all {
			groups[by(j)] = append(groups[by(j)], j)
		}
		var names []string
		for name := range groups {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			s := sum80(groups[name])
			t.Logf("%-34s %3d rows  median error %5.1f %%  inside %3.0f %%", name, s.rows, 100*s.median, 100*s.inside)
		}
	}
	if len(all) < 100 {
		t.Errorf("%d rows in the exam, want 100 at least", len(all))
	}
}
