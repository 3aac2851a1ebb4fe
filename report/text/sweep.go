package text

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// narrow is the width below which a page has no room for the last column.
const narrow = 96

// printSweep prints a sweep over one or two settings.
func (p *page) printSweep(f question.Prediction) {
	if len(f.Axes) == 2 {
		p.grid(f)
		return
	}
	p.rows(f)
	p.chart(f)
}

// rows prints one row per setting with a bar of utilisation.
func (p *page) rows(f question.Prediction) {
	width := max(10, p.width()-76)
	rows := report.ListSettings(f, func(use float64) string {
		return p.paint(useColour(use), bars(stoker.Exactly(use), 1, width))
	})
	p.writeTable(rows, "rrrrrlrl")
	p.b.WriteString("\n")
	if shown := len(rows) - 1; shown < len(f.Points) {
		p.printWrapped("  ", "  ", fmt.Sprintf("one in %d of %d settings is shown, --csv and --json have all",
			(len(f.Points)+report.MostRows-1)/report.MostRows, len(f.Points)))
		p.b.WriteString("\n")
	}
}

// chart draws throughput over the setting in braille.
func (p *page) chart(f question.Prediction) {
	if len(f.Axes[0].Storages) > 0 {
		return // classes of storage have no order
	}
	var point, low, high line
	x := func(v float64) float64 { return v }
	if values := f.Axes[0].Values; values[0] > 0 && values[len(values)-1]/values[0] >= 8 {
		x = math.Log2
	}
	for _, q := range f.Points {
		if q.Fits != predict.No && q.Throughput.Known() {
			point = append(point, dot{x(q.X), q.Throughput.Point})
			low = append(low, dot{x(q.X), q.Throughput.Low})
			high = append(high, dot{x(q.X), q.Throughput.High})
		}
	}
	if len(point) < 3 {
		return
	}
	c := newCanvas(min(72, p.width()-14), 10, frame{
		left: report.FormatAxis(f.Axes[0].Name, f.Points[0].X), right: report.FormatAxis(f.Axes[0].Name,
			f.Points[len(f.Points)-1].X),
		bottom: report.NameAxis(f.Axes[0].Name), format: quantity.About, fromZero: true,
	})
	c.fit(point, low, high)
	c.dots(low)
	c.dots(high)
	c.draw(point)
	fmt.Fprintf(&p.b, "  samples/s: likely, and dotted the interval\n%s\n", c.drawChart())
}

// grid prints a table of utilisation over two settings, one column per value of the second,
// with the first letter of the limit.
func (p *page) grid(f question.Prediction) {
	first, second := f.Axes[0], f.Axes[1]
	columns := len(second.Values)
	shown := min(columns, max(1, (p.width()-14)/10))
	every := (columns + shown - 1) / shown
	down := (len(first.Values) + report.MostRows - 1) / report.MostRows
	heading := []string{first.Name + " \\ " + second.Name}
	for j := 0; j < columns; j += every {
		heading = append(heading, report.FormatAxis(second.Name, second.Values[j]))
	}
	rows := [][]string{heading}
	for i := 0; i < len(first.Values); i += down {
		row := []string{report.FormatAxis(first.Name, first.Values[i])}
		for j := 0; j < columns; j += every {
			row = append(row, p.formatCell(f.Points[i*columns+j]))
		}
		rows = append(rows, row)
	}
	p.writeTable(rows, strings.Repeat("r", len(heading)))
	p.b.WriteString("\n")
	p.printWrapped("  ", "  ",
		"Utilisation of the device, likely value, and behind it the limit: c compute, w workers, k cores, s storage, "+
			"m main thread, l host link.")
	if every > 1 || down > 1 {
		p.printWrapped("  ", "  ", fmt.Sprintf("%d x %d of %d x %d settings are shown, --csv and --json have all.",
			len(rows)-1, len(heading)-1, len(first.Values), columns))
	}
	p.b.WriteString("\n")
}

var boundLetters = map[string]string{
	"compute": "c", "workers": "w", "cores": "k", "storage": "s", "main thread": "m",
	"link": "l", "network": "n",
}

func (p *page) formatCell(q predict.Point) string {
	switch {
	case q.Fits == predict.No:
		return "no room"
	case !q.Utilization.Known():
		return report.FormatKnown(q.Utilization, quantity.Percent)
	}
	text := fmt.Sprintf("%3.0f%% %s", 100*q.Utilization.Point, boundLetters[report.NameLimit(q.BoundStage, q.Bound)])
	return p.paint(useColour(q.Utilization.Point), text)
}

// drawRoofline draws the lines in braille, then lists lines and workloads.
func (p *page) drawRoofline(r predict.Roofline) {
	peak := math.Log10(r.Peak)
	low, high := 0.0, 3.0 // powers of ten
	for _, d := range r.Diagonals {
		high = math.Max(high, math.Ceil(math.Log10(d.Ridge)+0.5))
	}
	c := newCanvas(min(76, p.width()-16), 14, frame{
		left: quantity.About(math.Pow(10, low)), right: quantity.About(math.Pow(10, high)),
		bottom: "FLOP per byte, both axes in powers of ten",
		format: func(v float64) string { return quantity.AboutFLOPs(math.Pow(10, v)) },
	})
	c.fit(line{{low, peak - 4}, {high, peak + 0.2}})
	for _, d := range r.Diagonals {
		rate := math.Log10(d.Rate)
		c.draw(line{{low, rate + low}, {peak - rate, peak}, {high, peak}})
	}
	for i, w := range r.Points {
		if stat.Finite(w.Device) && w.Attained.Known() {
			c.mark(dot{math.Log10(w.Device), math.Log10(w.Attained.Point)}, rune('A'+i%26))
		}
	}
	fmt.Fprintf(&p.b, "%s\n", c.drawChart())
	rows := [][]string{{"line", "over", "rate", "ridge"}}
	for _, d := range r.Diagonals {
		rows = append(rows, []string{d.Name, d.Over, quantity.AboutRate(d.Rate), quantity.About(d.Ridge) + " FLOP/B"})
	}
	rows = append(rows, []string{"peak, " + string(r.Precision), "", quantity.AboutFLOPs(r.Peak), ""})
	p.writeTable(rows, "llrr")
	p.b.WriteString("\n")
	rows = [][]string{{"", "workload", "batch", "device", "copied", "stored", "attained", "delivered", "below"}}
	for i, w := range r.Points {
		rows = append(rows, []string{
			string(rune('A' + i%26)), report.Shorten(w.Name, 40), quantity.About(w.Batch), quantity.AboutMany(w.Device),
			quantity.AboutMany(w.Copied), quantity.AboutMany(w.Stored), quantity.AboutFLOPs(w.Attained.Point),
			quantity.AboutFLOPs(w.Delivered.Point), w.Bound,
		})
	}
	if p.width() < narrow {
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-1]
		}
	}
	if len(rows) > 1 {
		p.writeTable(rows, "llrrrrrrl"[:len(rows[0])])
		p.printWrapped("  ", "  ",
			"device, copied, stored: FLOP per byte of each. attained: while the device computes, delivered: with the "+
				"whole path.")
		p.b.WriteString("\n")
	}
}
