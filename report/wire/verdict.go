package wire

import (
	"io"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// object is the JSON of a verdict with its plan. The first eight fields are in the object of
// every verb and always have the same meaning.
type object struct {
	Schema   int               `json:"schema"`
	Verdict  jsonVerdict       `json:"verdict"`
	Evidence []jsonEvidence    `json:"evidence"`
	Causes   []diagnose.Cause  `json:"causes"` // of gaps in a trace; null without a trace
	Shares   jsonShares        `json:"shares"`
	Step     jsonStep          `json:"step"`
	Fetch    *jsonFetch        `json:"fetch"` // null if unknown
	Lines    []jsonCodeLine    `json:"lines"` // lines that take that time; null if stacks were not recorded
	Plan     []jsonFix         `json:"plan"`
	Warnings []string          `json:"warnings"`
	Window   *jsonWindow       `json:"window"`
	Findings []jsonFinding     `json:"findings"`
	Rejected []advise.Rejected `json:"rejected"`
	Ledger   []jsonLedgerRow   `json:"ledger"`
	Measured []jsonMeasured    `json:"measured"` // measured figures behind the verdict
	Law      *jsonLaw          `json:"law"`      // null if the model was not used
	Scores   []jsonScore       `json:"scores"`
	Settings stoker.Settings   `json:"settings"`
	Emulated bool              `json:"emulated"`
	Exit     *jsonExit         `json:"exit"` // null if the end was not observed
	Cost     jsonCost          `json:"cost"`
	Traced   *jsonTraced       `json:"traced,omitempty"` // for a live run with a captured trace
}

// jsonExit is how the command ended.
type jsonExit struct {
	Code   int     `json:"code"`
	Signal *string `json:"signal"`
	At     float64 `json:"at_s"`
	Error  *string `json:"error"` // type of the exception that ended it; null if none was observed
	About  *string `json:"about"` // the missing module, name or attribute
	Where  *string `json:"where"` // file:line
}

func exitJSON(e *recording.ExitStatus) *jsonExit {
	if e == nil {
		return nil
	}
	exit := &jsonExit{Code: e.Code, Signal: textOrNull(e.Signal), At: e.At}
	if r := e.Raised; r != nil {
		exit.Error, exit.About, exit.Where = textOrNull(r.Type), textOrNull(r.About), textOrNull(r.Where())
	}
	return exit
}

// jsonCost is the cost of the idle share per hour of one GPU.
type jsonCost struct {
	Share       *float64        `json:"idle_share"`
	Dollars     *float64        `json:"dollars_per_hour"`
	KWh         stoker.Interval `json:"kwh_per_hour"`
	KgCO2       stoker.Interval `json:"kg_co2e_per_hour"`
	Watts       stoker.Interval `json:"idle_watts"`
	WattsSource *string         `json:"idle_watts_source"`
	GPUHour     *float64        `json:"price_gpu_hour"`
	PriceKWh    *float64        `json:"price_kwh"`
	Grid        *float64        `json:"grid_g_co2e_per_kwh"`
	PUE         *float64        `json:"pue"`
	Assumed     bool            `json:"would_cost"` // the device is emulated: the cost of a real one
	Sources     string          `json:"price_sources"`
}

func costJSON(c diagnose.Cost) jsonCost {
	return jsonCost{
		Share: stat.Known(c.Share), Dollars: stat.Known(c.Hour.Dollars.Point), KWh: c.Hour.KWh,
		KgCO2: c.Hour.KgCO2,
		Watts: c.Watts, WattsSource: textOrNull(c.Source), GPUHour: stat.Known(c.Prices.GPUHour),
		PriceKWh: stat.Known(c.Prices.KWh),
		Grid:     stat.Known(c.Prices.Grid), PUE: stat.Known(c.Prices.PUE), Assumed: c.Assumed,
		Sources: c.Prices.Source,
	}
}

type jsonVerdict struct {
	Class       string   `json:"class"`
	StepClass   string   `json:"step_class"` // class of the steps, which another row of the run may outweigh
	Confidence  *float64 `json:"confidence"`
	Stall       *float64 `json:"stall"`
	StallSource *string  `json:"stall_source"`
	RunnerUp    *string  `json:"runner_up"`
	State       string   `json:"state"`
	Rank        int      `json:"rank"`
	Idle        *float64 `json:"idle"`
	Unexplained *float64 `json:"unexplained"` // idle time without a known cause
}

type jsonEvidence struct {
	Text   string   `json:"text"`
	Signal string   `json:"signal"`
	Value  *float64 `json:"value"`
	Unit   string   `json:"unit"`
}

// jsonFetch divides the time of preparing a batch into shares that add up to 1.
type jsonFetch struct {
	Seconds *float64 `json:"seconds"` // per batch
	Core    float64  `json:"core"`
	Queued  float64  `json:"queued"`
	Storage float64  `json:"storage"`
	Network float64  `json:"network"`
	Asleep  float64  `json:"asleep"`
}

func fetchJSON(c measure.Costs) *jsonFetch {
	if c.Split == nil {
		return nil
	}
	s := *c.Split
	return &jsonFetch{stat.Known(c.Fetch), s.Core, s.Queued, s.Storage, s.Network, s.Asleep}
}

type jsonWindow struct {
	Start int64 `json:"start_monotonic_ns"` // CLOCK_MONOTONIC of the observed machine
	End   int64 `json:"end_monotonic_ns"`
}

type jsonFix struct {
	Fix        string          `json:"fix"`
	Title      string          `json:"title"`
	Changes    []stoker.Change `json:"changes"`
	Speedup    stoker.Interval `json:"speedup"`
	Step       stoker.Interval `json:"step_s"`
	Throughput stoker.Interval `json:"samples_per_s"`
	Binds      string          `json:"binds"`
	Effort     string          `json:"effort"`
	Risk       string          `json:"risk"`
	Notes      []string        `json:"notes"`
	Mind       string          `json:"mind,omitempty"`  // what to check before the change
	Where      string          `json:"where,omitempty"` // file:line of the DataLoader concerned
	At         string          `json:"at,omitempty"`    // file:line concerned, if it does not make a DataLoader
	Run        stoker.Interval `json:"run_speedup"`     // of the whole run; null if it is that of its steps
	Untested   bool            `json:"not_validated,omitempty"`
}

type jsonScore struct {
	Class string  `json:"class"`
	Score float64 `json:"score"`
}

// WriteVerdict writes the verdict and plan of a run as one object.
func WriteVerdict(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan) error {
	return WriteObject(w, describe(run, v, plan))
}

// outcomeObject is the object of the run after the change, with the outcome.
type outcomeObject struct {
	object
	Outcome verify.Outcome `json:"outcome"`
}

// WriteOutcome writes the result of verify as one object. Verdict and plan are those of the run
// after the change.
func WriteOutcome(w io.Writer, run *recording.Run, v diagnose.Verdict, plan advise.Plan, o verify.Outcome) error {
	return WriteObject(w, outcomeObject{describe(run, v, plan), o})
}

func describe(run *recording.Run, v diagnose.Verdict, plan advise.Plan) object {
	o := object{
		Schema: schema,
		Verdict: jsonVerdict{
			Class: string(v.Headline()), StepClass: string(v.Class),
			Confidence: stat.Known(v.Confidence), Stall: stat.Known(v.Stall),
			StallSource: textOrNull(string(v.StallSource)),
			RunnerUp:    textOrNull(string(v.RunnerUp)), State: string(v.State), Rank: v.Rank, Idle: stat.Known(v.Idle),
			Unexplained: stat.Known(v.Unexplained),
		},
		Shares: jsonShares{
			stat.Known(v.Shares.Kernel), stat.Known(v.Shares.Copy), stat.Known(v.Shares.Communication),
			stat.Known(v.Shares.Idle),
		},
		Evidence: []jsonEvidence{}, Plan: []jsonFix{}, Warnings: append([]string{}, v.Warnings...),
		Findings: []jsonFinding{}, Rejected: append([]advise.Rejected{}, plan.Rejected...), Scores: []jsonScore{},
		Ledger: ledgerJSON(v.Ledger), Measured: measuredJSON(v.Measured),
		Emulated: run.Emulated(), Cost: costJSON(v.Cost), Exit: exitJSON(run.Facts.Exit),
	}
	o.Causes, o.Traced, o.Fetch, o.Lines = v.Causes, tracedJSON(v.Traced), fetchJSON(v.Costs), linesJSON(v.Lines)
	for _, e := range v.Evidence {
		o.Evidence = append(o.Evidence, jsonEvidence{e.Text, e.Signal, stat.Known(e.Value), e.Unit})
	}
	for _, f := range v.Findings {
		_, denied := plan.FindAnswer(f)
		o.Findings = append(o.Findings, findingJSON(f, denied))
	}
	for _, s := range v.Scores {
		o.Scores = append(o.Scores, jsonScore{string(s.Class), math.Round(1000*s.Value) / 1000})
	}
	for _, f := range plan.Fixes {
		o.Plan = append(o.Plan, fixJSON(f))
	}
	if l := plan.Law; l != nil {
		o.Law = &jsonLaw{stat.Known(l.Measured), stat.Known(l.Law), stat.Known(l.Residual())}
	}
	if v.HasSteps {
		o.steps(run, v)
	}
	return o
}

func (o *object) steps(run *recording.Run, v diagnose.Verdict) {
	window := v.Costs.Window
	o.Step = jsonStep{
		Median: stat.Known(report.FindMedianStep(v)), Mean: stat.Known(v.Costs.Step), Count: len(window.Steps),
		Window: stat.Known(window.End - window.Start),
		Wait:   stat.Known(v.Costs.Wait), Idle: stat.Known(v.Costs.Idle),
	}
	o.Step.addInside(window)
	base := run.Facts.Monotonic
	o.Window = &jsonWindow{Start: base + int64(1e9*window.Start), End: base + int64(1e9*window.End)}
	if l := run.FindLoader(window.PID, window.Loader); l != nil {
		if found := v.Costs.FindSettings(l); len(found) > 0 {
			o.Settings = found
		}
	}
}

// jsonLaw compares the model with the unchanged job.
type jsonLaw struct {
	Measured *float64 `json:"measured_s"`
	Law      *float64 `json:"step_s"`
	Residual *float64 `json:"residual"`
}

func fixJSON(f advise.Fix) jsonFix {
	return jsonFix{
		Fix: f.Name, Title: f.Title, Changes: append([]stoker.Change{}, f.Changes...),
		Speedup: f.Forecast.Speedup, Step: f.Forecast.Step,
		Throughput: f.Forecast.Throughput, Binds: string(f.Forecast.Bound),
		Effort: string(f.Effort), Risk: string(f.Risk), Notes: append([]string{}, f.Notes...), Where: f.Where,
		Untested: f.Untested, Mind: f.Mind, Run: f.Run, At: f.At,
	}
}
