package export

import (
	"io"
	"iter"
	"slices"

	"github.com/stoker-dev/stoker/internal/parquet"
	"github.com/stoker-dev/stoker/recording"
)

// Steps writes the steps of runs, given with the names of their files, as one Parquet
// table; of the runs one is held at a time.
func Steps(w io.Writer, runs iter.Seq2[string, *recording.Run]) error {
	return table(w, stepColumns, runs, eachStep)
}

// Signals writes what was measured beside the steps, a row for each value: see Steps.
func Signals(w io.Writer, runs iter.Seq2[string, *recording.Run]) error {
	return table(w, signalColumns, runs, eachValue)
}

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

func table[R any](w io.Writer, columns []parquet.Column[R], runs iter.Seq2[string, *recording.Run], rows func(origin, *recording.Run, func(R) error) error) error {
	t := parquet.New(w, columns)
	for name, run := range runs {
		if err := rows(origin{name, &run.Facts}, run, t.Write); err != nil {
			return err
		}
	}
	return t.Close()
}

// origin is the recording that a row comes from.
type origin struct {
	name  string
	facts *recording.Facts
}

func (o origin) from() origin { return o }

// date is a time of the run on the calendar, Unix seconds; nil where the run does not tell.
func (o origin) date(at float64) any {
	if o.facts.Started > 0 {
		return o.facts.Started + at
	}
	return nil
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

// stepKey tells steps of a run apart.
type stepKey struct{ pid, loader, n int }

func keyOf(s recording.Step) stepKey { return stepKey{s.PID, s.Loader, s.N} }

// originColumns stand first in each table.
func originColumns[R interface{ from() origin }]() []parquet.Column[R] {
	return []parquet.Column[R]{
		{Name: "recording", Kind: parquet.Text, Value: func(r R) any { return r.from().name }},
		{Name: "host", Kind: parquet.Text, Value: func(r R) any { return r.from().facts.Host }},
		{Name: "job", Kind: parquet.Text, Value: func(r R) any { return r.from().facts.Job }},
	}
}

var stepColumns = slices.Concat(originColumns[stepRow](), []parquet.Column[stepRow]{
	{Name: "rank", Kind: parquet.Count, Value: func(r stepRow) any { return r.Rank }},
	{Name: "pid", Kind: parquet.Count, Value: func(r stepRow) any { return r.PID }},
	{Name: "device", Kind: parquet.Count, Value: func(r stepRow) any {
		if r.Device < 0 {
			return nil
		}
		return r.Device
	}},
	{Name: "loader", Kind: parquet.Count, Value: func(r stepRow) any { return r.Loader }},
	{Name: "pass", Kind: parquet.Count, Value: func(r stepRow) any { return r.Pass }},
	{Name: "n", Kind: parquet.Count, Value: func(r stepRow) any { return r.N }},
	{Name: "phase", Kind: parquet.Text, Value: func(r stepRow) any { return string(r.Phase) }},
	{Name: "judged", Kind: parquet.Flag, Value: func(r stepRow) any { return r.judged }},
	{Name: "time", Kind: parquet.Moment, Value: func(r stepRow) any { return r.date(r.Start) }},
	{Name: "t_s", Kind: parquet.Number, Value: func(r stepRow) any { return r.Start }},
	{Name: "period_s", Kind: parquet.Number, Value: func(r stepRow) any { return r.Period }},
	{Name: "wait_s", Kind: parquet.Number, Value: func(r stepRow) any { return r.Wait }},
	{Name: "device_period_s", Kind: parquet.Number, Value: func(r stepRow) any { return r.DevicePeriod }},
	{Name: "device_idle_s", Kind: parquet.Number, Value: func(r stepRow) any { return r.Idle }},
	{Name: "samples", Kind: parquet.Number, Value: func(r stepRow) any { return r.Samples }},
	{Name: "optimizer_steps", Kind: parquet.Number, Value: func(r stepRow) any { return r.Optimized }},
})

var signalColumns = slices.Concat(originColumns[signalRow](), []parquet.Column[signalRow]{
	{Name: "signal", Kind: parquet.Text, Value: func(r signalRow) any { return string(r.Signal) }},
	{Name: "subject", Kind: parquet.Text, Value: func(r signalRow) any { return r.Subject }},
	{Name: "time", Kind: parquet.Moment, Value: func(r signalRow) any { return r.date(r.T[r.n]) }},
	{Name: "t_s", Kind: parquet.Number, Value: func(r signalRow) any { return r.T[r.n] }},
	{Name: "value", Kind: parquet.Number, Value: func(r signalRow) any { return r.V[r.n] }},
})
