package report

import (
	"encoding/json"
	"io"
	"math"

	"stoker"
	"stoker/advise"
	"stoker/diagnose"
	"stoker/recording"
	"stoker/verify"
)

// Schema is the version of the JSON: it grows by one when a field changes its
// meaning.
const Schema = 1

// object is the JSON of a verdict with its plan. The first eight fields are in
// every verb's object and always mean the same.
type object struct {
	Schema   int             `json:"schema"`
	Verdict  jsonVerdict     `json:"verdict"`
	Evidence []jsonEvidence  `json:"evidence"`
	Causes   []struct{}      `json:"causes"` // of gaps in a trace: null where there is no trace
	Shares   jsonShares      `json:"shares"`
	Step     jsonStep        `json:"step"`
	Plan     []jsonFix       `json:"plan"`
	Warnings []string        `json:"warnings"`
	Window   *jsonWindow     `json:"window"`
	Findings []jsonFinding   `json:"findings"`
	Rejected []jsonRejected  `json:"rejected"`
	Scores   []jsonScore     `json:"scores"`
	Settings stoker.Settings `json:"settings"`
	Emulated bool            `json:"emulated"`
}

type jsonVerdict struct {
	Class       string   `json:"class"`
	Confidence  *float64 `json:"confidence"`
	Stall       *float64 `json:"stall"`
	StallSource *string  `json:"stall_source"`
	RunnerUp    *string  `json:"runner_up"`
	State       string   `json:"state"`
	Rank        int      `json:"rank"`
	Idle        *float64 `json:"idle"`
}

type jsonEvidence struct {
	Text   string   `json:"text"`
	Signal string   `json:"signal"`
	Value  *float64 `json:"value"`
	Unit   string   `json:"unit"`
}

type jsonShares struct {
	Kernel        *float64 `json:"kernel"`
	Copy          *float64 `json:"copy"`
	Communication *float64 `json:"communication"`
	Idle          *float64 `json:"idle"`
}

type jsonStep struct {
	Median *float64 `json:"median_s"`
	Mean   *float64 `json:"mean_s"`
	Count  int      `json:"count"`
	Window *float64 `json:"window_s"`
	Wait   *float64 `json:"host_wait_s"`
	Idle   *float64 `json:"device_idle_s"`
}

type jsonWindow struct {
	Start int64 `json:"start_monotonic_ns"` // CLOCK_MONOTONIC of the observed machine
	End   int64 `json:"end_monotonic_ns"`
}

type jsonFix struct {
	Fix        string          `json:"fix"`
	Changes    []stoker.Change `json:"changes"`
	Speedup    *interval       `json:"speedup"`
	Step       *interval       `json:"step_s"`
	Throughput *interval       `json:"samples_per_s"`
	Binds      string          `json:"binds"`
	Effort     string          `json:"effort"`
	Risk       string          `json:"risk"`
	Notes      []string        `json:"notes"`
}

type jsonFinding struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

type jsonRejected struct {
	Fix string `json:"fix"`
	Why string `json:"why"`
}

type jsonScore struct {
	Class string  `json:"class"`
	Score float64 `json:"score"`
}

type interval struct {
	Low   *float64 `json:"low"`
	Point *float64 `json:"point"`
	High  *float64 `json:"high"`
}

// JSON writes the verdict and plan of a run as one object.
func JSON(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan) error {
	return write(w, describe(run, v, plan))
}

// OutcomeJSON writes what verify found as one object: the verdict and plan are
// those of the run after the change.
func OutcomeJSON(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, o verify.Outcome) error {
	return write(w, struct {
		object
		Outcome verify.Outcome `json:"outcome"`
	}{describe(run, v, plan), o})
}

func describe(run *recording.Run, v diagnose.Verdict, plan advise.Plan) object {
	o := object{
		Schema: Schema,
		Verdict: jsonVerdict{
			Class: string(v.Class), Confidence: number(v.Confidence), Stall: number(v.Stall), StallSource: text(string(v.StallSource)),
			RunnerUp: text(string(v.RunnerUp)), State: string(v.State), Rank: v.Rank, Idle: number(v.Idle),
		},
		Shares:   jsonShares{number(v.Shares.Kernel), number(v.Shares.Copy), number(v.Shares.Communication), number(v.Shares.Idle)},
		Evidence: []jsonEvidence{}, Plan: []jsonFix{}, Warnings: append([]string{}, v.Warnings...),
		Findings: []jsonFinding{}, Rejected: []jsonRejected{}, Scores: []jsonScore{},
		Emulated: run.Emulated(),
	}
	for _, e := range v.Evidence {
		o.Evidence = append(o.Evidence, jsonEvidence{e.Text, e.Signal, number(e.Value), e.Unit})
	}
	for _, f := range v.Findings {
		o.Findings = append(o.Findings, jsonFinding{f.Name, f.Text})
	}
	for _, s := range v.Scores {
		o.Scores = append(o.Scores, jsonScore{string(s.Class), math.Round(1000*s.Value) / 1000})
	}
	for _, f := range plan.Fixes {
		o.Plan = append(o.Plan, fixJSON(f))
	}
	for _, r := range plan.Rejected {
		o.Rejected = append(o.Rejected, jsonRejected{r.Name, r.Why})
	}
	if v.HasSteps {
		o.steps(run, v)
	}
	return o
}

func (o *object) steps(run *recording.Run, v diagnose.Verdict) {
	window := v.Costs.Window
	o.Step = jsonStep{
		Median: number(medianOf(v)), Mean: number(v.Costs.Step), Count: len(window.Steps), Window: number(window.End - window.Start),
		Wait: number(v.Costs.Wait), Idle: number(v.Costs.Idle),
	}
	base := run.Facts.Monotonic
	o.Window = &jsonWindow{Start: base + int64(1e9*window.Start), End: base + int64(1e9*window.End)}
	if l := run.Loader(window.PID, window.Loader); l != nil {
		o.Settings = l.Settings
	}
}

func fixJSON(f advise.Fix) jsonFix {
	return jsonFix{
		Fix: f.Name, Changes: f.Changes, Speedup: spread(f.Forecast.Speedup), Step: spread(f.Forecast.Step),
		Throughput: spread(f.Forecast.Throughput), Binds: string(f.Forecast.Bound),
		Effort: string(f.Effort), Risk: string(f.Risk), Notes: append([]string{}, f.Notes...),
	}
}

// number is null for what is unknown.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func spread(i stoker.Interval) *interval {
	low, point, high := number(i.Low), number(i.Point), number(i.High)
	if low == nil && point == nil && high == nil {
		return nil
	}
	return &interval{low, point, high}
}

// write prints one object; arrows and comparisons stay readable.
func write(w io.Writer, o any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(o)
}
