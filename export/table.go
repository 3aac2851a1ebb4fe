package export

import (
	"encoding/csv"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// column is one column of a table; an unknown value is empty.
type column[R any] struct {
	name string
	text func(R) string
}

// Steps writes the steps of runs, given with the names of their files, as one CSV table. It
// holds one run at a time in memory.
func Steps(w io.Writer, runs iter.Seq2[string, *recording.Run]) error {
	return writeTable(w, stepColumns, runs, eachStep)
}

// Signals writes the signals of runs as a CSV table, one row per value; see Steps.
func Signals(w io.Writer, runs iter.Seq2[string, *recording.Run]) error {
	return writeTable(w, signalColumns, runs, eachValue)
}

// eachStep adds a row for each step of a run.
func eachStep(from origin, run *recording.Run, add func(stepRow) error) error {
	judged := map[stepKey]bool{}
	for _, w := range run.Windows() {
		for _, s := range w.Steps {
			judged[keyOf(s)] = true
		}
	}
	for _, s := range run.Steps {
		if err := add(stepRow{from, s, judged[keyOf(s)]}); err != nil {
			return err
		}
	}
	return nil
}

// eachValue adds a row for each value of a run's signals.
func eachValue(from origin, run *recording.Run, add func(signalRow) error) error {
	for i := range run.Series {
		for n := range run.Series[i].T {
			if err := add(signalRow{from, &run.Series[i], n}); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostCell limits a text, because it may be repeated in every row: a host name has at most 253
// characters, a file name 255.
const mostCell = 255

// writeTable writes a header and the rows of all runs.
func writeTable[R any](w io.Writer, columns []column[R], runs iter.Seq2[string, *recording.Run],
	rows func(origin, *recording.Run, func(R) error) error,
) error {
	out, texts := csv.NewWriter(w), make([]string, len(columns))
	for i, c := range columns {
		texts[i] = c.name
	}
	if err := out.Write(texts); err != nil {
		return err
	}
	add := func(row R) error {
		for i, c := range columns {
			texts[i] = safe.Cell(c.text(row), mostCell)
		}
		return out.Write(texts)
	}
	for name, run := range runs {
		if err := rows(origin{name, &run.Facts}, run, add); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// origin is the recording of a row.
type origin struct {
	name  string
	facts *recording.Facts
}

func (o origin) from() origin { return o }

// date formats a time of the run as RFC 3339 in UTC; "" if the start of the run is unknown.
func (o origin) date(at float64) string {
	if !(o.facts.Started > 0) {
		return ""
	}
	whole, part := math.Modf(o.facts.Started + at)
	return time.Unix(int64(whole), int64(part*1e9)).UTC().Format("2006-01-02T15:04:05.000000Z")
}

type stepRow struct {
	origin
	recording.Step
	judged bool
}

type signalRow struct {
	origin
	*recording.Series
	n int
}

// stepKey identifies a step within a run.
type stepKey struct{ pid, loader, n int }

func keyOf(s recording.Step) stepKey { return stepKey{s.PID, s.Loader, s.N} }

// originColumns returns the first columns of each table.
func originColumns[R interface{ from() origin }]() []column[R] {
	return []column[R]{
		{"recording", func(r R) string { return r.from().name }},
		{"host", func(r R) string { return r.from().facts.Host }},
		{"job", func(r R) string { return r.from().facts.Job }},
	}
}

var stepColumns = slices.Concat(originColumns[stepRow](), []column[stepRow]{
	{"rank", func(r stepRow) string { return strconv.Itoa(r.Rank) }},
	{"pid", func(r stepRow) string { return strconv.Itoa(r.PID) }},
	{"device", func(r stepRow) string {
		if r.Device < 0 {
			return ""
		}
		return strconv.Itoa(r.Device)
	}},
	{"loader", func(r stepRow) string { return strconv.Itoa(r.Loader) }},
	{"pass", func(r stepRow) string { return strconv.Itoa(r.Pass) }},
	{"n", func(r stepRow) string { return strconv.Itoa(r.N) }},
	{"phase", func(r stepRow) string { return string(r.Phase) }},
	{"judged", func(r stepRow) string { return strconv.FormatBool(r.judged) }},
	{"time", func(r stepRow) string { return r.date(r.Start) }},
	{"t_s", func(r stepRow) string { return stat.Text(r.Start) }},
	{"period_s", func(r stepRow) string { return stat.Text(r.Period) }},
	{"wait_s", func(r stepRow) string { return stat.Text(r.Wait) }},
	{"device_period_s", func(r stepRow) string { return stat.Text(r.DevicePeriod) }},
	{"device_idle_s", func(r stepRow) string { return stat.Text(r.Idle) }},
	{"samples", func(r stepRow) string { return stat.Text(r.Samples) }},
	{"optimizer_steps", func(r stepRow) string { return stat.Text(r.Optimized) }},
})

var signalColumns = slices.Concat(originColumns[signalRow](), []column[signalRow]{
	{"signal", func(r signalRow) string { return string(r.Signal) }},
	{"subject", func(r signalRow) string { return r.Subject }},
	{"time", func(r signalRow) string { return r.date(r.T[r.n]) }},
	{"t_s", func(r signalRow) string { return stat.Text(r.T[r.n]) }},
	{"value", func(r signalRow) string { return stat.Text(r.V[r.n]) }},
})
