package text_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func about(low, point, high float64) stoker.Interval {
	return stoker.Interval{Low: low, Point: point, High: high}
}

// one is a prediction by hand, so that its faces do not move with the model.
func one() question.Prediction {
	limit := func(stage stoker.Stage, r stoker.Resource, time stoker.Interval) predict.Limit {
		return predict.Limit{Stage: stage, Resource: r, Time: time}
	}
	return question.Prediction{
		Title:  "ResNet-50, training, fp16, batch 256 on NVIDIA H100 80GB HBM3",
		Inputs: []question.Input{{Name: "sample", Value: "110 KB", Source: "given"}, {Name: "link", Value: "pcie5", Source: "the GPU's"}},
		Setup:  predict.Setup{Batch: 256, Workers: 8},
		Answer: predict.Answer{
			Stages: []predict.StageTime{
				{Stage: stoker.Read, Resource: stoker.Storage, Time: stoker.Unknown(), Text: "256 x 110 KB / unknown"},
				{Stage: stoker.Prepare, Resource: stoker.Worker, Time: about(0.05, 0.1, 0.2), Text: "256 x 2 ms / 8 workers", Source: "prior"},
				{Stage: stoker.Compute, Resource: stoker.GPU, Time: stoker.Exactly(0.06), Text: "ResNet-50", Source: "measured"},
			},
			Step: about(0.06, math.NaN(), math.NaN()), Throughput: about(math.NaN(), math.NaN(), 4270), PerGPU: about(math.NaN(), math.NaN(), 4270),
			Utilization: about(math.NaN(), math.NaN(), 1), Slowdown: about(1, math.NaN(), math.NaN()), Stall: about(0, math.NaN(), math.NaN()),
			Longest: limit(stoker.Prepare, stoker.Worker, about(0.05, 0.1, 0.2)), Next: limit(stoker.Compute, stoker.GPU, stoker.Exactly(0.06)), Gain: about(1, 1.67, 3.3),
			Demand:    predict.Demand{Samples: stoker.Exactly(4270), Storage: stoker.Exactly(470e6), Prepared: stoker.Exactly(470e6), Cores: stoker.Unknown(), Workers: about(7, 14, 28), Link: stoker.Exactly(2.57e9)},
			Crossover: predict.Crossover{Batch: stoker.Unknown(), Text: "input takes longer than compute at every batch"},
			Unknown:   []predict.Missing{{Input: "storage rate", Needs: "at least 470 MB/s"}, {Input: "cores"}},
			Wrong:     []string{"preparing a sample would have to take less than 1.2 ms"},
			Notes:     []string{"handing over is a prior"},
		},
	}
}

func sized() question.Prediction {
	p := one()
	p.Sources, p.All = true, true
	p.Sizing = &predict.Sizing{
		Target: 0.95, Step: 0.063, Workers: about(7, 14, 28), Cores: stoker.Unknown(), Storage: stoker.Exactly(450e6), Link: stoker.Exactly(2.4e9), PrepareRate: stoker.Unknown(),
		Changes:    []predict.Need{{Input: "workers", From: 8, To: about(7, 14, 28), Unit: "per GPU"}, {Input: "storage rate", From: math.NaN(), To: stoker.Exactly(450e6), Unit: "bytes/s"}},
		Impossible: []string{"95 % cannot be reached through one collecting process"}, Unknown: p.Answer.Unknown,
	}
	p.Walls = []predict.Wall{
		{Name: "memory", Unit: "bytes", Value: stoker.Exactly(12e9), Limit: stoker.Exactly(85e9), Share: stoker.Exactly(12.0 / 85), Text: "batch 256 needs 12 GB"},
		{Name: "transformation", Unit: "cores", Value: stoker.Exactly(17), Limit: stoker.Exactly(16), Share: stoker.Exactly(17.0 / 16), Hit: true, Text: "17 cores of 16"},
		{Name: "checkpoint", Unit: "seconds", Value: stoker.Unknown(), Limit: stoker.Unknown(), Share: stoker.Unknown(), Text: "unknown"},
	}
	p.Waste = &predict.Waste{GPUHours: about(0, 9.6, 12), Dollars: about(0, 38, 48), KWh: stoker.Unknown(), KgCO2: stoker.Unknown(), Notes: []string{"the device's own energy"}}
	p.Hours, p.Prices.Source = 24, "$3.99 per GPU hour: a list"
	return p
}

