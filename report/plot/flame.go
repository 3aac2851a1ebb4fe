package plot

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/quantity"
)

// Sizes of a flame graph in pixels. Boxes narrower than leastFlame are left out, because they
// are invisible.
const (
	flameWidth = 1200.
	flameRow   = 17.
	flameText  = 10.5
	leastFlame = 0.4
)

// Flame draws how host threads spent their time: width is time, and a box below another was
// called within it. Each box shows its name and time as a tooltip.
func Flame(w io.Writer, title Captions, root *flame.Node) error {
	if root.Time <= 0 {
		return errors.New(
			"draw flame graph: nothing of the host was recorded in the judged window, expected calls or frames")
	}
	c := &canvas{}
	c.drawText(dot{margin, margin + 7}, textStyle{14, black, "start", false}, title.Title)
	f := flames{c: c, whole: float64(root.Time), scale: (flameWidth - 2*margin) / float64(root.Time)}
	f.draw(root, margin, 2*margin+8)
	end := f.deepest + flameRow + 10
	for _, line := range wrap("Source: "+title.Source, 8.5, flameWidth-2*margin) {
		c.drawText(dot{margin, end}, textStyle{8.5, grey, "start", false}, line)
		end += 12
	}
	_, err := fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" font-family="'Liberation Sans',Arial,Helvetica,sans-serif">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, formatCoordinate(flameWidth), formatCoordinate(end), formatCoordinate(flameWidth), formatCoordinate(end),
		escapeXML(title.Title), c.b.String())
	return err
}

// flames draws a tree.
type flames struct {
	c            *canvas
	whole, scale float64 // time of the root, and pixels per nanosecond
	deepest      float64
}

// draw draws a node and its children.
func (f *flames) draw(n *flame.Node, left, top float64) {
	wide := float64(n.Time) * f.scale
	if wide < leastFlame {
		return
	}
	f.deepest = max(f.deepest, top)
	f.c.addElement(`<g><title>%s</title>`,
		escapeXML(fmt.Sprintf("%s, %s, %s", n.Name, quantity.AboutSeconds(float64(n.Time)/1e9),
			quantity.Percent(float64(n.Time)/f.whole))))
	f.c.rect(box{left, top, left + wide, top + flameRow - 1}, colourOfNode(n.Name), white)
	if letters := int((wide - 4) / (0.54 * flameText)); letters >= 3 {
		f.c.drawText(dot{left + 2, top + flameRow/2}, textStyle{flameText, black, "start", false},
			ending(n.Name, letters))
	}
	f.c.addElement("</g>")
	for _, child := range n.Children {
		f.draw(child, left, top+flameRow)
		left += float64(child.Time) * f.scale
	}
}

// ending cuts a name to a number of characters; of a frame it keeps the end, which is the
// function.
func ending(name string, most int) string {
	r := []rune(name)
	switch {
	case len(r) <= most:
		return name
	case strings.Contains(name, ".py("):
		return "…" + string(r[len(r)-most+1:])
	}
	return string(r[:most-1]) + "…"
}

// colourOfNode distinguishes frames, calls of the runtime and the rest.
func colourOfNode(name string) string {
	switch {
	case strings.Contains(name, ".py("), strings.HasPrefix(name, "nn.Module"), strings.HasPrefix(name, "<built-in"):
		return orange
	case strings.HasPrefix(name, "cuda"), strings.HasPrefix(name, "hip"), strings.HasPrefix(name, "cu"):
		return red
	case strings.Contains(name, "::"):
		return sky
	}
	return pale
}
