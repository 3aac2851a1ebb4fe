package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/verify"
)

// TracesText writes what changed between two traces, per step. top is how many rows of
// work are shown; 0: all.
func TracesText(w io.Writer, o verify.TraceOutcome, top int, style Style) error {
	p := newPage(style, &o)
	p.outcomeHeadline(o.Outcome)
	if o.Refused != "" {
		p.b.WriteString("\n")
	} else {
		p.side("step time", p.time(o.Before)+" -> "+p.time(o.After))
		if o.Noise != nil {
			p.side("noise floor", noiseText(*o.Noise))
		}
		p.promised(o)
	}
	p.side("bound by", o.Was+" -> "+p.bold(o.Now))
	p.b.WriteString("\n")
	steps := stepSheet(o.Rows)
	steps.Rows, steps.Align = p.fitted(steps.Rows, steps.Align, "least to most", "least to most")
	p.sheet(steps)
	p.sheet(workSheet(o.Work, top))
	p.list("note", o.Warnings)
	return p.to(w)
}

// promised sets what the trace before was advised beside what came.
func (p *page) promised(o verify.TraceOutcome) {
	if o.Promise.Promised != nil {
		p.promise(o.Outcome)
		return
	}
	if len(o.Promises) == 0 || o.Speedup == nil {
		return
	}
	p.side("achieved", stoker.Factor(*o.Speedup)+"; what was promised before, if that is what was changed:")
	for _, f := range o.Promises {
		var changes []string
		for _, c := range f.Changes {
			changes = append(changes, c.String())
		}
		name := strings.Join(changes, ", ")
		if name == "" {
			name = f.Fix
		}
		ended := string(f.Kept)
		if words, found := promises[f.Kept]; found {
			ended = p.colour(words.colour, words.text)
		}
		p.wrapped("    - ", "      ", fmt.Sprintf("%s: %s   %s", name, stoker.Factor(f.Promised), ended))
	}
}

// stepSheet is what a step went into, before and after.
func stepSheet(all []verify.Row) sheet {
	s := sheet{
		Title: "per step", Says: "What a step went into, before and after.", Align: "lrrrrr",
		Rows: [][]string{{"", "before", "least to most", "after", "least to most", "difference"}},
	}
	for _, r := range all {
		name := r.Name
		if r.Group == "cause" {
			name = "idle: " + name
		}
		say := valueIn(r.Unit)
		s.Rows = append(s.Rows, []string{cut(name, 30), say(r.Before.Mean), say(r.Before.Least) + " to " + say(r.Before.Most), say(r.After.Mean), say(r.After.Least) + " to " + say(r.After.Most), differenceIn(r)})
	}
	return s
}

// valueIn prints values of a unit.
func valueIn(unit string) func(float64) string {
	switch unit {
	case "s":
		return stoker.AboutSeconds
	case "ratio":
		return stoker.Percent
	}
	return func(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) }
}

func differenceIn(r verify.Row) string {
	d := r.After.Mean - r.Before.Mean
	switch r.Unit {
	case "s":
		return signed(d)
	case "ratio":
		return fmt.Sprintf("%+.1f points", 100*d)
	}
	return fmt.Sprintf("%+.1f", d)
}

// workSheet is kernels, copies and collectives by name.
func workSheet(all []verify.Row, top int) sheet {
	shown := first(all, top)
	s := sheet{
		Title: "work by name", About: fmt.Sprintf(", %d of %d by what changed", len(shown), len(all)),
		Says: fmt.Sprintf("Kernels, copies and collectives of a step, most changed first (%d of %d).", len(shown), len(all)),
		Rows: [][]string{{"work", "", "calls before", "after", "time before", "after", "difference", "name"}}, Align: "llrrrrrl",
	}
	for _, r := range shown {
		s.Rows = append(s.Rows, []string{r.Group, r.Only(), callsOf(r.Calls[0]), callsOf(r.Calls[1]), stoker.AboutSeconds(r.Before.Mean), stoker.AboutSeconds(r.After.Mean), differenceIn(r), r.Name})
	}
	return s
}

func callsOf(n float64) string { return valueIn("calls")(n) }

// jsonRow is a row of a comparison. Numbers are per step.
type jsonRow struct {
	Group  string      `json:"group"`
	Name   string      `json:"name"`
	Unit   string      `json:"unit"`
	Before jsonSpread  `json:"before"`
	After  jsonSpread  `json:"after"`
	Calls  *[2]float64 `json:"calls,omitempty"` // before and after
	Bytes  []*float64  `json:"bytes,omitempty"` // before and after
	Only   string      `json:"only,omitempty"`  // "new", "gone"
}

type jsonSpread struct {
	Mean  float64 `json:"mean"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

func rowJSON(r verify.Row) jsonRow {
	j := jsonRow{Group: r.Group, Name: r.Name, Unit: r.Unit, Before: jsonSpread(r.Before), After: jsonSpread(r.After), Only: r.Only()}
	if !math.IsNaN(r.Calls[0]) {
		j.Calls = &r.Calls
	}
	if !math.IsNaN(r.Bytes[0]) || !math.IsNaN(r.Bytes[1]) {
		j.Bytes = []*float64{stat.Known(r.Bytes[0]), stat.Known(r.Bytes[1])}
	}
	return j
}

// tracesObject is the object of the trace after, with the outcome.
type tracesObject struct {
	object
	Outcome  verify.Outcome         `json:"outcome"`
	Alike    float64                `json:"alike"` // 0 to 1
	Rows     []jsonRow              `json:"per_step"`
	Work     []jsonRow              `json:"work"`
	Promises []verify.TracedPromise `json:"promises"`
}

// TracesJSON writes a comparison as the object of the trace after, with the outcome.
func TracesJSON(w io.Writer, after verify.Traced, o verify.TraceOutcome) error {
	rows, work := []jsonRow{}, []jsonRow{}
	for _, r := range o.Rows {
		rows = append(rows, rowJSON(r))
	}
	for _, r := range o.Work {
		work = append(work, rowJSON(r))
	}
	return Object(w, tracesObject{describe(after.Run, after.Verdict, advise.Plan{}), o.Outcome, o.Alike, rows, work, append([]verify.TracedPromise{}, o.Promises...)})
}

// TracesCSV writes the rows of a comparison in base units, per step.
func TracesCSV(w io.Writer, o verify.TraceOutcome) error {
	rows := [][]string{{"group", "name", "unit", "before", "before_least", "before_most", "after", "after_least", "after_most", "calls_before", "calls_after", "bytes_before", "bytes_after", "only"}}
	plain := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for _, list := range [][]verify.Row{o.Rows, o.Work} {
		for _, r := range list {
			rows = append(rows, []string{
				r.Group, r.Name, r.Unit, plain(r.Before.Mean), plain(r.Before.Least), plain(r.Before.Most), plain(r.After.Mean), plain(r.After.Least), plain(r.After.Most),
				plain(r.Calls[0]), plain(r.Calls[1]), plain(r.Bytes[0]), plain(r.Bytes[1]), r.Only(),
			})
		}
	}
	return CSV(w, rows)
}
