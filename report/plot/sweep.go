package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"stoker"
	"stoker/internal/safe"
	"stoker/predict"
	"stoker/report"
)

// More would make pictures of many megabytes that nobody can tell apart.
const (
	mostPoints = 10_000
	mostCells  = 40_000
	mostDots   = 150 // on a line
)

// Sweep draws a sweep over one setting as two panels, throughput and
// utilisation, each with its interval; over two settings as a heat map of
// utilisation. Each point has the colour of what binds there.
func Sweep(w io.Writer, f Format, words Words, axes []predict.Axis, points []predict.Point) error {
	safe.Values(&words, &axes, &points)
	if len(points) == 0 || len(axes) < 1 || len(axes) > 2 {
		return fmt.Errorf("draw sweep: %d points over %d settings, expected some over one or two", len(points), len(axes))
	}
	if len(axes) == 2 {
		return heat(w, f, words, axes, points)
	}
	if len(points) > mostPoints {
		return fmt.Errorf("draw sweep: %d points, expected at most %d: widen the steps, or print --csv", len(points), mostPoints)
	}
	x := newScale(axes[0])
	sheet := &page{words: words}
	samples := bare("", "samples/s")
	use := bare(report.AxisTitle(axes[0].Name), "utilisation")
	sheet.curve(samples, x, points, func(p predict.Point) stoker.Interval { return p.Throughput })
	sheet.alone(samples, x, points)
	sheet.curve(use, x, points, func(p predict.Point) stoker.Interval { return p.Utilization })
	sheet.pictures = []*plot.Plot{samples, use}
	samples.Y.Max *= 1.04
	samples.Y.Min, use.Y.Min, use.Y.Max = 0, 0, 1.02
	samples.Y.Tick.Marker = plot.TickerFunc(amounts)
	use.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0 %"}, {Value: 0.25}, {Value: 0.5, Label: "50 %"}, {Value: 0.75}, {Value: 1, Label: "100 %"}}
	for _, p := range []*plot.Plot{samples, use} {
		p.X.Min, p.X.Max = x.min, x.max
		p.X.Tick.Marker = plot.ConstantTicks(x.ticks)
	}
	return sheet.write(w, f)
}

// scale places the values of an axis: by their doublings where they double, else
// as they are.
type scale struct {
	doubling bool
	min, max float64
	ticks    []plot.Tick
}

// mostTicks fit side by side.
const mostTicks = 9

func newScale(a predict.Axis) scale {
	var s scale
	low, high := a.Values[0], a.Values[0]
	for _, v := range a.Values {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	s.doubling = low > 0 && high/low >= 8
	s.min, s.max = s.at(low), s.at(high)
	last := math.Inf(-1)
	for _, v := range a.Values {
		tick := plot.Tick{Value: s.at(v)}
		if tick.Value-last >= (s.max-s.min)/(mostTicks+1) {
			tick.Label, last = report.AxisValue(a.Name, v), tick.Value
		}
		if tick.Label != "" || len(a.Values) <= 4*mostTicks {
			s.ticks = append(s.ticks, tick)
		}
	}
	room := (s.max - s.min) * 0.03
	if room == 0 {
		room = 1
	}
	s.min, s.max = s.min-room, s.max+room
	return s
}

func (s scale) at(v float64) float64 {
	if s.doubling {
		return math.Log2(v)
	}
	return v
}

// curve adds a band, a line through the likely values, and a dot per setting in
// the colour of what binds. Unknown points are left out.
func (sheet *page) curve(p *plot.Plot, x scale, points []predict.Point, of func(predict.Point) stoker.Interval) {
	p.Add(grid{})
	var low, high, line plotter.XYs
	dots := map[string]plotter.XYs{}
	each := (len(points) + mostDots - 1) / mostDots
	for n, point := range points {
		i, at := of(point), x.at(point.X)
		if !finite(i.Point) || point.Fits == predict.No {
			continue
		}
		line = append(line, plotter.XY{X: at, Y: i.Point})
		low = append(low, plotter.XY{X: at, Y: or(i.Low, i.Point)})
		high = append(high, plotter.XY{X: at, Y: or(i.High, i.Point)})
		if n%each != 0 {
			continue
		}
		bound := report.Binds(point.BoundStage, point.Bound)
		dots[bound] = append(dots[bound], plotter.XY{X: at, Y: i.Point})
	}
	if len(line) == 0 {
		return
	}
	area := append(plotter.XYs{}, low...)
	for i := len(high) - 1; i >= 0; i-- {
		area = append(area, high[i])
	}
	band := &plotter.Polygon{XYs: []plotter.XYs{area}, Color: faint(blue)}
	middle := &plotter.Line{XYs: line, LineStyle: draw.LineStyle{Color: blue, Width: 1.2}}
	p.Add(band, middle)
	sheet.explain("likely, and the interval", band, middle)
	radius := vg.Length(2.6)
	if len(points) > 4*mostTicks {
		radius = 1.4
	}
	for _, bound := range report.Bounds {
		if at := dots[bound]; len(at) > 0 {
			s := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: colourOf(bound), Radius: radius, Shape: draw.CircleGlyph{}}}
			p.Add(s)
			sheet.explain("limited by "+bound, s)
		}
	}
}

// alone adds what the devices would take if input were always there: throughput
// over utilisation.
func (sheet *page) alone(p *plot.Plot, x scale, points []predict.Point) {
	var line plotter.XYs
	for _, point := range points {
		if v := point.Throughput.Point / point.Utilization.Point; finite(v) && point.Fits != predict.No {
			line = append(line, plotter.XY{X: x.at(point.X), Y: v})
		}
	}
	if len(line) < 2 {
		return
	}
	l := &plotter.Line{XYs: line, LineStyle: draw.LineStyle{Color: grey, Width: 0.8, Dashes: []vg.Length{3, 2}}}
	p.Add(l)
	sheet.explain("what the GPU would take", l)
}

