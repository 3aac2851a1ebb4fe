// Package plot draws what predict computed as SVG and PNG: a sweep over one
// setting, over two, and a roofline.
//
// It computes nothing and opens nothing: it is given a noun and an io.Writer. It
// is apart from report because it needs a plotting library, which report itself
// must not.
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"stoker/internal/safe"
)

// Format is a kind of picture.
type Format string

// The formats.
const (
	SVG Format = "svg"
	PNG Format = "png"
)

// FormatOf returns the format that a file's name ends in.
func FormatOf(name string) (Format, error) {
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".svg"):
		return SVG, nil
	case strings.HasSuffix(lower, ".png"):
		return PNG, nil
	}
	return "", fmt.Errorf("%q: expected a name that ends in .svg or .png", name)
}

// Words are what stands around a picture.
type Words struct {
	Title  string
	Source string // what the figures rest on; wrapped below the picture
}

// A page is 16 x 11 cm: two columns of a paper, half a slide. PNG has 160 dots
// per inch, sharp on a screen at 1,008 x 693.
const (
	width  = 16 * vg.Centimeter
	height = 11 * vg.Centimeter
	dots   = 160
	margin = 4 * vg.Millimeter
)

// The colours of Okabe and Ito (2008), which the colour-blind can tell apart.
var (
	blue   = color.NRGBA{0, 114, 178, 255}
	orange = color.NRGBA{230, 159, 0, 255}
	green  = color.NRGBA{0, 158, 115, 255}
	red    = color.NRGBA{213, 94, 0, 255}
	purple = color.NRGBA{204, 121, 167, 255}
	sky    = color.NRGBA{86, 180, 233, 255}
	grey   = color.NRGBA{110, 110, 110, 255}
	pale   = color.NRGBA{225, 225, 225, 255}
	black  = color.NRGBA{20, 20, 20, 255}
)

// faint is a colour for areas.
func faint(c color.NRGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 50} }

// style is text of a size in points.
func style(size vg.Length, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign: draw.XLeft, YAlign: draw.YCenter, Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

// look gives a text our letters and leaves where it stands and how it turns.
func look(t *draw.TextStyle, size vg.Length) {
	ours := style(size, black)
	t.Color, t.Font, t.Handler = ours.Color, ours.Font, ours.Handler
}

// bare is an empty plot in our style.
func bare(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		look(&axis.Label.TextStyle, 9)
		look(&axis.Tick.Label, 8)
		axis.LineStyle = draw.LineStyle{Color: grey, Width: 0.5}
		axis.Tick.LineStyle = axis.LineStyle
		axis.Tick.Length = 3
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Label.Padding, p.Y.Label.Padding = 3, 3
	return p
}

// page is a title, a key, pictures one above the other, and the source.
type page struct {
	words    Words
	key      []entry
	pictures []*plot.Plot
}

// entry is one line of the key.
type entry struct {
	name  string
	thumb []plot.Thumbnailer
}

// explain adds a line to the key, once.
func (sheet *page) explain(name string, thumbs ...plot.Thumbnailer) {
	for _, e := range sheet.key {
		if e.name == name {
			return
		}
	}
	sheet.key = append(sheet.key, entry{name, thumbs})
}

// write lays the page out and writes it.
func (sheet *page) write(w io.Writer, f Format) error {
	if f == PNG {
		canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dots), vgimg.UseBackgroundColor(color.White))}
		sheet.layOut(draw.New(canvas))
		_, err := canvas.WriteTo(w)
		return err
	}
	canvas := vgsvg.New(width, height)
	sheet.layOut(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, finish(b.String(), sheet.words.Title))
	return err
}

// layOut draws the page.
func (sheet *page) layOut(dc draw.Canvas) {
	dc.SetColor(color.White)
	dc.Fill(dc.Path())
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	heading, small := style(11, black), style(6.5, grey)
	titles := wrap(heading, safe.Text(sheet.words.Title, 300), dc.Size().X)
	sources := wrap(small, "Source: "+safe.Text(sheet.words.Source, 560), dc.Size().X)
	top := sheet.drawKey(dc, lines(dc, heading, titles, dc.Max.Y)-3)
	bottom := dc.Min.Y + vg.Length(len(sources))*small.Font.Size*1.25
	lines(dc, small, sources, bottom)
	dc = draw.Crop(dc, 0, 0, bottom-dc.Min.Y+5, top-dc.Max.Y-5)
	rows := make([][]*plot.Plot, len(sheet.pictures))
	for i, picture := range sheet.pictures {
		rows[i] = []*plot.Plot{picture}
	}
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: 2 * vg.Millimeter}
	for i, row := range plot.Align(rows, tiles, dc) {
		sheet.pictures[i].Draw(row[0])
	}
}

// drawKey writes the key in rows below the title and returns where it ends: in
// the picture it would hide what it explains.
func (sheet *page) drawKey(dc draw.Canvas, top vg.Length) vg.Length {
	if len(sheet.key) == 0 {
		return top
	}
	const thumb, gap, high = 13, 10, 10.5
	s := style(7.5, black)
	x, y := dc.Min.X, top-high
	for _, e := range sheet.key {
		long := thumb + 3 + s.Width(e.name) + gap
		if x > dc.Min.X && x+long-gap > dc.Max.X {
			x, y = dc.Min.X, y-high
		}
		box := draw.Canvas{Canvas: dc.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y + 2}, Max: vg.Point{X: x + thumb, Y: y + high - 2}}}
		for _, t := range e.thumb {
			t.Thumbnail(&box)
		}
		dc.FillText(s, vg.Point{X: x + thumb + 3, Y: y + high/2}, e.name)
		x += long
	}
	return y
}

// lines writes text downwards from top and returns where it ends.
func lines(dc draw.Canvas, s draw.TextStyle, all []string, top vg.Length) vg.Length {
	for _, line := range all {
		top -= s.Font.Size * 1.25
		dc.FillText(s, vg.Point{X: dc.Min.X, Y: top + s.Font.Size*0.6}, line)
	}
	return top
}

// wrap breaks text where it is wider than the page.
func wrap(s draw.TextStyle, text string, width vg.Length) []string {
	var all []string
	line := ""
	for _, word := range strings.Fields(text) {
		if longer := strings.TrimSpace(line + " " + word); line == "" || s.Width(longer) <= width {
			line = longer
			continue
		}
		all = append(all, line)
		line = word
	}
	return append(all, line)
}

// finish names fonts that look the same where Liberation is missing, and gives
// the picture a title for readers that cannot see it.
func finish(svg, title string) string {
	svg = strings.ReplaceAll(svg, "font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(safe.Text(title, 300))
	return strings.Replace(svg, "<g ", "<title>"+escaped+"</title>\n<g ", 1)
}
