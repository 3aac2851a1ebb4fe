// Package plot draws SVG pictures: sweeps over one or two settings and rooflines, as computed
// by predict, and flame graphs of the host's activity in a trace.
//
// It computes nothing and opens no file: it gets a value of package report and an io.Writer.
package plot

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// CheckName returns an error if a picture cannot have this name.
func CheckName(name string) error {
	if !strings.HasSuffix(strings.ToLower(name), ".svg") {
		return fmt.Errorf(
			"%q: expected a name that ends in .svg (browsers and papers take it, rsvg-convert makes a PNG of it)", name)
	}
	return nil
}

// Captions are the texts around a picture.
type Captions struct {
	Title  string
	Source string // sources of the figures; wrapped below the picture
}

// A page is as wide as two columns of a paper, or half a slide.
const (
	width  = 680.
	height = 470.
	margin = 16.
)

// The colours of Okabe and Ito (2008), which colour-blind readers can distinguish.
const (
	blue   = "#0072b2"
	orange = "#e69f00"
	green  = "#009e73"
	red    = "#d55e00"
	purple = "#cc79a7"
	sky    = "#56b4e9"
	grey   = "#6e6e6e"
	pale   = "#e1e1e1"
	black  = "#141414"
	white  = "#ffffff"
)

// axisTick is a mark on an axis; one without a label is small.
type axisTick struct {
	value float64
	label string
}

// axis is one side of a panel.
type axis struct {
	title    string
	min, max float64
	ticks    []axisTick
}

// panel is a pair of axes with the content between them.
type panel struct {
	x, y  axis
	bare  bool // without a grid
	inner func(c *canvas, at func(dot) dot)
}

// sheet is a title, a key, panels one above the other, and the source.
type sheet struct {
	words  Captions
	key    []entry
	panels []panel
}

// entry is one line of the key with its sample. "" leaves a part of the sample out.
type entry struct {
	name  string
	fill  string // of an area
	band  string // of a band around a line
	line  stroke
	mark  string // fill of a mark
	shape int    // its shape
}

// explain adds lines to the key unless they are there.
func (s *sheet) explain(lines ...entry) {
	for _, e := range lines {
		if !slices.ContainsFunc(s.key, func(other entry) bool { return other.name == e.name }) {
			s.key = append(s.key, e)
		}
	}
}

// drawSample draws the sample of an entry into a box.
func (e entry) drawSample(c *canvas, in box) {
	middle := dot{(in.left + in.right) / 2, (in.top + in.bottom) / 2}
	if e.fill != "" {
		c.rect(in, e.fill, e.fill)
	}
	if e.band != "" {
		c.area([]dot{{in.left, in.top}, {in.right, in.top}, {in.right, in.bottom}, {in.left, in.bottom}}, e.band)
	}
	if e.line.colour != "" {
		c.drawLine([]dot{{in.left, middle.y}, {in.right, middle.y}}, e.line)
	}
	if e.mark != "" {
		c.mark(middle, 3.5, e.mark, e.shape)
	}
}

// writeSVG lays out the sheet and writes it. The area below the panels grows with its text, so
// that no source is cut.
func (s *sheet) writeSVG(w io.Writer) error {
	c := &canvas{}
	const heading, small = 14., 8.5
	top := margin
	for _, line := range wrap(s.words.Title, heading, width-2*margin) {
		c.drawText(dot{margin, top + heading/2}, textStyle{heading, black, "start", false}, line)
		top += heading * 1.3
	}
	top = s.drawKey(c, top+4) + 8
	bottom := max(height-margin-50, top+200)
	each := (bottom - top + 18) / float64(len(s.panels))
	for i, p := range s.panels {
		p.draw(c, box{margin, top + float64(i)*each, width - margin, top + float64(i+1)*each - 18})
	}
	end := bottom + 18
	source := ""
	if s.words.Source != "" {
		source = "Source: " + s.words.Source
	}
	for _, line := range wrap(source, small, width-2*margin) {
		c.drawText(dot{margin, end}, textStyle{small, grey, "start", false}, line)
		end += small * 1.35
	}
	_, err := fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" font-family="'Liberation Sans',Arial,Helvetica,sans-serif">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, formatCoordinate(width), formatCoordinate(end+margin/2), formatCoordinate(width), formatCoordinate(end+margin/2),
		escapeXML(s.words.Title), c.b.String())
	return err
}

