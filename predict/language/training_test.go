package language

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/hardware"
)

var fitting = flag.Bool("fit", false, "fit the constants of training again, and print them")

// trainingRow is a published figure: tokens/s of each GPU.
type trainingRow struct {
	source, text string
	question     Training
	value        float64
}

// readTrainingRows reads testdata/training_NAME.csv. A source stands in one of the files alone.
func readTrainingRows(t *testing.T, name string) []trainingRow {
	t.Helper()
	return readRows(t, "training_"+name, readTrainingRow)
}

func readTrainingRow(t *testing.T, text func(string) string) trainingRow {
	t.Helper()
	number := func(column string) float64 { return readNumber(t, text, column) }
	gpu, known := hardware.FindGPU(text("gpu"))
	if !known || text("cite") == "" {
		t.Fatalf("no GPU %q, or no source %q", text("gpu"), text("cite"))
	}
	if strings.Contains(text("cite"), "H100 of 500 W and 2.4 TB/s") {
		gpu = slowedH100(gpu)
	}
	q := Training{
		Model: readShape(t, text("model")), GPU: gpu, Precision: hardware.Precision(text("precision")),
		Stack: Stack(text("software")), Compiled: map[string]Switch{"yes": On, "no": Off}[text("compile")],
		LoRA: text("method") == "lora", GPUs: number("gpus"), PerMachine: number("machine"),
		Network: number("network") * 1e9, Tensor: number("tp"), Pipeline: number("pp"), Virtual: number("vp"),
		Context: number("cp"), Expert: number("ep"), Shard: Shard(text("shard")), Group: number("group"),
		Tokens: number("tokens"), MicroBatch: number("micro"), GlobalBatch: number("global"),
		Activations: map[string]Activations{"none": Keep, "selective": Selective, "full": Recompute}[text("keep")],
	}
	return trainingRow{text("source"), fmt.Sprintf("%s %s %s %s x%v tp%v pp%v cp%v ep%v micro %v tokens %v",
		text("model"), text("gpu"), text("precision"), text("software"), q.GPUs, q.Tensor, q.Pipeline, q.Context,
		q.Expert, q.MicroBatch, q.Tokens), q, number("value")}
}

// slowedH100 is that of torchtitan's benchmarks. A chip's clock goes with the third root of its power.
func slowedH100(gpu hardware.GPU) hardware.GPU {
	slower := math.Cbrt(500 / gpu.PowerLimit.Value)
	gpu.FP16.Value, gpu.FP8.Value, gpu.MemoryRate.Value = gpu.FP16.Value*slower, gpu.FP8.Value*slower, 2.4e12
	return gpu
}