// colourOf is the colour of what binds; the same in every picture.
func colourOf(bound string) color.NRGBA {
	colours := []color.NRGBA{green, red, orange, purple, sky, black}
	for i, b := range report.Bounds {
		if b == bound && i < len(colours) {
			return colours[i]
		}
	}
	return grey
}

// heat draws utilisation over two settings, a cell per pair.
func heat(w io.Writer, f Format, words Words, axes []predict.Axis, points []predict.Point) error {
	p := bare(report.AxisTitle(axes[1].Name), report.AxisTitle(axes[0].Name))
	columns, rows := len(axes[1].Values), len(axes[0].Values)
	if len(points) != columns*rows {
		return fmt.Errorf("draw sweep: %d points, expected %d x %d", len(points), rows, columns)
	}
	if len(points) > mostCells {
		return fmt.Errorf("draw sweep: %d cells, expected at most %d: widen the steps, or print --csv", len(points), mostCells)
	}
	p.Add(&cells{points: points, columns: columns, rows: rows})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(columns)-0.5, -0.5, float64(rows)-0.5
	p.X.Tick.Marker, p.Y.Tick.Marker = nominal(axes[1]), nominal(axes[0])
	p.X.Padding, p.Y.Padding = 0, 0
	sheet := &page{words: words, pictures: []*plot.Plot{p}}
	for _, u := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fill, _ := shade(predict.Point{Utilization: stoker.Exactly(u), Fits: predict.Yes})
		sheet.explain("utilisation "+stoker.Percent(u), patch{fill})
	}
	return sheet.write(w, f)
}

// nominal labels each value of an axis at its index, as many as fit.
func nominal(a predict.Axis) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	each := (len(a.Values) + mostTicks) / (mostTicks + 1)
	for i, v := range a.Values {
		if i%each == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: report.AxisValue(a.Name, v)})
		}
	}
	return ticks
}

// patch is a colour in the key.
type patch struct{ fill color.Color }

// Thumbnail draws the patch; it is called by the key.
func (p patch) Thumbnail(dc *draw.Canvas) {
	dc.SetColor(p.fill)
	dc.Fill(dc.Path())
}

// cells is a grid of coloured rectangles with their figures.
type cells struct {
	points        []predict.Point
	columns, rows int
}

// Plot draws the cells; it is called by the library.
func (c *cells) Plot(dc draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&dc)
	lettered := c.columns <= 12 && c.rows <= 14
	for i, point := range c.points {
		row, column := float64(i/c.columns), float64(i%c.columns)
		r := vg.Rectangle{Min: vg.Point{X: x(column - 0.5), Y: y(row - 0.5)}, Max: vg.Point{X: x(column + 0.5), Y: y(row + 0.5)}}
		fill, ink := shade(point)
		dc.SetColor(fill)
		dc.Fill(r.Path())
		dc.SetLineWidth(0.6)
		if lettered {
			dc.SetColor(color.White)
		}
		dc.Stroke(r.Path()) // in the same colour: no seams between many cells
		if lettered {
			letter(dc, r, point, ink)
		}
	}
}

// letter writes utilisation and what binds into a cell.
func letter(dc draw.Canvas, r vg.Rectangle, point predict.Point, ink color.Color) {
	s := style(8, ink)
	s.XAlign = draw.XCenter
	middle := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	if point.Fits == predict.No {
		dc.FillText(s, middle, "no room")
		return
	}
	small := style(6, ink)
	small.XAlign = draw.XCenter
	if r.Max.Y-r.Min.Y < 18 {
		dc.FillText(s, middle, stoker.Percent(point.Utilization.Point))
		return
	}
	dc.FillText(s, middle.Add(vg.Point{Y: 4}), stoker.Percent(point.Utilization.Point))
	dc.FillText(small, middle.Add(vg.Point{Y: -5}), report.Binds(point.BoundStage, point.Bound))
}

// shade goes from dark blue, starved, to light yellow, busy (the ends of
// viridis, by way of its middle); grey where nothing is known or nothing fits.
func shade(p predict.Point) (fill, ink color.NRGBA) {
	u := p.Utilization.Point
	if !finite(u) || p.Fits == predict.No {
		return pale, grey
	}
	stops := []color.NRGBA{{59, 28, 98, 255}, {49, 104, 142, 255}, {53, 183, 121, 255}, {253, 231, 37, 255}}
	at := min(1, max(0, u)) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	part := at - float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	a, b := stops[i], stops[i+1]
	ink = color.NRGBA{255, 255, 255, 255}
	if u > 0.55 {
		ink = black
	}
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}, ink
}

// grid draws faint lines at the labelled ticks.
type grid struct{}

// Plot draws the lines; it is called by the library.
func (grid) Plot(dc draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&dc)
	line := draw.LineStyle{Color: pale, Width: 0.5}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() && t.Value >= p.X.Min && t.Value <= p.X.Max {
			dc.StrokeLine2(line, x(t.Value), dc.Min.Y, x(t.Value), dc.Max.Y)
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() && t.Value >= p.Y.Min && t.Value <= p.Y.Max {
			dc.StrokeLine2(line, dc.Min.X, y(t.Value), dc.Max.X, y(t.Value))
		}
	}
}

// amounts are the library's ticks with thousands set apart.
func amounts(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = stoker.About(ticks[i].Value)
		}
	}
	return ticks
}

func or(v, otherwise float64) float64 {
	if finite(v) {
		return v
	}
	return otherwise
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