// drawKey writes the key in rows above the panels, where it hides nothing, and returns the
// bottom of it.
func (s *sheet) drawKey(c *canvas, top float64) float64 {
	const thumb, gap, high, size = 16., 14., 15., 10.
	if len(s.key) == 0 {
		return top
	}
	x, y := margin, top
	for _, e := range s.key {
		long := thumb + 4 + wide(e.name, size) + gap
		if x > margin && x+long-gap > width-margin {
			x, y = margin, y+high
		}
		e.drawSample(c, box{x, y + 4, x + thumb, y + high - 4})
		c.drawText(dot{x + thumb + 4, y + high/2}, textStyle{size, black, "start", false}, e.name)
		x += long
	}
	return y + high
}

// draw draws a panel with its axes into a box.
func (p panel) draw(c *canvas, in box) {
	const size = 10.
	label := 0.
	for _, t := range p.y.ticks {
		label = max(label, wide(t.label, size))
	}
	in.left += label + 26
	in.bottom -= 18
	if p.x.title != "" {
		in.bottom -= 16
	}
	place := func(d dot) dot {
		return dot{
			in.left + (d.x-p.x.min)/(p.x.max-p.x.min)*in.width(),
			in.bottom - (d.y-p.y.min)/(p.y.max-p.y.min)*in.height(),
		}
	}
	thin := stroke{pale, 0.6, ""}
	for _, t := range p.x.ticks {
		at := place(dot{t.value, p.y.min})
		if t.value < p.x.min || t.value > p.x.max {
			continue
		}
		if t.label != "" && !p.bare {
			c.drawLine([]dot{{at.x, in.top}, {at.x, in.bottom}}, thin)
		}
		c.drawLine([]dot{at, {at.x, at.y + tickLength(t)}}, stroke{grey, 0.6, ""})
		c.drawText(dot{at.x, at.y + 12}, textStyle{size, black, "middle", false}, t.label)
	}
	for _, t := range p.y.ticks {
		at := place(dot{p.x.min, t.value})
		if t.value < p.y.min || t.value > p.y.max {
			continue
		}
		if t.label != "" && !p.bare {
			c.drawLine([]dot{{in.left, at.y}, {in.right, at.y}}, thin)
		}
		c.drawLine([]dot{at, {at.x - tickLength(t), at.y}}, stroke{grey, 0.6, ""})
		c.drawText(dot{at.x - 7, at.y}, textStyle{size, black, "end", false}, t.label)
	}
	p.inner(c, place)
	c.drawLine([]dot{{in.left, in.top}, {in.left, in.bottom}, {in.right, in.bottom}}, stroke{grey, 0.8, ""})
	c.drawText(dot{(in.left + in.right) / 2, in.bottom + 28}, textStyle{size + 1, black, "middle", false}, p.x.title)
	c.drawText(dot{margin + 6, (in.top + in.bottom) / 2}, textStyle{size + 1, black, "middle", true}, p.y.title)
}

// tickLength returns the length of a tick.
func tickLength(t axisTick) float64 {
	if t.label == "" {
		return 2
	}
	return 4
}

// round returns about as many ticks as given, at round values.
func round(low, high float64, about int, text func(float64) string) []axisTick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(about))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= float64(about) {
			step *= factor
			break
		}
	}
	var ticks []axisTick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, axisTick{i * step, text(i * step)})
	}
	return ticks
}
