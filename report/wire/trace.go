package wire

import (
	"io"

	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/diagnose/ranks"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/report"
)

// traceObject is the object of a verdict with what only a trace contains.
type traceObject struct {
	object
	Operators []jsonOperator    `json:"operators"`
	Kernels   []jsonKernel      `json:"kernels"`     // of the judged window, most time first
	Exchanges []jsonExchange    `json:"collectives"` // the same
	Roofline  jsonTraceRoofline `json:"roofline"`
	Serving   []jsonServed      `json:"serving"` // passes of a server by kind
	Path      []jsonPath        `json:"critical_path"`
	Memory    *jsonMemory       `json:"memory"` // of the judged device; null if no event of an allocator was recorded
	Ranks     *jsonRanks        `json:"ranks"`  // null for one rank
	Trace     jsonTrace         `json:"trace"`
	// a replay without a change: a sanity check, not an accuracy; null if nothing was replayed
	Replay *replay.Check `json:"replay"`
}

type jsonOperator struct {
	Name       string  `json:"name"`
	Shapes     *string `json:"shapes"`
	Calls      int     `json:"calls"`
	CPU        float64 `json:"cpu_total_s"`
	CPUSelf    float64 `json:"cpu_self_s"`
	Device     float64 `json:"gpu_total_s"`
	DeviceSelf float64 `json:"gpu_self_s"`
	Share      float64 `json:"share"` // of device time, or of host time if no device was recorded
	Source     *string `json:"source"`
}

type jsonKernel struct {
	Name    string  `json:"name"`
	Family  string  `json:"family"`
	Cores   *string `json:"cores"` // "tensor", "plain"; null if the name does not say
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
}

type jsonExchange struct {
	Name    string   `json:"name"`
	Calls   int      `json:"calls"`
	Seconds float64  `json:"seconds"`
	Exposed float64  `json:"exposed_s"` // with no kernel of computation at the same time
	Bytes   *float64 `json:"bytes"`
	Bus     *float64 `json:"bus_bytes_per_s"` // at least: the times include waiting for other ranks
}

type jsonTraceRoofline struct {
	Device  *string    `json:"device"` // key of the hardware table
	Covered *float64   `json:"covered"`
	FLOP    float64    `json:"flop"`
	Seconds float64    `json:"gpu_s"`
	Points  []jsonWork `json:"points"`
	Why     *string    `json:"why_none"`
}

type jsonWork struct {
	Name      string   `json:"name"`
	Precision *string  `json:"precision"`
	Calls     int      `json:"calls"`
	FLOP      float64  `json:"flop"`
	Bytes     *float64 `json:"bytes"`
	Seconds   float64  `json:"gpu_s"`
	Attained  *float64 `json:"flop_per_s"`
	Intensity *float64 `json:"flop_per_byte"`
	Ridge     *float64 `json:"ridge_flop_per_byte"`
	Peak      *float64 `json:"peak_flop_per_s"`
	Roof      *float64 `json:"roof_flop_per_s"`
	Share     *float64 `json:"of_peak"`
	Bound     *string  `json:"bound"`
}

type jsonRanks struct {
	Ranks     []jsonRank `json:"ranks"`
	Straggler *int       `json:"straggler"` // a rank
	Matched   int        `json:"matched_collectives"`
	Unmatched int        `json:"unmatched_collectives"`
	Aligned   *float64   `json:"ends_differ_s"`
}

type jsonRank struct {
	Rank    int        `json:"rank"`
	Steps   int        `json:"steps"`
	Step    *float64   `json:"step_s"`
	Shares  jsonShares `json:"shares"`
	Input   *float64   `json:"input"`
	Cause   *string    `json:"cause"`
	Clock   float64    `json:"clock_off_s"`
	Last    int        `json:"came_last"`
	Matched int        `json:"collectives"`
	Waited  float64    `json:"waited_s"`
	Delayed float64    `json:"others_waited_s"`
	For     []float64  `json:"waited_for_s"` // for each rank in order; null if there are more than 64
}

type jsonTrace struct {
	Files   []string       `json:"files"`
	Events  int            `json:"events"`
	Bytes   int64          `json:"bytes"`
	Seconds *float64       `json:"seconds"`
	Dropped map[string]int `json:"dropped"`
	Steps   *string        `json:"steps_from"`     // how steps were found; null if unknown
	Left    map[string]int `json:"steps_left_out"` // of the judged device, by reason
}