// swept has a point that is unknown and one that does not fit.
func swept(axes ...predict.Axis) question.Prediction {
	p := one()
	p.Axes = axes
	second := []float64{math.NaN()}
	if len(axes) == 2 {
		second = axes[1].Values
	}
	resources := []stoker.Resource{stoker.GPU, stoker.Worker, stoker.CPU, stoker.Storage}
	for i, x := range axes[0].Values {
		for j, y := range second {
			u := 1 / (1 + 0.4*float64(i) + 0.2*float64(j))
			q := predict.Point{
				X: x, Y: y, Step: stoker.Exactly(0.1 / u), Throughput: about(900*u, 1000*u, 1200*u), Utilization: about(0.8*u, u, 1), Bound: resources[(i+j)%4], BoundStage: stoker.Prepare, Fits: predict.Yes,
			}
			if i == len(axes[0].Values)-1 {
				q.Fits = predict.No
			}
			if i == 2 {
				q.Step, q.Throughput, q.Utilization, q.Bound = stoker.Unknown(), stoker.Unknown(), stoker.Unknown(), ""
			}
			p.Points = append(p.Points, q)
		}
	}
	return p
}

func roofline() question.Prediction {
	p := question.Prediction{Title: "Roofline of a device in fp16"}
	p.Roofline = &predict.Roofline{
		GPU: hardware.GPU{Name: "device", Title: "A device"}, Precision: hardware.FP16, Peak: 1e15,
		Diagonals: []predict.Diagonal{{Name: predict.DeviceMemory, Over: "device bytes", Rate: 3e12, Ridge: 333}, {Name: predict.HostLink, Over: "copied bytes", Rate: 5e10, Ridge: 20000}},
		Points: []predict.Workpoint{
			{Name: "ResNet-50", Batch: 64, Device: 90, Copied: 40000, Stored: 2e5, Attained: about(5e13, 6e13, 7e13), Delivered: stoker.Exactly(5e13), Roof: 2.7e14, Bound: predict.DeviceMemory},
			{Name: "unknown", Batch: 1, Device: math.NaN(), Copied: math.NaN(), Stored: math.NaN(), Attained: stoker.Unknown(), Delivered: stoker.Unknown(), Roof: math.NaN()},
		},
	}
	return p
}

func predictions() map[string]question.Prediction {
	batch := predict.Axis{Name: "batch", Values: []float64{32, 64, 128, 256, 512, 1024}}
	workers := predict.Axis{Name: "workers", Values: []float64{1, 2, 4, 8}}
	whole := one()
	whole.All = true
	return map[string]question.Prediction{"first": one(), "one": whole, "sized": sized(), "sweep": swept(batch), "grid": swept(batch, workers), "roofline": roofline()}
}

var predictFaces = map[string]func(*bytes.Buffer, question.Prediction) error{
	"text": func(b *bytes.Buffer, p question.Prediction) error { return text.WritePrediction(b, p, text.Style{}) },
	"json": func(b *bytes.Buffer, p question.Prediction) error { return wire.WritePrediction(b, p) },
	"csv":  func(b *bytes.Buffer, p question.Prediction) error { return wire.WritePredictionCSV(b, p) },
}

func TestFacesOfPredictions(t *testing.T) {
	files := golden.Open(t, "testdata/predict", ".golden")
	for name, p := range predictions() {
		for face, show := range predictFaces {
			var b bytes.Buffer
			if err := show(&b, p); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Errorf("%s of %s prints an unknown as a number:\n%s", face, name, b.String())
			}
			files.Check(t, name+"."+face, b.String())
		}
	}
}

