package wire

import (
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/report"
)

// prediction is the JSON of predict: the fields that the object of every verb has, then its
// own.
type prediction struct {
	Schema   int            `json:"schema"`
	Verdict  foreseen       `json:"verdict"`
	Evidence []jsonEvidence `json:"evidence"`
	Causes   []struct{}     `json:"causes"`
	Shares   jsonShares     `json:"shares"`
	Step     jsonStep       `json:"step"`
	Plan     []jsonFix      `json:"plan"`
	Warnings []string       `json:"warnings"`

	Title      string              `json:"title"`
	Inputs     []question.Input    `json:"inputs"`
	Prediction *jsonForecast       `json:"prediction"`
	First      *jsonFirst          `json:"first_epoch"`
	Stages     []predict.StageTime `json:"stages"`
	Unknown    []jsonMissing       `json:"unknown"`
	Wrong      []string            `json:"wrong_if"`
	Sizing     *jsonSizing         `json:"sizing"`
	Walls      []predict.Wall      `json:"walls"`
	Waste      *jsonWaste          `json:"waste"`
	Sweep      *jsonSweep          `json:"sweep"`
	Roofline   *jsonRoofline       `json:"roofline"`
}

// foreseen is a verdict without a run: nothing was observed.
type foreseen struct {
	Class       *string  `json:"class"`
	Confidence  *float64 `json:"confidence"`
	Stall       *float64 `json:"stall"`
	StallSource *string  `json:"stall_source"`
	RunnerUp    *string  `json:"runner_up"`
}

type jsonForecast struct {
	Utilization stoker.Interval   `json:"utilization"`
	Throughput  stoker.Interval   `json:"samples_per_s"`
	PerGPU      stoker.Interval   `json:"samples_per_s_per_gpu"`
	Step        stoker.Interval   `json:"step_s"`
	Slowdown    stoker.Interval   `json:"slowdown"`
	Stall       stoker.Interval   `json:"stall"`
	Binds       *jsonLimit        `json:"binds"`
	Longest     *jsonLimit        `json:"longest_known"`
	Next        *jsonLimit        `json:"next"`
	Gain        stoker.Interval   `json:"speedup_until_next"`
	Demand      predict.Demand    `json:"demand"`
	Enough      *int              `json:"enough_workers"` // that do as much; null if more than half are needed
	Crossover   predict.Crossover `json:"crossover"`
}

// jsonFirst is a first epoch, in which nothing is in memory; null if later ones are the same.
type jsonFirst struct {
	Utilization stoker.Interval `json:"utilization"`
	Throughput  stoker.Interval `json:"samples_per_s"`
	Step        stoker.Interval `json:"step_s"`
	Binds       *jsonLimit      `json:"binds"`
}

type jsonLimit struct {
	Stage    stoker.Stage    `json:"stage"`
	Resource stoker.Resource `json:"resource"`
	Time     stoker.Interval `json:"time_s"`
}

type jsonMissing struct {
	Input string  `json:"input"`
	Needs *string `json:"needs"`
}

type jsonSizing struct {
	Target      float64         `json:"target"`
	Step        *float64        `json:"step_s"`
	Reached     bool            `json:"reached"`
	Workers     stoker.Interval `json:"workers_per_gpu"`
	Cores       stoker.Interval `json:"cores"`
	Storage     stoker.Interval `json:"storage_bytes_per_s"`
	Reads       stoker.Interval `json:"reads_per_s"`
	Link        stoker.Interval `json:"link_bytes_per_s"`
	PrepareRate stoker.Interval `json:"prepare_bytes_per_s"`
	Batches     stoker.Interval `json:"batches_bytes_per_s"`
	Changes     []jsonNeed      `json:"changes"`
	Impossible  []string        `json:"impossible"`
	Worst       []string        `json:"worst"`
	Unknown     []jsonMissing   `json:"unknown"`
}

type jsonNeed struct {
	Input string          `json:"input"`
	From  *float64        `json:"from"`
	To    stoker.Interval `json:"to"`
	Unit  string          `json:"unit"`
}

