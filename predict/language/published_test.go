package language

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// published is a row of testdata/published.csv: tokens/s of each GPU in training, of all
// requests in serving.
type published struct {
	set, kind, name string
	value           float64
	answer          stoker.Interval
}

// off is the logarithm of what was predicted over what was measured.
func (p published) off() float64 { return math.Log(p.answer.Point / p.value) }

func readPublished(t *testing.T) []published {
	t.Helper()
	return readRows(t, "published", answerRow)
}

// readRows reads testdata/NAME.csv. Each row is read by the names of its columns.
func readRows[T any](t *testing.T, name string, read func(t *testing.T, text func(column string) string) T) []T {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, column := range table[0] {
		at[column] = i
	}
	var rows []T
	for _, cells := range table[1:] {
		rows = append(rows, read(t, func(column string) string { return cells[at[column]] }))
	}
	return rows
}

// readNumber reads a column's number; 0 where the cell is empty.
func readNumber(t *testing.T, text func(column string) string, column string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text(column), 64)
	if text(column) != "" && err != nil {
		t.Fatal(err)
	}
	return v
}

func answerRow(t *testing.T, text func(string) string) published {
	t.Helper()
	number := func(column string) float64 { return readNumber(t, text, column) }
	model, found := FindModel(text("model"))
	gpu, has := hardware.FindGPU(text("gpu"))
	if !found || !has || text("source") == "" {
		t.Fatalf("no model %q, no GPU %q, or no source %q", text("model"), text("gpu"), text("source"))
	}
	p := published{
		set: text("set"), kind: text("kind"), value: number("value"),
		name: fmt.Sprintf("%s %s %s %s", text("model"), text("gpu"), text("precision"), text("software")),
	}
	precision, stack := hardware.Precision(text("precision")), Stack(text("software"))
	rate, err := Serving{
		Model: model, GPU: gpu, Precision: precision, Stack: stack, Tensor: number("tensor"),
		Input: number("input"), Output: number("output"), Batch: number("batch"),
	}.Solve()
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	p.answer = rate.TokenRate
	p.name += fmt.Sprintf(" tp%s %s/%s batch %s", text("tensor"), text("input"), text("output"), text("batch"))
	return p
}

// accuracy is that of one set and kind.
type accuracy struct {
	rows, inside         int
	median, eighty, bias float64
}

func accuracyOf(rows []published, set, kind string) accuracy {
	var away []float64
	e := accuracy{}
	for _, p := range rows {
		if p.set != set || p.kind != kind {
			continue
		}
		e.rows++
		e.bias += p.off()
		away = append(away, math.Abs(math.Expm1(p.off())))
		if p.answer.Contains(p.value) {
			e.inside++
		}
	}
	if e.rows == 0 {
		return e
	}
	slices.Sort(away)
	e.median, e.eighty, e.bias = away[len(away)/2], away[len(away)*8/10], math.Exp(e.bias/float64(e.rows))
	return e
}

// What was published and never tuned on has the errors that bench/published/RESULTS.md prints.
func TestPublishedFigures(t *testing.T) {
	rows := readPublished(t)
	page, err := os.ReadFile("../../bench/published/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rows {
		t.Logf("%s %-6s %-75s %9.5g, predicted %9.5g: %+.0f %%", p.set, p.kind, p.name, p.value, p.answer.Point, 100*math.Expm1(p.off()))
	}
	for _, kind := range []string{"serve", "decode"} {
		for _, set := range []string{"tune", "exam"} {
			e := accuracyOf(rows, set, kind)
			line := fmt.Sprintf("| %s | %s | %d | %.0f %% | %.0f %% | %.0f %% | %.2f |", kind, set, e.rows, 100*e.median, 100*e.eighty,
				100*float64(e.inside)/float64(e.rows), e.bias)
			if !strings.Contains(string(page), line+"\n") {
				t.Errorf("bench/published/RESULTS.md lacks %s", line)
			}
		}
	}
}

// size finds the parameters in billions that a model's name claims.
var size = regexp.MustCompile(`(\d+(?:\.\d+)?)(B|T)\b`)

// The configuration gives as many parameters as the model's name claims.
func TestParametersAreTheNames(t *testing.T) {
	checked := 0
	for _, m := range Models {
		found := size.FindStringSubmatch(m.Title)
		if found == nil || strings.HasPrefix(m.Name, "mixtral") { // 8x7B share their attention
			continue
		}
		claimed, _ := strconv.ParseFloat(found[1], 64)
		if found[2] == "T" {
			claimed *= 1000
		}
		checked++
		if ratio := m.Params() / 1e9 / claimed; ratio < 0.96 || ratio > 1.1 && claimed > 1 {
			t.Errorf("%s has %.4g billion parameters, its name says %v", m.Name, m.Params()/1e9, claimed)
		}
	}
	if checked < 20 {
		t.Errorf("only %d names were checked", checked)
	}
}

// A name or alias finds one model, and none of them another one.
func TestFindModel(t *testing.T) {
	for _, m := range Models {
		for _, name := range m.names() {
			if found, _ := FindModel(name); found.Name != m.Name {
				t.Errorf("%q of %s finds %q", name, m.Name, found.Name)
			}
		}
	}
	if _, found := FindModel("llama-9"); found {
		t.Error("llama-9 is known")
	}
}

var (
	h100, _ = hardware.FindGPU("h100-sxm")
	job     = Training{
		GPU: h100, Precision: hardware.BF16, Stack: Megatron, GPUs: 64, Tensor: 4, Pipeline: 4, Context: 1, Expert: 1,
		Virtual: 1, Tokens: 4096, MicroBatch: 1, GlobalBatch: 64,
	}
)

