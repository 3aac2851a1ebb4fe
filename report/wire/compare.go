package wire

import (
	"io"
	"math"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/verify"
)

// jsonRow is a row of a comparison. Numbers are per step.
type jsonRow struct {
	Group  string           `json:"group"`
	Name   string           `json:"name"`
	Unit   string           `json:"unit"`
	Before verify.StepRange `json:"before"`
	After  verify.StepRange `json:"after"`
	Calls  *[2]float64      `json:"calls,omitempty"` // before and after
	Bytes  []*float64       `json:"bytes,omitempty"` // before and after
	Only   string           `json:"only,omitempty"`  // "new", "gone"
}

func rowJSON(r verify.Row) jsonRow {
	j := jsonRow{
		Group: r.Group, Name: r.Name, Unit: r.Unit, Before: r.Before, After: r.After,
		Only: r.Only(),
	}
	if !math.IsNaN(r.Calls[0]) {
		j.Calls = &r.Calls
	}
	if !math.IsNaN(r.Bytes[0]) || !math.IsNaN(r.Bytes[1]) {
		j.Bytes = []*float64{stat.Known(r.Bytes[0]), stat.Known(r.Bytes[1])}
	}
	return j
}

// tracesObject is the object of the trace after the change, with the outcome.
type tracesObject struct {
	object
	Outcome  verify.Outcome         `json:"outcome"`
	Alike    float64                `json:"alike"` // 0 to 1
	Rows     []jsonRow              `json:"per_step"`
	Work     []jsonRow              `json:"work"`
	Promises []verify.TracedPromise `json:"promises"`
}

// WriteTraces writes a comparison as the object of the trace after the change, with the
// outcome.
func WriteTraces(w io.Writer, after verify.Traced, o verify.TraceOutcome) error {
	rows, work := []jsonRow{}, []jsonRow{}
	for _, r := range o.Rows {
		rows = append(rows, rowJSON(r))
	}
	for _, r := range o.Work {
		work = append(work, rowJSON(r))
	}
	return WriteObject(w, tracesObject{
		describe(after.Run, after.Verdict, advise.Plan{}), o.Outcome, o.Alike, rows,
		work, append([]verify.TracedPromise{}, o.Promises...),
	})
}

// WriteTracesCSV writes the rows of a comparison in base units, per step.
func WriteTracesCSV(w io.Writer, o verify.TraceOutcome) error {
	rows := [][]any{{
		"group", "name", "unit", "before", "before_least", "before_most", "after", "after_least",
		"after_most", "calls_before", "calls_after", "bytes_before", "bytes_after", "only",
	}}
	for _, list := range [][]verify.Row{o.Rows, o.Work} {
		for _, r := range list {
			rows = append(rows, []any{
				r.Group, r.Name, r.Unit, r.Before.Mean, r.Before.Least, r.Before.Most, r.After.Mean, r.After.Least,
				r.After.Most, r.Calls[0], r.Calls[1], r.Bytes[0], r.Bytes[1], r.Only(),
			})
		}
	}
	return WriteCSV(w, rows)
}
