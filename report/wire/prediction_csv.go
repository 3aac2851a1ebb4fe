package wire

import (
	"encoding/csv"
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
	var rows [][]string
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

// WriteCSV writes rows, the first as a heading.
func WriteCSV(w io.Writer, rows [][]string) error {
	c := csv.NewWriter(w)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
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

func sweepRows(p question.Prediction) [][]string {
	var heading []string
	for _, a := range p.Axes {
		heading = append(heading, a.Name+axisUnits[a.Name])
	}
	heading = append(heading, threeOf("utilization_ratio")...)
	heading = append(heading, threeOf("samples_per_s")...)
	heading = append(heading, threeOf("step_s")...)
	rows := [][]string{append(heading, "stage", "binds", "fits")}
	for _, q := range p.Points {
		row := []string{stat.Text(q.X)}
		if len(p.Axes) == 2 {
			row = append(row, stat.Text(q.Y))
		}
		for _, i := range []stoker.Interval{q.Utilization, q.Throughput, q.Step} {
			row = append(row, ends(i)...)
		}
		rows = append(rows, append(row, stageOf(q), string(q.Bound), fits(q.Fits)))
	}
	return rows
}

// fits returns "" if unknown.
func fits(t predict.Truth) string {
	return map[predict.Truth]string{predict.Yes: "true", predict.No: "false"}[t]
}

func stageRows(p question.Prediction) [][]string {
	rows := [][]string{append([]string{"stage", "resource"}, append(threeOf("time_s"), "text", "source")...)}
	for _, s := range p.Answer.Stages {
		rows = append(rows, append([]string{s.Stage.String(), string(s.Resource)},
			append(ends(s.Time), s.Text, s.Source)...))
	}
	return rows
}

func rooflineRows(p question.Prediction) [][]string {
	rows := [][]string{{
		"kind", "name", "over", "batch", "rate_bytes_per_s", "flop_per_byte", "flop_per_copied_byte",
		"flop_per_stored_byte", "flop_per_s", "delivered_flop_per_s", "bound",
	}}
	r := p.Roofline
	for _, d := range r.Diagonals {
		rows = append(rows, []string{
			"line", d.Name, d.Over, "", stat.Text(d.Rate), stat.Text(d.Ridge), "", "",
			stat.Text(r.Peak), "", "",
		})
	}
	for _, w := range r.Points {
		rows = append(rows, []string{
			"workload", w.Name, "", stat.Text(w.Batch), "", stat.Text(w.Device), stat.Text(w.Copied),
			stat.Text(w.Stored),
			stat.Text(w.Attained.Point), stat.Text(w.Delivered.Point), w.Bound,
		})
	}
	return rows
}

func threeOf(name string) []string { return []string{name, name + "_low", name + "_high"} }

func ends(i stoker.Interval) []string {
	return []string{stat.Text(i.Point), stat.Text(i.Low), stat.Text(i.High)}
}
