package plot

import (
	"fmt"
	"io"
	"math"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
)

// WriteRoofline draws what a device can do over arithmetic intensity on logarithmic axes: a
// sloped line for each path of bytes, the peak, the ridge points, and each workload once per
// kind of byte.
func WriteRoofline(w io.Writer, title Captions, r predict.Roofline) error {
	safe.Values(&title, &r)
	if !(r.Peak > 0) || math.IsInf(r.Peak, 0) || len(r.Diagonals) == 0 {
		return fmt.Errorf("draw roofline: peak %v with %d lines, expected a known peak and memory bandwidth", r.Peak,
			len(r.Diagonals))
	}
	low, high := axisRange(r)
	p := panel{
		x: axis{title: "FLOP per byte (of device memory, or of input)", min: math.Log10(low), max: math.Log10(high)},
		y: axis{title: "FLOP/s", min: floor(r), max: math.Log10(r.Peak) + 0.7},
	}
	p.x.ticks, p.y.ticks = decades(p.x, quantity.AboutMany), decades(p.y, quantity.AboutFLOPs)
	s := &sheet{words: title}
	s.explain(keyOf(r)...)
	p.inner = func(c *canvas, at func(dot) dot) {
		for i, d := range r.Diagonals {
			drawDiagonal(c, at, p, r, d, i)
		}
		peakLabel(c, at, p, r.Precision, r.Peak)
		for _, slower := range r.Slower {
			if start := math.Log10(slower.Peak / r.Diagonals[0].Rate); slower.Peak > 0 {
				c.drawLine([]dot{
					at(dot{math.Max(start, p.x.min), math.Log10(slower.Peak)}),
					at(dot{p.x.max, math.Log10(slower.Peak)}),
				}, stroke{grey, 1, "4 3"})
				peakLabel(c, at, p, slower.Precision, slower.Peak)
			}
		}
		for i, point := range r.Points {
			drawWorkpoint(c, at, point, i)
		}
	}
	s.panels = []panel{p}
	return s.writeSVG(w)
}

// keyOf returns an entry for each line and each workload.
func keyOf(r predict.Roofline) (key []entry) {
	for _, d := range r.Diagonals {
		if d.Ridge > 0 && stat.Finite(d.Ridge) {
			name := fmt.Sprintf("%s, %s (over %s)", d.Name, quantity.AboutRate(d.Rate), d.Over)
			key = append(key, entry{name: name, line: stroke{colourOfLine(d.Name), 2, ""}})
		}
	}
	for i, point := range r.Points {
		name := point.Name
		if stat.Finite(point.Batch) {
			name += ", batch " + quantity.About(point.Batch)
		}
		key = append(key, entry{name: name, mark: black, shape: i})
	}
	return key
}

// peakLabel writes the name of a horizontal line below its right end.
func peakLabel(c *canvas, at func(dot) dot, p panel, in hardware.Precision, peak float64) {
	end, text := at(dot{p.x.max, math.Log10(peak)}), fmt.Sprintf("peak, %s: %s", in, quantity.AboutFLOPs(peak))
	c.rect(box{end.x - wide(text, 9.5), end.y + 3, end.x, end.y + 15}, white, white) // a diagonal may cross here
	c.drawText(dot{end.x, end.y + 9}, textStyle{9.5, grey, "end", false}, text)
}

// colourOfLine returns the colour of a kind of byte, for lines and points.
func colourOfLine(name string) string {
	switch name {
	case predict.DeviceMemory:
		return blue
	case predict.HostLink:
		return red
	}
	return green
}

// axisRange returns the range of intensities that contains all ridges and points.
func axisRange(r predict.Roofline) (low, high float64) {
	low, high = 1, 1000
	see := func(v float64) {
		if stat.Finite(v) && v > 0 {
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

// floor returns the lower end of the y axis as a power of ten: below all points, and at least
// three decades below the peak.
func floor(r predict.Roofline) float64 {
	least := r.Peak / 1000
	for _, p := range r.Points {
		for _, v := range []float64{p.Attained.Point, p.Delivered.Point} {
			if stat.Finite(v) && v > 0 {
				least = math.Min(least, v/3)
			}
		}
	}
	return math.Log10(least)
}

// drawDiagonal draws a line up to its ridge and horizontally from there. It writes the ridge's
// intensity above it, higher for each further line.
func drawDiagonal(c *canvas, at func(dot) dot, p panel, r predict.Roofline, d predict.Diagonal, n int) {
	if !(d.Ridge > 0) || !stat.Finite(d.Ridge) {
		return
	}
	colour, peak := colourOfLine(d.Name), math.Log10(r.Peak)
	start := dot{p.x.min, math.Log10(d.Rate) + p.x.min}
	if start.y < p.y.min {
		start = dot{p.y.min - math.Log10(d.Rate), p.y.min}
	}
	ridge := at(dot{math.Log10(d.Ridge), peak})
	c.drawLine([]dot{at(start), ridge, at(dot{p.x.max, peak})}, stroke{colour, 1.8, ""})
	c.mark(ridge, 3, colour, 2)
	c.drawText(dot{ridge.x, ridge.y - 10 - 12*float64(n)}, textStyle{9.5, colour, "middle", false},
		quantity.About(d.Ridge)+" FLOP/B")
}

// drawWorkpoint draws a workload in the colour of each line that limits it: the attained rate
// over bytes of device memory, and the rate that its input permits over bytes copied and
// stored.
func drawWorkpoint(c *canvas, at func(dot) dot, w predict.Workpoint, shape int) {
	for _, p := range []struct {
		x, y float64
		line string
	}{
		{w.Device, w.Attained.Point, predict.DeviceMemory},
		{w.Copied, w.Delivered.Point, predict.HostLink},
		{w.Stored, w.Delivered.Point, predict.InputSupply},
	} {
		if stat.Finite(p.x) && stat.Finite(p.y) && p.x > 0 && p.y > 0 {
			c.mark(at(dot{math.Log10(p.x), math.Log10(p.y)}), 4.5, colourOfLine(p.line), shape)
		}
	}
}

// decades returns labelled powers of ten with small ticks between them.
func decades(a axis, text func(float64) string) []axisTick {
	var ticks []axisTick
	each := math.Max(1, math.Ceil((a.max-a.min)/9))
	for d := math.Floor(a.min); d <= a.max; d++ {
		if math.Mod(d, each) == 0 {
			ticks = append(ticks, axisTick{d, text(math.Pow(10, d))})
		}
		for n := 2.0; n < 10; n++ {
			ticks = append(ticks, axisTick{value: d + math.Log10(n)})
		}
	}
	return ticks
}
