package plot

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/report"
)

// Larger pictures would have many megabytes, and points could not be distinguished.
const (
	mostPoints = 10_000
	mostCells  = 40_000
	mostDots   = 150 // on a line
)

// WriteSweep draws a sweep over one setting as two panels, throughput and utilisation, each
// with its interval, and a sweep over two settings as a heat map of utilisation. The colour of
// a point shows its limit.
func WriteSweep(w io.Writer, title Captions, axes []predict.Axis, points []predict.Point) error {
	safe.Values(&title, &axes, &points)
	if len(points) == 0 || len(axes) < 1 || len(axes) > 2 {
		return fmt.Errorf("draw sweep: %d points over %d settings, expected some over one or two", len(points),
			len(axes))
	}
	if len(axes) == 2 {
		return heat(w, title, axes, points)
	}
	if len(points) > mostPoints {
		return fmt.Errorf("draw sweep: %d points, expected at most %d: widen the steps, or print --csv", len(points),
			mostPoints)
	}
	s := &sheet{words: title}
	x := axisOf(axes[0])
	samples := curveOf(axes[0], points, func(p predict.Point) stoker.Interval { return p.Throughput })
	use := curveOf(axes[0], points, func(p predict.Point) stoker.Interval { return p.Utilization })
	samples.atMost = alone(axes[0], points)
	use.explain(s)
	if len(samples.atMost) > 1 {
		s.explain(entry{name: "what the GPU would take", line: dashed})
	}
	most := samples.top() * 1.04
	upper := panel{x: x, inner: samples.draw, y: axis{
		title: "samples/s", max: most, ticks: round(0, most, 5, quantity.About),
	}}
	upper.x.title = ""
	lower := panel{x: x, y: axis{title: "utilisation", max: 1.02, ticks: []axisTick{
		{0, "0 %"},
		{0.25, ""},
		{0.5, "50 %"},
		{0.75, ""},
		{1, "100 %"},
	}}, inner: use.draw}
	s.panels = []panel{upper, lower}
	return s.writeSVG(w)
}

// doubling reports whether an axis is logarithmic.
func doubling(a predict.Axis) bool {
	low, high := ends(a)
	return low > 0 && high/low >= 8
}

func ends(a predict.Axis) (low, high float64) {
	low, high = a.Values[0], a.Values[0]
	for _, v := range a.Values {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	return low, high
}

// along returns the position of a value on its axis.
func along(a predict.Axis, v float64) float64 {
	if doubling(a) {
		return math.Log2(v)
	}
	return v
}

// mostTicks is the number of labels that fit side by side.
const mostTicks = 9

// axisOf returns the axis of a setting, with as many labels as fit.
func axisOf(a predict.Axis) axis {
	low, high := ends(a)
	name, labels := report.LabelAxis(a)
	s := axis{title: name, min: along(a, low), max: along(a, high)}
	last := math.Inf(-1)
	for i, v := range a.Values {
		t := axisTick{value: along(a, v)}
		if t.value-last >= (s.max-s.min)/(mostTicks+1) {
			t.label, last = labels[i], t.value
		}
		if t.label != "" || len(a.Values) <= 4*mostTicks {
			s.ticks = append(s.ticks, t)
		}
	}
	room := (s.max - s.min) * 0.03
	if room == 0 {
		room = 1
	}
	s.min, s.max = s.min-room, s.max+room
	return s
}

// curve is one quantity over a setting.
type curve struct {
	line, low, high []dot
	atMost          []dot            // its upper bound; nil if it has none
	dots            map[string][]dot // by limit
	radius          float64
}

// curveOf collects the points of a quantity, without unknown ones and those that do not fit
// into memory.
func curveOf(a predict.Axis, points []predict.Point, of func(predict.Point) stoker.Interval) curve {
	c := curve{dots: map[string][]dot{}, radius: 3.6}
	if len(points) > 4*mostTicks {
		c.radius = 2
	}
	each := (len(points) + mostDots - 1) / mostDots
	for n, point := range points {
		i, x := of(point), along(a, point.X)
		if !stat.Finite(i.Point) || point.Fits == predict.No {
			continue
		}
		c.line = append(c.line, dot{x, i.Point})
		c.low, c.high = append(c.low, dot{x, or(i.Low, i.Point)}), append(c.high, dot{x, or(i.High, i.Point)})
		if n%each == 0 {
			bound := report.NameLimit(point.BoundStage, point.Bound)
			c.dots[bound] = append(c.dots[bound], dot{x, i.Point})
		}
	}
	return c
}

// top returns the largest value.
func (c curve) top() float64 {
	most := 0.
	for _, d := range slices.Concat(c.high, c.atMost) {
		most = max(most, d.y)
	}
	if most == 0 {
		return 1
	}
	return most
}

func (c curve) explain(s *sheet) {
	s.explain(entry{name: "likely, and the interval", band: blue, line: stroke{blue, 1.8, ""}})
	for _, bound := range report.Bounds {
		if len(c.dots[bound]) > 0 {
			s.explain(entry{name: "limited by " + bound, mark: colourOf(bound)})
		}
	}
}

// draw draws the interval as a band, a line through the likely values, and a dot per setting in
// the colour of its limit.
func (c curve) draw(k *canvas, at func(dot) dot) {
	if len(c.line) == 0 {
		return
	}
	around := placeDots(c.low, at)
	for i := len(c.high) - 1; i >= 0; i-- {
		around = append(around, at(c.high[i]))
	}
	k.area(around, blue)
	k.drawLine(placeDots(c.line, at), stroke{blue, 1.8, ""})
	for _, bound := range report.Bounds {
		for _, d := range c.dots[bound] {
			k.mark(at(d), c.radius, colourOf(bound), 0)
		}
	}
	if len(c.atMost) > 1 {
		k.drawLine(placeDots(c.atMost, at), dashed)
	}
}

// dashed is the line of an upper bound.
var dashed = stroke{grey, 1.2, "4 3"}

func placeDots(points []dot, at func(dot) dot) []dot {
	all := make([]dot, len(points))
	for i, p := range points {
		all[i] = at(p)
	}
	return all
}

// alone returns what the devices would process if input were always ready: throughput over
// utilisation.
func alone(a predict.Axis, points []predict.Point) []dot {
	var line []dot
	for _, point := range points {
		if v := point.Throughput.Point / point.Utilization.Point; stat.Finite(v) && point.Fits != predict.No {
			line = append(line, dot{along(a, point.X), v})
		}
	}
	return line
}

// colourOf returns the colour of a limit, the same in every picture.
func colourOf(bound string) string {
	colours := []string{green, red, orange, purple, sky, black}
	for i, b := range report.Bounds {
		if b == bound && i < len(colours) {
			return colours[i]
		}
	}
	return grey
}

// heat draws utilisation over two settings, one cell per pair.
func heat(w io.Writer, title Captions, axes []predict.Axis, points []predict.Point) error {
	columns, rows := len(axes[1].Values), len(axes[0].Values)
	if len(points) != columns*rows {
		return fmt.Errorf("draw sweep: %d points, expected %d x %d", len(points), rows, columns)
	}
	if len(points) > mostCells {
		return fmt.Errorf("draw sweep: %d cells, expected at most %d: widen the steps, or print --csv", len(points),
			mostCells)
	}
	p := panel{x: nominal(axes[1]), y: nominal(axes[0]), bare: true}
	p.inner = func(c *canvas, at func(dot) dot) {
		for i, point := range points {
			x, y := float64(i%columns), float64(i/columns)
			low, high := at(dot{x - 0.5, y - 0.5}), at(dot{x + 0.5, y + 0.5})
			drawCell(c, box{low.x, high.y, high.x, low.y}, point, columns <= 12 && rows <= 14)
		}
	}
	s := &sheet{words: title, panels: []panel{p}}
	for _, u := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fill, _ := colourOfShare(predict.Point{Utilization: stoker.Exactly(u), Fits: predict.Yes})
		s.explain(entry{name: "utilisation " + quantity.Percent(u), fill: fill})
	}
	return s.writeSVG(w)
}