type jsonWaste struct {
	Hours    float64         `json:"gpu_hours"`
	GPUHours stoker.Interval `json:"idle_gpu_hours"`
	Dollars  stoker.Interval `json:"usd"`
	KWh      stoker.Interval `json:"kwh"`
	KgCO2    stoker.Interval `json:"kg_co2e"`
	Notes    []string        `json:"notes"`
	Source   string          `json:"source"`
}

type jsonSweep struct {
	Axes   []jsonAxis  `json:"axes"`
	Points []jsonPoint `json:"points"`
}

type jsonAxis struct {
	Name   string    `json:"name"`
	Title  string    `json:"title"`
	Values []float64 `json:"values"`
}

type jsonPoint struct {
	X           float64         `json:"x"`
	Y           *float64        `json:"y"`
	Utilization stoker.Interval `json:"utilization"`
	Throughput  stoker.Interval `json:"samples_per_s"`
	Step        stoker.Interval `json:"step_s"`
	Binds       string          `json:"binds"`
	Stage       string          `json:"stage"`
	Fits        *bool           `json:"fits"`
}

type jsonRoofline struct {
	GPU       string             `json:"gpu"`
	Precision hardware.Precision `json:"precision"`
	Peak      *float64           `json:"peak_flop_per_s"`
	Lines     []jsonLine         `json:"lines"`
	Points    []jsonWorkpoint    `json:"points"`
}

type jsonLine struct {
	Name  string   `json:"name"`
	Over  string   `json:"over"`
	Rate  *float64 `json:"bytes_per_s"`
	Ridge *float64 `json:"ridge_flop_per_byte"`
}

type jsonWorkpoint struct {
	Name      string          `json:"name"`
	Batch     float64         `json:"batch"`
	Device    *float64        `json:"flop_per_device_byte"`
	Copied    *float64        `json:"flop_per_copied_byte"`
	Stored    *float64        `json:"flop_per_stored_byte"`
	Attained  stoker.Interval `json:"attained_flop_per_s"`
	Delivered stoker.Interval `json:"delivered_flop_per_s"`
	Roof      *float64        `json:"roof_flop_per_s"`
	Bound     string          `json:"bound"`
}

// WritePrediction writes a prediction as one object.
func WritePrediction(w io.Writer, p question.Prediction) error {
	o := prediction{
		Schema: schema, Evidence: []jsonEvidence{}, Plan: []jsonFix{}, Warnings: append([]string{}, p.Answer.Notes...),
		Title: p.Title, Inputs: append([]question.Input{}, p.Inputs...), Stages: []predict.StageTime{},
		Unknown: missingJSON(p.Answer.Unknown),
		Wrong:   append([]string{}, p.Answer.Wrong...), Walls: p.Walls, Sizing: sizingJSON(p.Sizing),
	}
	if p.Roofline != nil {
		o.Roofline = rooflineJSON(*p.Roofline)
	} else {
		o.addAnswer(p)
	}
	if w := p.Waste; w != nil {
		o.Waste = &jsonWaste{
			p.Hours, w.GPUHours, w.Dollars, w.KWh, w.KgCO2,
			append([]string{}, w.Notes...), p.Prices.Source,
		}
	}
	if len(p.Points) > 0 {
		o.Sweep = sweepJSON(p)
	}
	return WriteObject(w, o)
}

// addAnswer fills in the result of Solve; for a sweep, that of its first setting.
func (o *prediction) addAnswer(p question.Prediction) {
	a := p.Answer
	o.Verdict = foreseen{Class: classOf(p, a.Bound), Stall: stat.Known(a.Stall.Point), RunnerUp: classOf(p, a.Next)}
	o.Shares.Kernel = stat.Known(a.Utilization.Point)
	o.Step.Median = stat.Known(a.Step.Point)
	o.Prediction = &jsonForecast{
		Utilization: a.Utilization, Throughput: a.Throughput, PerGPU: a.PerGPU,
		Step:     a.Step,
		Slowdown: a.Slowdown, Stall: a.Stall, Binds: limitJSON(a.Bound), Longest: limitJSON(a.Longest),
		Next: limitJSON(a.Next), Gain: a.Gain,
		Demand: a.Demand, Crossover: a.Crossover, Enough: countOrNull(p.Enough),
	}
	if first := p.First; first != nil {
		o.First = &jsonFirst{first.Utilization, first.Throughput, first.Step, limitJSON(first.Bound)}
	}
	o.Stages = append(o.Stages, a.Stages...)
}

