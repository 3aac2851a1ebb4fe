package plot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/internal/safe"
)

// canvas collects the elements of an SVG. Coordinates are pixels; y grows downwards.
type canvas struct{ b strings.Builder }

// formatCoordinate formats a coordinate with two decimals.
func formatCoordinate(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// escapeXML escapes text for XML and makes it safe to display.
func escapeXML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(safe.Text(s, 560))
}

func (c *canvas) addElement(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// box is a rectangle.
type box struct{ left, top, right, bottom float64 }

func (r box) width() float64  { return r.right - r.left }
func (r box) height() float64 { return r.bottom - r.top }

func (c *canvas) rect(r box, fill, stroke string) {
	c.addElement(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s" stroke="%s" stroke-width="0.6"/>`,
		formatCoordinate(r.left), formatCoordinate(r.top), formatCoordinate(r.width()), formatCoordinate(r.height()),
		fill, stroke)
}

// stroke is the colour, width and dashes of a line; "" for no dashes.
type stroke struct {
	colour string
	width  float64
	dashes string
}

// path returns an SVG path through points.
func path(points []dot) string {
	var b strings.Builder
	for i, p := range points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + formatCoordinate(p.x) + " " +
			formatCoordinate(p.y))
	}
	return b.String()
}

func (c *canvas) drawLine(points []dot, s stroke) {
	dashes := ""
	if s.dashes != "" {
		dashes = ` stroke-dasharray="` + s.dashes + `"`
	}
	c.addElement(`<path d="%s" fill="none" stroke="%s" stroke-width="%s"%s/>`, path(points), s.colour,
		formatCoordinate(s.width), dashes)
}

func (c *canvas) area(points []dot, fill string) {
	c.addElement(`<path d="%sZ" fill="%s" fill-opacity="0.2"/>`, path(points), fill)
}

// shapes are SVG paths around the origin with radius 1, to distinguish dots.
var shapes = []string{
	"M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z", "M0 -1.2L1.1 0.8H-1.1Z", "M-0.9 -0.9H0.9V0.9H-0.9Z", "M0 1.2L1.1 -0.8H-1.1Z",
	"M0 -1.3L1.3 0L0 1.3L-1.3 0Z", "M-1.1 -0.35H-0.35V-1.1H0.35V-0.35H1.1V0.35H0.35V1.1H-0.35V0.35H-1.1Z",
}

// mark draws a shape.
func (c *canvas) mark(p dot, radius float64, fill string, shape int) {
	c.addElement(`<path transform="translate(%s %s) scale(%s)" d="%s" fill="%s"/>`, formatCoordinate(p.x),
		formatCoordinate(p.y), formatCoordinate(radius), shapes[shape%len(shapes)], fill)
}

// textStyle is the style of a text.
type textStyle struct {
	size   float64
	colour string
	anchor string // start, middle, end
	turned bool   // rotated to read upwards
}

func (c *canvas) drawText(p dot, w textStyle, s string) {
	turn := ""
	if w.turned {
		turn = fmt.Sprintf(` transform="rotate(-90 %s %s)"`, formatCoordinate(p.x), formatCoordinate(p.y))
	}
	c.addElement(`<text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="%s" dominant-baseline="central"%s>%s</text>`, formatCoordinate(p.x), formatCoordinate(p.y), formatCoordinate(w.size), w.colour, w.anchor, turn, escapeXML(s))
}

// wide estimates the width of a text: letters of sans-serif fonts are a little wider than half
// their size.
func wide(s string, size float64) float64 { return 0.54 * size * float64(len([]rune(s))) }

// wrap breaks text into lines that fit.
func wrap(text string, size, room float64) []string {
	var all []string
	line := ""
	for _, word := range strings.Fields(text) {
		if longer := strings.TrimSpace(line + " " + word); line == "" || wide(longer, size) <= room {
			line = longer
			continue
		}
		all = append(all, line)
		line = word
	}
	return append(all, line)
}

// dot is a point: in the units of a panel, or on the canvas.
type dot struct{ x, y float64 }
