package device

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Measurement is one published measurement of a step: a row of a public table,
// read in the file that Source names. Step seconds are Batch / Rate.
//
// testdata/fit.csv has the rows that efficiencies are fitted to, testdata/exam.csv
// those that judge the result: no repository has rows in both, so that nothing of
// an exam's source is ever learnt. Do not look at the exam when you change the
// model: the errors at left-out sources (efficiency_test.go) are there for that.
// A new repository goes to the exam as a whole, or, where one is needed to learn
// from, to the fit, decided before any error at it is seen.
//
// Left out: sequences of 512 tokens that were sorted by length, so that fewer were
// computed (BERT's second phase in PyTorch and Paddle), GeForce cards that add up
// in 16 bits (llama.cpp), runs over several nodes, and steps of MLPerf Storage,
// which tells neither precision nor software.
type Measurement struct {
	Workload string // key of the workload that it stands for
	Variant  string // the exact model, as its source names it
	// parameters that each token is multiplied with, where they differ from the workload's; 0 where
	// they do not
	Weights   float64
	GPU       string             // key of the hardware row
	Precision hardware.Precision // what the matrix products ran in; fp16 stands for bf16 too
	Software  Software           // AnySoftware where the source does not tell
	Training  bool
	Batch     float64 // samples per GPU in one pass; with gradient accumulation, of the micro-batch
	Tokens    float64 // per sample, padding included; 0 where samples are not sequences
	Image     float64 // pixels along a side where they differ from the workload's; 0 where they do not
	Rate      float64 // samples per second and GPU
	GPUs      int     // that trained together; 1 means alone
	Shard     string  // how they share weights: "zero3", "" for a copy each
	Recompute bool    // all activations are computed twice, to save memory
	Loading   bool    // reading and decoding ran beside the steps and may have held them up; false: synthetic data
	Stepwise  bool    // attention was computed in single steps where PyTorch fuses it since 2.0
	Source    string  // repository or page, file, date or container, what else matters

	Own Workload // the network by its counts (stoker.count), where it is none of Workloads
}

// Step is the measured step time, seconds.
func (m Measurement) Step() float64 { return m.Batch / m.Rate }

// Load is the load that was measured: the workload at the row's sequence length,
// image size and weights, on its GPU.
func (m Measurement) Load() (Load, error) {
	w, known := FindWorkload(m.Workload)
	if m.Own.Name != "" {
		w, known = m.Own, true
	}
	if !known {
		return Load{}, fmt.Errorf("measurement of %q: no such workload: name one of Workloads", m.Workload)
	}
	gpu, known := hardware.FindGPU(m.GPU)
	if !known {
		return Load{}, fmt.Errorf("measurement of %s on %q: no such GPU: name one of hardware.GPUs", m.Workload, m.GPU)
	}
	w = w.WithSide(m.Image).WithTokens(m.Tokens).resized(m.Weights)
	return Load{
		Workload: w, GPU: gpu, Precision: m.Precision, Software: m.Software, Training: m.Training,
		Recompute: m.Recompute, Shard: Shard(m.Shard),
	}, nil
}

// exchanged is how much longer a step of the row's ranks is for their exchange,
// beside a device that takes so long. Runs over several machines are not in the
// table but for one, whose network nobody names: it counts as one machine.
func (m Measurement) exchanged(l Load, device stoker.Interval) stoker.Interval {
	e := l.ExchangeOver(hardware.Link{}, stoker.Interval{}, 1)
	ends := [3]float64{device.Low, device.Point, device.High}
	return bounds.InEachView(func(v bounds.View) float64 { return e.Exposed(v, float64(m.GPUs), ends[v]) })
}

// resized is a network of the same layers and width that multiplies each token
// with that many weights: a sibling of another vocabulary or inner width. The
// network itself where its samples are not sequences, or weights is not positive.
func (w Workload) resized(weights float64) Workload {
	if w.Tokens == 0 || !(weights > 0) {
		return w
	}
	pairs := 4 * w.Layers * w.Width * w.Tokens * w.Tokens
	ratio := 2 * weights * w.Tokens / (w.Forward.Value - pairs)
	w.Params.Value *= ratio
	w.Forward.Value = pairs + 2*weights*w.Tokens
	w.Activations.Value *= ratio
	w.Stored.Value *= ratio
	return w
}

// repository is where a row comes from. The rounds of one benchmark have one
// maker: they count as one.
func (m Measurement) repository() string {
	name, _, _ := strings.Cut(m.Source, ", ")
	for _, family := range []string{"mlcommons/training_results", "mlcommons/inference_results"} {
		if strings.HasPrefix(name, family) {
			return family
		}
	}
	return name
}