// WriteTrace writes the report as one object: that of a verdict, with operators, roofline,
// ranks and trace.
func WriteTrace(w io.Writer, r report.TraceReport) error {
	o := traceObject{
		object: describe(r.Run, r.Verdict, r.Plan), Operators: []jsonOperator{},
		Roofline: traceRooflineJSON(r.Roofline), Ranks: ranksJSON(r.Ranks), Replay: r.Plan.Replay,
	}
	for _, row := range r.Operators.Rows {
		o.Operators = append(o.Operators, jsonOperator{
			row.Name, textOrNull(row.Shapes), row.Calls, asSeconds(row.CPU), asSeconds(row.CPUSelf),
			asSeconds(row.Device), asSeconds(row.DeviceSelf),
			r.Operators.Share(row), textOrNull(row.Source),
		})
	}
	o.Kernels, o.Exchanges = kernelsJSON(r)
	o.Serving, o.Path, o.Memory = servingJSON(r), pathJSON(r), memoryJSON(r)
	o.Trace = jsonTrace{
		Files: r.Source.Files, Events: r.Source.Events, Bytes: r.Source.Bytes,
		Dropped: map[string]int{}, Left: map[string]int{}, Steps: textOrNull(r.Run.Facts.StepsFrom),
	}
	if d := r.JudgedDevice(); d != nil {
		for _, l := range d.Left {
			o.Trace.Left[l.Why] = l.Count
		}
	}
	if r.Source.Seconds > 0 {
		o.Trace.Seconds = stat.Known(r.Source.Seconds)
	}
	for why, n := range r.Run.Timeline.Dropped {
		o.Trace.Dropped[why] = n
	}
	return WriteObject(w, o)
}

func kernelsJSON(r report.TraceReport) ([]jsonKernel, []jsonExchange) {
	kernels, exchanges := []jsonKernel{}, []jsonExchange{}
	d := r.JudgedDevice()
	if d == nil {
		return kernels, exchanges
	}
	names := r.Run.Timeline.Names
	for _, t := range report.ListComputing(r.Gaps.SumKernels(d)) {
		kernels = append(kernels, jsonKernel{
			Name: names[t.Name], Family: t.Family.String(),
			Cores: textOrNull(report.NameCores(t)), Calls: t.Count, Seconds: asSeconds(t.Time),
		})
	}
	for _, c := range r.Gaps.SumExchanges(d).Kinds {
		e := jsonExchange{
			Name: names[c.Name], Calls: c.Count, Seconds: asSeconds(c.Time),
			Exposed: asSeconds(c.Exposed),
		}
		if c.Bytes > 0 {
			e.Bytes, e.Bus = stat.Known(float64(c.Bytes)), stat.Known(report.RateBus(r, c))
		}
		exchanges = append(exchanges, e)
	}
	return kernels, exchanges
}

func traceRooflineJSON(r *operators.Roofline) jsonTraceRoofline {
	o := jsonTraceRoofline{
		Device: textOrNull(r.GPU.Name), Covered: stat.Known(r.Covered), FLOP: r.FLOP,
		Seconds: r.Seconds, Points: []jsonWork{}, Why: textOrNull(r.Why),
	}
	for _, p := range r.Points {
		bound := report.NameBound(p)
		if bound == "unknown" {
			bound = ""
		}
		o.Points = append(o.Points, jsonWork{
			p.Name, textOrNull(string(p.Precision)), p.Calls, p.FLOP, stat.Known(p.Bytes), p.Seconds,
			stat.Known(p.Attained), stat.Known(p.Intensity),
			stat.Known(p.Ridge), stat.Known(p.Peak), stat.Known(p.Roof), stat.Known(p.Share), textOrNull(bound),
		})
	}
	return o
}

// mostPairs is the number of ranks up to which JSON says how long each waited for each other:
// the number of pairs grows with the square.
const mostPairs = 64

func ranksJSON(t *ranks.Table) *jsonRanks {
	if t == nil {
		return nil
	}
	o := &jsonRanks{Ranks: []jsonRank{}, Matched: t.Matched, Unmatched: t.Unmatched, Aligned: stat.Known(t.Aligned)}
	if t.Straggler >= 0 {
		o.Straggler = &t.Ranks[t.Straggler].Rank
	}
	for _, r := range t.Ranks {
		if len(t.Ranks) > mostPairs {
			r.For = nil
		}
		cause := ""
		if r.CauseShare > 0 {
			cause = r.Cause.String()
		}
		o.Ranks = append(o.Ranks, jsonRank{
			r.Rank, r.Steps, stat.Known(r.Step),
			jsonShares{stat.Known(r.Kernel), stat.Known(r.Copy), stat.Known(r.Communication), stat.Known(r.Idle)},
			stat.Known(r.Input), textOrNull(cause), r.Clock, r.Last, r.Arrived, r.Waited, r.Delayed, r.For,
		})
	}
	return o
}