// readShape is a model of the table, or one by its shape: "32x4096 h32 kv8 d128 i14336 v128256 gated".
func readShape(t *testing.T, text string) Model {
	t.Helper()
	if m, known := FindModel(text); known {
		return m
	}
	m := Model{Name: text, Title: text}
	if _, err := fmt.Sscanf(text, "%gx%g h%g kv%g d%g i%g v%g", &m.Layers, &m.Width, &m.Heads, &m.KVHeads,
		&m.HeadSize, &m.Inner, &m.Words); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	words := strings.Fields(text)
	if slices.Contains(words, "plain") { // two matrices, as many weights as three of so much less
		m.Inner *= 2. / gated
	}
	m.Tied = slices.Contains(words, "tied")
	if _, experts, sparse := strings.Cut(text, "gated e"); sparse {
		if _, err := fmt.Sscanf(experts, "%g k%g x%g", &m.Experts, &m.Chosen, &m.ExpertInner); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return m
}

// family is what a row is judged with.
func (r trainingRow) family() string {
	switch {
	case r.question.Model.Experts > 0:
		return "experts"
	case isTPU(r.question.GPU):
		return "TPU"
	}
	return string(r.question.Stack)
}

// answered is a row with its answer.
type answered struct {
	trainingRow
	off    float64 // logarithm of predicted over published
	inside bool
}

func answerAll(t *testing.T, rows []trainingRow) (all []answered) {
	t.Helper()
	for _, r := range rows {
		step, err := r.question.Solve()
		if err != nil {
			t.Errorf("%s %s: %v", r.source, r.text, err)
			continue
		}
		all = append(all, answered{r, math.Log(step.TokenRate.Point / r.value), step.TokenRate.Contains(r.value)})
	}
	return all
}

// describeErrors is a row of the table of errors.
func describeErrors(name string, all []answered) string {
	away, inside, bias := make([]float64, len(all)), 0, 0.0
	sources := map[string]bool{}
	for i, a := range all {
		away[i] = math.Abs(math.Expm1(a.off))
		bias += a.off / float64(len(all))
		sources[a.source] = true
		if a.inside {
			inside++
		}
	}
	slices.Sort(away)
	return fmt.Sprintf("| %s | %d | %d | %.0f %% | %.0f %% | %.0f %% | %.2f |", name, len(sources), len(all),
		100*away[len(away)/2], 100*away[len(away)*8/10], 100*float64(inside)/float64(len(all)), math.Exp(bias))
}

// grouped are answers by a word of theirs, in the order of the words.
func grouped(all []answered, by func(answered) string) (names []string, groups map[string][]answered) {
	groups = map[string][]answered{}
	for _, a := range all {
		groups[by(a)] = append(groups[by(a)], a)
	}
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, groups
}

// Published figures of training have the errors that bench/published/RESULTS.md prints: those that
// were fitted, and those of sources that no constant and no width was chosen on.
func TestPublishedTraining(t *testing.T) {
	page, err := os.ReadFile("../../bench/published/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(line string) {
		t.Log(line)
		if !strings.Contains(string(page), line+"\n") {
			t.Errorf("bench/published/RESULTS.md lacks %s", line)
		}
	}
	for _, set := range []string{"fit", "test", "second"} {
		all := answerAll(t, readTrainingRows(t, set))
		for _, a := range all {
			t.Logf("%s %s %s: %.5g, %+.0f %%, inside: %v", set, a.source, a.text, a.value, 100*math.Expm1(a.off), a.inside)
		}
		expect(describeErrors("training, "+set+", all", all))
		names, groups := grouped(all, func(a answered) string { return a.family() })
		for _, name := range names {
			expect(describeErrors("training, "+set+", "+name, groups[name]))
		}
		names, groups = grouped(all, func(a answered) string { return a.source })
		for _, name := range names {
			t.Log(describeErrors(set+" "+name, groups[name]))
		}
	}
}

// No source is on both sides.
func TestSourcesAreSplit(t *testing.T) {
	fitted := map[string]bool{}
	for _, r := range readTrainingRows(t, "fit") {
		fitted[r.source] = true
	}
	for _, r := range append(readTrainingRows(t, "test"), readTrainingRows(t, "second")...) {
		if fitted[r.source] {
			t.Errorf("%s was fitted and is examined", r.source)
		}
	}
}

// lossOf is the mean error of the law, as a logarithm: each source counts by the root of its rows,
// experts by half, and nothing by more than 0.7.
func lossOf(rows []trainingRow) float64 {
	count := map[string]float64{}
	key := func(r trainingRow) string { return fmt.Sprint(r.source, r.question.Model.Experts > 0) }
	for _, r := range rows {
		count[key(r)]++
	}
	sum, weights := 0.0, 0.0
	for _, r := range rows {
		weight := 1 / math.Sqrt(count[key(r)])
		if r.question.Model.Experts > 0 {
			weight /= 2
		}
		q := r.question.settle()
		likely, _, _ := q.passings()
		rate := q.GlobalBatch * q.Tokens / q.GPUs / q.stepWith(likely).Time.Point
		sum += weight * math.Min(0.7, math.Abs(math.Log(rate/r.value)))
		weights += weight
	}
	return sum / weights
}

// The constants of the law are those of the fit: none that is a tenth more or less makes the fit
// better by more than rounding does. With -fit they are fitted again.
func TestFitTraining(t *testing.T) {
	rows := readTrainingRows(t, "fit")
	before := law
	defer func() { law = before }()
	const rounding = 0.02 // of the loss
	best := lossOf(rows)
	rounds := 1
	if *fitting {
		rounds = 10
	}
	constants := reflect.ValueOf(&law).Elem()
	for round := range rounds {
		step := 1 + 0.2*math.Pow(0.8, float64(round))
		if !*fitting {
			step = 1.1
		}
		for i := range constants.NumField() {
			c := reflect.NewAt(constants.Field(i).Type(), constants.Field(i).Addr().UnsafePointer()).Interface().(*float64)
			was := *c
			for _, tried := range []float64{was * step, was / step} {
				if name := constants.Type().Field(i).Name; tried > 1 && name != "apart" && name != "together" && name != "castBytes" {
					continue // a share
				}
				*c = tried
				loss := lossOf(rows)
				if !*fitting {
					if loss < best*(1-rounding) {
						t.Errorf("%s = %.3g fits better: %.4f after %.4f", constants.Type().Field(i).Name, tried, loss, best)
					}
					*c = was
				} else if loss < best {
					best, was = loss, tried
				}
			}
			*c = was
		}
	}
	t.Logf("mean error %.4f with %+v", best, law)
}

// A job that was published fits into memory, and one that cannot does not: the error says why.
func TestMemory(t *testing.T) {
	for _, set := range []string{"fit", "test", "second"} {
		may := 0
		rows := readTrainingRows(t, set)
		for _, r := range rows {
			step, err := r.question.Solve()
			if err != nil {
				t.Errorf("%s %s ran: %v", r.source, r.text, err)
			}
			if step.Fit != Fits {
				may++
			}
		}
		t.Logf("%s: of %d jobs that ran %d may not fit", set, len(rows), may)
	}
	board, _ := hardware.FindGPU("rtx-4090")
	model, _ := FindModel("llama-3.1-8b")
	_, err := Training{
		Model: model, GPU: board, Precision: hardware.BF16, Stack: FSDP, GPUs: 1, Tensor: 1, Pipeline: 1, Context: 1,
		Expert: 1, Tokens: 2048, MicroBatch: 1, GlobalBatch: 1,
	}.Solve()
	var memory *MemoryError
	if !errors.As(err, &memory) || !strings.Contains(err.Error(), "does not fit: each of 1 ") {
		t.Errorf("%v, want one that says how much does not fit", err)
	}
}

// The fastest layout fits, uses all GPUs, and nothing that it lists is faster.
func TestLayouts(t *testing.T) {
	for _, name := range []string{"llama-3.1-8b", "llama-3.1-70b", "qwen-3-30b-a3b"} {
		model, _ := FindModel(name)
		question := Training{
			Model: model, GPU: h100, Precision: hardware.BF16, Stack: Megatron, GPUs: 64, Tokens: 8192, GlobalBatch: 512,
		}
		all := question.Layouts()
		if len(all) < 5 {
			t.Fatalf("%s: %d layouts", name, len(all))
		}
		for i, l := range all {
			step, err := l.Solve()
			if err != nil || step.Fit != Fits || l.GPUs != 64 {
				t.Errorf("%s: %+v: %v, %v", name, l.Training, step.Fit, err)
			}
			if i > 0 && step.Time.Point < all[i-1].Step.Time.Point {
				t.Errorf("%s: the layout at %d is faster than the one before", name, i)
			}
		}
		t.Logf("%s: tp%v pp%v vp%v ep%v micro %v, %.0f tokens/s", name, all[0].Tensor, all[0].Pipeline, all[0].Virtual,
			all[0].Expert, all[0].MicroBatch, all[0].Step.TokenRate.Point)
	}
}