// A prediction of nothing says so in every face.
func TestEmptyPrediction(t *testing.T) {
	a, err := predict.Setup{Batch: 1, Workers: math.NaN(), Cores: math.NaN()}.Solve()
	if err != nil {
		t.Fatal(err)
	}
	for face, show := range predictFaces {
		var b bytes.Buffer
		if err := show(&b, question.Prediction{Setup: predict.Setup{Batch: 1}, Answer: a}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%s of nothing:\n%s", face, b.String())
		}
	}
}

// Every verb's object has the same first fields; predict's is JSON throughout.
func TestPredictJSONFieldsAreAlwaysPresent(t *testing.T) {
	for name, p := range predictions() {
		var b bytes.Buffer
		if err := wire.WritePrediction(&b, p); err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(b.Bytes(), &object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, field := range []string{"schema", "verdict", "evidence", "causes", "shares", "step", "plan", "warnings", "sizing", "walls", "waste", "sweep", "roofline"} {
			if _, present := object[field]; !present {
				t.Errorf("%s: field %q is missing", name, field)
			}
		}
	}
}

// All rows of the CSV have as many fields as their heading; the reader says so.
func TestPredictCSVIsRectangular(t *testing.T) {
	for name, p := range predictions() {
		var b bytes.Buffer
		if err := wire.WritePredictionCSV(&b, p); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(rows) < 3 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
}

func TestFacesOfTheTutorial(t *testing.T) {
	lessons := []tutorial.Lesson{{Title: "One batch", Given: "batch 256", Lines: []tutorial.LessonLine{
		{What: "step", Published: "11.74 ms", Computed: "11.74 ms", Value: 11.743, Unit: "ms", Ours: "103.6 ms: 256 images at 2,470/s, measured by somebody with care on a device that is named here", Why: "a forward pass"},
		{What: "supply", Published: "0.00 GB/s", Computed: "unknown", Value: math.NaN(), Differs: true, Ours: "7 GB/s", Why: "unknown is not 0"},
		{What: "use", Published: "18.3 %", Computed: "18.3 %", Value: 18.35, Unit: "%", Ours: "100 %", Why: "a forward pass"},
	}}}
	files := golden.Open(t, "testdata/tutorial", ".golden")
	for face, show := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return text.WriteLessons(b, lessons, text.Style{Width: 80}) },
		"json": func(b *bytes.Buffer) error { return wire.WriteLessons(b, lessons) },
		"csv":  func(b *bytes.Buffer) error { return wire.WriteLessonsCSV(b, lessons) },
	} {
		var b bytes.Buffer
		if err := show(&b); err != nil {
			t.Fatal(err)
		}
		files.Check(t, face, b.String())
	}
}

// No line of text is wider than the page, for any width.
func TestPredictTextFitsPage(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		for name, p := range predictions() {
			var b bytes.Buffer
			if err := text.WritePrediction(&b, p, text.Style{Width: width, Colour: true}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(colours.ReplaceAllString(b.String(), "")) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
					t.Errorf("%s at %d: a line has %d columns: %s", name, width, n, line)
				}
			}
		}
	}
}

// A table says a shared source once.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	rows := [][]string{{"name", "rate", "sources"}, {"a", "1 GB/s", "a book"}, {"b", "2 GB/s", "a book"}, {"c", "unknown", "a letter"}}
	if err := text.WriteTable(&b, rows, text.Style{}); err != nil {
		t.Fatal(err)
	}
	const want = "  name  rate\n  a     1 GB/s\n  b     2 GB/s\n  c     unknown\n\n  a b: a book\n  c: a letter\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	if err := wire.WriteTable(&b, "rows", rows); err != nil || !json.Valid(b.Bytes()) || !strings.Contains(b.String(), `"rate": "2 GB/s"`) {
		t.Errorf("%v: %s", err, b.String())
	}
}
