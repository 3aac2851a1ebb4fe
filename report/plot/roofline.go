package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"stoker"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"stoker/internal/safe"
	"stoker/predict"
)

// Roofline draws what a device can do over arithmetic intensity, both axes in
// powers of ten: a sloped line per way that bytes come, the peak, the ridge
// points, and each workload once per kind of byte.
func Roofline(w io.Writer, f Format, words Words, r predict.Roofline) error {
	safe.Values(&words, &r)
	if !(r.Peak > 0) || math.IsInf(r.Peak, 0) || len(r.Diagonals) == 0 {
		return fmt.Errorf("draw roofline: peak %v with %d lines, expected a known peak and memory bandwidth", r.Peak, len(r.Diagonals))
	}
	p := bare("FLOP per byte (of device memory, or of input)", "FLOP/s")
	low, high := extent(r)
	p.X.Min, p.X.Max = math.Log10(low), math.Log10(high)
	p.Y.Min, p.Y.Max = floor(r), math.Log10(r.Peak)+0.7
	p.X.Tick.Marker = plot.TickerFunc(func(a, b float64) []plot.Tick { return decades(a, b, stoker.AboutMany) })
	p.Y.Tick.Marker = plot.TickerFunc(func(a, b float64) []plot.Tick { return decades(a, b, stoker.AboutFLOPs) })
	p.Add(grid{})
	sheet := &page{words: words, pictures: []*plot.Plot{p}}
	for i, d := range r.Diagonals {
		sheet.diagonal(p, r, d, i)
	}
	for i, point := range r.Points {
		sheet.workpoint(p, point, glyphs[i%len(glyphs)])
	}
	return sheet.write(w, f)
}

// colourOfLine is the colour of a kind of byte, on lines and points.
func colourOfLine(name string) color.NRGBA {
	switch name {
	case predict.DeviceMemory:
		return blue
	case predict.HostLink:
		return red
	}
	return green
}

// extent is the range of intensities that shows all ridges and points.
func extent(r predict.Roofline) (low, high float64) {
	low, high = 1, 1000
	see := func(v float64) {
		if finite(v) && v > 0 {
			low, high = math.Min(low, v/3), math.Max(high, v*4)
		}
	}
	for _, d := range r.Diagonals {
		see(d.Ridge)
	}
	for _, p := range r.Points {
		see(p.Device)
		see(p.Copied)
		see(p.Stored)
	}
	return low, high
}

// floor is where the y axis begins, in powers of ten: below all points, three
// decades below the peak at least.
func floor(r predict.Roofline) float64 {
	least := r.Peak / 1000
	for _, p := range r.Points {
		for _, v := range []float64{p.Attained.Point, p.Delivered.Point} {
			if finite(v) && v > 0 {
				least = math.Min(least, v/3)
			}
		}
	}
	return math.Log10(least)
}

// diagonal draws one line up to its ridge and flat from there, with the ridge's
// intensity above it, each line's a little higher than that of the one before.
func (sheet *page) diagonal(p *plot.Plot, r predict.Roofline, d predict.Diagonal, n int) {
	if !(d.Ridge > 0) || !finite(d.Ridge) {
		return
	}
	c := colourOfLine(d.Name)
	peak := math.Log10(r.Peak)
	ridge := plotter.XY{X: math.Log10(d.Ridge), Y: peak}
	start := plotter.XY{X: p.X.Min, Y: math.Log10(d.Rate) + p.X.Min}
	if start.Y < p.Y.Min {
		start = plotter.XY{X: p.Y.Min - math.Log10(d.Rate), Y: p.Y.Min}
	}
	line := &plotter.Line{XYs: plotter.XYs{start, ridge, {X: p.X.Max, Y: peak}}, LineStyle: draw.LineStyle{Color: c, Width: 1.2}}
	mark := &plotter.Scatter{XYs: plotter.XYs{ridge}, GlyphStyle: draw.GlyphStyle{Color: c, Radius: 2, Shape: draw.BoxGlyph{}}}
	label := style(7.5, c)
	label.YAlign, label.XAlign = draw.YBottom, draw.XCenter
	p.Add(line, mark, &plotter.Labels{
		XYs: plotter.XYs{ridge}, Labels: []string{stoker.About(d.Ridge) + " FLOP/B"},
		TextStyle: []draw.TextStyle{label}, Offset: vg.Point{Y: 4 + 9*vg.Length(n)},
	})
	sheet.explain(fmt.Sprintf("%s, %s (over %s)", d.Name, stoker.AboutRate(d.Rate), d.Over), line)
}

// glyphs tell workloads apart.
var glyphs = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{},
}

// workpoint draws one workload in the colour of each line that it is held
// against: what it attains over bytes of device memory, what its input lets
// through over bytes copied and stored.
func (sheet *page) workpoint(p *plot.Plot, w predict.Workpoint, glyph draw.GlyphDrawer) {
	for _, at := range []struct {
		x, y float64
		line string
	}{{w.Device, w.Attained.Point, predict.DeviceMemory}, {w.Copied, w.Delivered.Point, predict.HostLink}, {w.Stored, w.Delivered.Point, predict.InputSupply}} {
		if !finite(at.x) || !finite(at.y) || at.x <= 0 || at.y <= 0 {
			continue
		}
		xy := plotter.XYs{{X: math.Log10(at.x), Y: math.Log10(at.y)}}
		p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: draw.GlyphStyle{Color: colourOfLine(at.line), Radius: 3, Shape: glyph}})
	}
	key := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: black, Radius: 3, Shape: glyph}}
	sheet.explain(fmt.Sprintf("%s, batch %s", w.Name, stoker.About(w.Batch)), key)
}

// decades labels powers of ten with a unit.
func decades(low, high float64, text func(float64) string) []plot.Tick {
	var ticks []plot.Tick
	each := math.Max(1, math.Ceil((high-low)/9))
	for d := math.Floor(low); d <= high; d++ {
		if d >= low && math.Mod(d, each) == 0 {
			ticks = append(ticks, plot.Tick{Value: d, Label: text(math.Pow(10, d))})
		}
		for n := 2.0; n < 10; n++ {
			if minor := d + math.Log10(n); minor >= low && minor <= high {
				ticks = append(ticks, plot.Tick{Value: minor})
			}
		}
	}
	return ticks
}
