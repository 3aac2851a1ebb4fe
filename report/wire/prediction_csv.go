package wire

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
)

// WritePredictionCSV writes the rows of a prediction: the settings of a sweep, or the lines and
// workloads of a roofline, or the parts of a step. Values have base units and full precision;
// unknown ones are empty.
func WritePredictionCSV(w io.Writer, p question.Prediction) error {
	var rows [][]any
	switch {
	case p.Roofline != nil:
		rows = rooflineRows(p)
	case len(p.Points) > 0:
		rows = sweepRows(p)
	default:
		rows = stageRows(p)
	}
	return WriteCSV(w, rows)
}

// WriteCSV writes rows, the first as a heading. A float is written in full precision, and nothing if it is
// unknown.
func WriteCSV[T any](w io.Writer, rows [][]T) error {
	c := csv.NewWriter(w)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			text := fmt.Sprint(value)
			if number, isNumber := any(value).(float64); isNumber {
				text = stat.Text(number)
			}
			cells[i] = safe.Cell(text, 0)
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

var axisUnits = map[string]string{"sample": "_bytes", "storage": "_bytes_per_s", "prepare": "_s", "cached": "_ratio"}

func sweepRows(p question.Prediction) [][]any {
	var heading []any
	for _, a := range p.Axes {
		heading = append(heading, a.Name+axisUnits[a.Name])
	}
	heading = append(heading, threeOf("utilization_ratio")...)
	heading = append(heading, threeOf("samples_per_s")...)
	heading = append(heading, threeOf("step_s")...)
	rows := [][]any{append(heading, "stage", "binds", "fits")}
	for _, q := range p.Points {
		row := []any{q.X, q.Y}[:len(p.Axes)]
		for _, i := range []stoker.Interval{q.Utilization, q.Throughput, q.Step} {
			row = append(row, i.Point, i.Low, i.High)
		}
		rows = append(rows, append(row, stageOf(q), q.Bound, fits[q.Fits]))
	}
	return rows
}

// fits has no word for the unknown.
var fits = map[predict.Truth]string{predict.Yes: "true", predict.No: "false"}

func stageRows(p question.Prediction) [][]any {
	rows := [][]any{append([]any{"stage", "resource"}, append(threeOf("time_s"), "text", "source")...)}
	for _, s := range p.Answer.Stages {
		rows = append(rows, []any{s.Stage, s.Resource, s.Time.Point, s.Time.Low, s.Time.High, s.Text, s.Source})
	}
	return rows
}

func rooflineRows(p question.Prediction) [][]any {
	rows := [][]any{{
		"kind", "name", "over", "batch", "rate_bytes_per_s", "flop_per_byte", "flop_per_copied_byte",
		"flop_per_stored_byte", "flop_per_s", "delivered_flop_per_s", "bound",
	}}
	r := p.Roofline
	for _, d := range r.Diagonals {
		rows = append(rows, []any{"line", d.Name, d.Over, "", d.Rate, d.Ridge, "", "", r.Peak, "", ""})
	}
	for _, w := range r.Points {
		rows = append(rows, []any{
			"workload", w.Name, "", w.Batch, "", w.Device, w.Copied, w.Stored, w.Attained.Point, w.Delivered.Point,
			w.Bound,
		})
	}
	return rows
}

func threeOf(name string) []any { return []any{name, name + "_low", name + "_high"} }