// nominal labels the values of an axis at their indices, as many as fit.
func nominal(a predict.Axis) axis {
	name, labels := report.LabelAxis(a)
	s := axis{title: name, min: -0.5, max: float64(len(labels)) - 0.5}
	each := (len(labels) + mostTicks) / (mostTicks + 1)
	for i := 0; i < len(labels); i += each {
		s.ticks = append(s.ticks, axisTick{float64(i), labels[i]})
	}
	return s
}

// drawCell draws one pair of settings, with utilisation and limit as text if lettered.
func drawCell(c *canvas, in box, point predict.Point, lettered bool) {
	fill, ink := colourOfShare(point)
	edge := fill // the same colour, so that no seams show between many cells
	if lettered {
		edge = white
	}
	c.rect(in, fill, edge)
	if !lettered {
		return
	}
	middle := dot{(in.left + in.right) / 2, (in.top + in.bottom) / 2}
	text, limit := quantity.Percent(point.Utilization.Point), ""
	switch {
	case point.Fits == predict.No:
		text = "no room"
	case in.height() >= 25:
		limit = report.NameLimit(point.BoundStage, point.Bound)
		middle.y -= 5
	}
	c.drawText(middle, textStyle{11, ink, "middle", false}, text)
	if limit != "" {
		c.drawText(dot{middle.x, middle.y + 12}, textStyle{8, ink, "middle", false}, limit)
	}
}

// colourOfShare maps utilisation to a colour from dark blue (low) to light yellow (high), based on four
// colours of viridis; grey if it is unknown or the setting does not fit.
func colourOfShare(p predict.Point) (fill, ink string) {
	u := p.Utilization.Point
	if !stat.Finite(u) || p.Fits == predict.No {
		return pale, grey
	}
	stops := [][3]float64{{59, 28, 98}, {49, 104, 142}, {53, 183, 121}, {253, 231, 37}}
	place := min(1, max(0, u)) * float64(len(stops)-1)
	i := min(int(place), len(stops)-2)
	var mixed [3]int
	for k := range mixed {
		mixed[k] = int(math.Round(stops[i][k] + (place-float64(i))*(stops[i+1][k]-stops[i][k])))
	}
	ink = white
	if u > 0.55 {
		ink = black
	}
	return fmt.Sprintf("#%02x%02x%02x", mixed[0], mixed[1], mixed[2]), ink
}

func or(v, otherwise float64) float64 {
	if stat.Finite(v) {
		return v
	}
	return otherwise
}