// file is the repository's file, or the page.
func (m Measurement) file() string {
	words := strings.SplitN(m.Source, ", ", 3)
	return words[0] + ", " + words[1]
}

// sheet names rows that share a table and so their errors.
type sheet struct {
	workload, gpu, file string
	precision           hardware.Precision
	software            Software
	training            bool
}

func (m Measurement) sheet() sheet {
	return sheet{m.Workload, m.GPU, m.file(), m.Precision, m.Software, m.Training}
}

// readTable reads a file of values by column.
func readTable(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		field := map[string]string{}
		for i, name := range lines[0] {
			field[name] = line[i]
		}
		rows = append(rows, field)
	}
	return rows
}

// readRows reads a file of measurements.
func readRows(t *testing.T, path string) (rows []Measurement) {
	t.Helper()
	for _, field := range readTable(t, path) {
		rows = append(rows, Measurement{
			Workload: field["workload"], Variant: field["variant"], Weights: number(t, field["weights"]),
			GPU: field["gpu"], Precision: hardware.Precision(field["precision"]), Software: Software(field["software"]),
			Training: field["training"] == "true", Batch: number(t, field["batch"]), Tokens: number(t, field["tokens"]),
			Image: number(t, field["image"]), Rate: number(t, field["rate"]), GPUs: int(number(t, field["gpus"])),
			Shard:     field["shard"],
			Recompute: field["recompute"] == "true", Loading: field["loading"] == "true",
			Stepwise: field["stepwise"] == "true", Source: field["source"],
			Own: ownNetwork(t, field),
		})
	}
	return rows
}

// ownNetwork is the network of a row that counts it; none where it does not.
func ownNetwork(t *testing.T, field map[string]string) Workload {
	t.Helper()
	if field["flops"] == "" {
		return Workload{}
	}
	count := func(name string) hardware.Figure {
		return hardware.Figure{Value: number(t, field[name]), Source: "stoker.count of torchvision's"}
	}
	return Workload{
		Name: field["workload"], Title: field["workload"], Family: Family(field["family"]), Unit: "image",
		Forward: count("flops"), Activations: count("bytes"), Params: count("params"),
		Layers: number(t, field["layers"]),
	}
}

func fitRows(t *testing.T) []Measurement  { t.Helper(); return readRows(t, "testdata/fit.csv") }
func examRows(t *testing.T) []Measurement { t.Helper(); return readRows(t, "testdata/exam.csv") }

// number reads a field; an empty one is 0.
func number(t *testing.T, text string) float64 {
	t.Helper()
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMeasurementsAreSane(t *testing.T) {
	for _, m := range slices.Concat(fitRows(t), examRows(t)) {
		if !(m.Batch >= 1) || !(m.Rate > 0) || m.Step() > 600 || m.GPUs < 1 || m.GPUs > 16 {
			t.Errorf("implausible figures: %+v", m)
		}
		if strings.Count(m.Source, ", ") < 1 {
			t.Errorf("no source with file: %+v", m)
		}
		if !slices.Contains([]Software{Eager, ChannelsLast, Compiled, Engine, AnySoftware}, m.Software) {
			t.Errorf("unknown software: %+v", m)
		}
		load, err := m.Load()
		if err != nil {
			t.Errorf("%+v: %v", m, err)
			continue
		}
		if used := utilisation(load, m); !(used > 0) || used > 1.01 { // boost clocks lie above those of the sheet
			t.Errorf("%.2f of the peak: the rate, the peak or the FLOP are wrong: %+v", used, m)
		}
	}
}

// utilisation is the share of the peak that a measurement reached.
func utilisation(load Load, m Measurement) float64 {
	load.Recompute = false
	return load.passes() * load.Workload.Forward.Value * m.Rate / load.GPU.Peak(load.Precision).Value
}

// Nothing of a source that is asked was learnt: not another row of its table, not
// another file of its repository.
func TestExamIsOfOtherSources(t *testing.T) {
	learnt, seen := map[string]bool{}, map[string]bool{}
	for _, m := range fitRows(t) {
		learnt[m.repository()] = true
		if row := fmt.Sprintf("%+v", m); seen[row] {
			t.Errorf("fitted twice: %s", row)
		} else {
			seen[row] = true
		}
	}
	asked := map[string]bool{}
	for _, m := range examRows(t) {
		asked[m.repository()] = true
		if learnt[m.repository()] || m.Recompute {
			t.Errorf("not for the exam: %+v", m)
		}
	}
	if len(asked) < 10 || len(learnt) < 20 {
		t.Errorf("%d repositories in the exam, %d in the fit: want 10 and 20 at least", len(asked), len(learnt))
	}
}