// classOf returns the class of a verdict that corresponds to a limit; nil if unknown.
func classOf(p question.Prediction, l predict.Limit) *string {
	switch l.Resource {
	case stoker.GPU:
		return textOrNull("gpu-bound")
	case stoker.Storage:
		return textOrNull("io-bound")
	case stoker.Worker:
		switch {
		case l != p.Answer.Bound || !report.WaitsForStorage(p.Answer):
			return textOrNull("cpu-bound/too-few-workers")
		case p.Setup.PerFile.High == 1: // an object, over a network
			return textOrNull("io-bound/remote-fs")
		}
		return textOrNull("io-bound/small-files")
	case stoker.CPU:
		return textOrNull("cpu-bound/cpu-exhausted")
	case stoker.MainThread:
		if p.Setup.InLoop {
			return textOrNull("cpu-bound/main-thread-loader")
		}
		return textOrNull("cpu-bound")
	case stoker.Link, stoker.Loop, stoker.Waiting:
		return textOrNull("transfer-bound")
	case stoker.Network:
		return textOrNull("network-bound")
	}
	return nil
}

func limitJSON(l predict.Limit) *jsonLimit {
	if l.Resource == "" {
		return nil
	}
	return &jsonLimit{l.Stage, l.Resource, l.Time}
}

func missingJSON(missing []predict.Missing) []jsonMissing {
	all := []jsonMissing{}
	for _, m := range missing {
		all = append(all, jsonMissing{m.Input, textOrNull(m.Needs)})
	}
	return all
}

func sizingJSON(z *predict.Sizing) *jsonSizing {
	if z == nil {
		return nil
	}
	o := &jsonSizing{
		Target: z.Target, Step: stat.Known(z.Step), Reached: z.Reached, Workers: z.Workers,
		Cores: z.Cores, Storage: z.Storage, Reads: z.Reads,
		Link: z.Link, PrepareRate: z.PrepareRate, Batches: z.Batches,
		Changes: []jsonNeed{}, Impossible: append([]string{},
			z.Impossible...), Worst: append([]string{}, z.Worst...), Unknown: missingJSON(z.Unknown),
	}
	for _, n := range z.Changes {
		o.Changes = append(o.Changes, jsonNeed{n.Input, stat.Known(n.From), n.To, n.Unit})
	}
	return o
}

// truthOrNull returns nil if unknown.
func truthOrNull(t predict.Truth) *bool {
	if t == predict.NotKnown {
		return nil
	}
	yes := t == predict.Yes
	return &yes
}

func sweepJSON(p question.Prediction) *jsonSweep {
	o := &jsonSweep{}
	for _, a := range p.Axes {
		o.Axes = append(o.Axes, jsonAxis{a.Name, report.NameAxis(a.Name), a.Values})
	}
	for _, q := range p.Points {
		o.Points = append(o.Points, jsonPoint{
			q.X, stat.Known(q.Y), q.Utilization, q.Throughput, q.Step, string(q.Bound),
			stageOf(q), truthOrNull(q.Fits),
		})
	}
	return o
}

// stageOf returns the limiting stage; "" if unknown.
func stageOf(q predict.Point) string {
	if q.Bound == "" {
		return ""
	}
	return q.BoundStage.String()
}

func rooflineJSON(r predict.Roofline) *jsonRoofline {
	o := &jsonRoofline{
		GPU: r.GPU.Name, Precision: r.Precision, Peak: stat.Known(r.Peak), Lines: []jsonLine{},
		Points: []jsonWorkpoint{},
	}
	for _, d := range r.Diagonals {
		o.Lines = append(o.Lines, jsonLine{d.Name, d.Over, stat.Known(d.Rate), stat.Known(d.Ridge)})
	}
	for _, w := range r.Points {
		o.Points = append(o.Points, jsonWorkpoint{
			w.Name, w.Batch, stat.Known(w.Device), stat.Known(w.Copied), stat.Known(w.Stored), w.Attained,
			w.Delivered, stat.Known(w.Roof), w.Bound,
		})
	}
	return o
}