// Shares sum to 1, more micro-batches make the bubble smaller, more interleaving too, and
// computing again costs a third more products.
func TestStepsParts(t *testing.T) {
	for _, m := range Models {
		one := job
		one.Model, one.GPU.MemoryBytes.Value = m, 1e12
		one.GPUs, one.GlobalBatch, one.Expert, one.Tensor, one.Pipeline = 1024, 1024, min(8, max(1, m.Experts)), 2, 16
		s, err := one.Solve()
		if err != nil {
			t.Fatal(err)
		}
		if sum := s.Products + s.Attention + s.Moved + s.TensorLinks + s.ContextLinks + s.ExpertLinks + s.Bubble +
			s.Replicas + s.Optimizer + s.Launches; math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: shares sum to %v", m.Name, sum)
		}
		more, virtual, again := one, one, one
		more.GlobalBatch, virtual.Virtual, again.Activations, one.Activations = 4096, 4, Recompute, Keep
		s = one.stepWith(law.apart)
		if b := more.stepWith(law.apart); !(b.Bubble < s.Bubble) {
			t.Errorf("%s: four times the micro-batches leave a bubble of %v of %v", m.Name, b.Bubble, s.Bubble)
		}
		if b := virtual.stepWith(law.apart); !(b.Bubble < s.Bubble) {
			t.Errorf("%s: interleaving leaves a bubble of %v of %v", m.Name, b.Bubble, s.Bubble)
		}
		if b := again.stepWith(law.apart); !(b.Time.Point > s.Time.Point) {
			t.Errorf("%s: computing again takes %v of %v", m.Name, b.Time, s.Time)
		}
	}
}

// More requests give more tokens altogether and each of them later.
func TestBatchesTrade(t *testing.T) {
	for _, m := range Models {
		if m.Params() > 700e9 {
			continue // for more GPUs than share a layer
		}
		tensor, large := 1., h100
		large.MemoryBytes.Value = 1e12
		for _, n := range []float64{2, 4, 8} {
			if math.Mod(m.Heads, n) == 0 {
				tensor = n
			}
		}
		var last ServingRate
		for _, batch := range []float64{1, 4, 16, 64} {
			r, err := Serving{
				Model: m, GPU: large, Precision: hardware.FP8, Stack: VLLM, Tensor: tensor, Input: 500, Output: 500, Batch: batch,
			}.Solve()
			if err != nil {
				t.Fatal(err)
			}
			if last.Batch > 0 && !(r.TokenRate.Point > last.TokenRate.Point && r.PerToken.Point > last.PerToken.Point) {
				t.Errorf("%s: batch %v gives %v tokens/s, %v each, after %v and %v", m.Name, batch, r.TokenRate, r.PerToken, last.TokenRate, last.PerToken)
			}
			last = r
		}
	}
}

// What cannot be is refused, with the flag that would change it.
func TestRefusals(t *testing.T) {
	model, _ := FindModel("llama-3.1-405b")
	unnamed, odd, small := job, job, job
	unnamed.Model, odd.Model, small.Model = model, model, model
	unnamed.Stack, odd.GPUs, small.GlobalBatch = "", 65, 1
	for want, one := range map[string]Training{"--software": unnamed, "--tp 4": odd, "--global-batch": small} {
		if _, err := one.Solve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that says %s", err, want)
		}
	}
	for want, one := range map[string]Serving{
		"--tp":        {Model: model, GPU: h100, Precision: hardware.FP8, Stack: VLLM, Tensor: 1, Input: 1, Output: 1},
		"--software":  {Model: model, GPU: h100, Precision: hardware.FP8, Tensor: 8, Input: 1, Output: 1},
		"--tp 16":     {Model: model, GPU: h100, Precision: hardware.FP8, Stack: VLLM, Tensor: 16, Input: 1, Output: 1},
		"--precision": {Model: model, GPU: a100(t), Precision: hardware.FP8, Stack: VLLM, Tensor: 8, Input: 1, Output: 1},
	} {
		if _, err := one.Solve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that says %s", err, want)
		}
	}
}

func a100(t *testing.T) hardware.GPU {
	t.Helper()
	gpu, found := hardware.FindGPU("a100-80gb-sxm")
	if !found {
		t.Fatal("no A100")
	}
	return gpu
}

// A model that guesses makes tokens come sooner where guesses are mostly right, and later where they
// never are. gpt-fast prints 48.4 tokens/s of Llama 2 70B with the 7B in int4 on an A100 of 330 W.
func TestDraft(t *testing.T) {
	large, _ := FindModel("llama-2-70b")
	small, _ := FindModel("llama-2-7b")
	alone := Serving{Model: large, GPU: a100(t), Precision: INT4, Stack: PyTorch, Tensor: 1, Input: 5, Output: 200, Batch: 1}
	rate := func(accept float64) float64 {
		with := alone
		with.Draft, with.Guesses, with.Accept = &small, 5, accept
		r, err := with.Solve()
		if err != nil {
			t.Fatal(err)
		}
		return r.TokenRate.Point
	}
	r, err := alone.Solve()
	if err != nil {
		t.Fatal(err)
	}
	if never, always := rate(0), rate(1); !(never < r.TokenRate.Point && always > 2*r.TokenRate.Point) {
		t.Errorf("%v tokens/s alone, %v with guesses never right, %v with guesses always right", r.TokenRate, never, always)
	}
	if gain := rate(0.7) / r.TokenRate.Point; gain < 0.9*48.4/25.25 || gain > 1.1*48.4/25.25 {
		t.Errorf("%.2fx with 70 %% of guesses right, published 48.4 tokens/s for 25.25", gain)
	}
}
