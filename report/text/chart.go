package text

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker/internal/stat"
)

// A canvas draws lines with braille characters of 2 x 4 dots each. It is written here because
// the terminal is where curves are first viewed, and it takes only 100 lines.

// dot is a point in the chart's coordinates.
type dot struct{ x, y float64 }

// line is a list of dots from left to right.
type line []dot

// frame holds the texts around a chart.
type frame struct {
	left, right, bottom string
	format              func(float64) string // of the y axis
	fromZero            bool
}

type canvas struct {
	frame
	columns, rows int
	low, high     dot
	fitted        bool
	cells         [][]uint8 // dots of each character
	letters       map[[2]int]rune
}

func newCanvas(columns, rows int, f frame) *canvas {
	c := &canvas{frame: f, columns: max(columns, 10), rows: rows, letters: map[[2]int]rune{}}
	c.cells = make([][]uint8, rows)
	for i := range c.cells {
		c.cells[i] = make([]uint8, c.columns)
	}
	return c
}

// fit widens the axes so that all lines fit; unknown dots are ignored.
func (c *canvas) fit(lines ...line) {
	for _, l := range lines {
		for _, d := range l {
			if !stat.Finite(d.x) || !stat.Finite(d.y) {
				continue
			}
			if !c.fitted {
				c.low, c.high, c.fitted = d, d, true
			}
			c.low = dot{math.Min(c.low.x, d.x), math.Min(c.low.y, d.y)}
			c.high = dot{math.Max(c.high.x, d.x), math.Max(c.high.y, d.y)}
		}
	}
	if c.fromZero {
		c.low.y = 0
	}
	if c.high.x == c.low.x {
		c.high.x++
	}
	if c.high.y == c.low.y {
		c.high.y++
	}
}

// toDots converts a point to columns and rows of braille dots, from the top left.
func (c *canvas) toDots(d dot) (x, y float64) {
	x = (d.x - c.low.x) / (c.high.x - c.low.x) * float64(2*c.columns-1)
	y = (c.high.y - d.y) / (c.high.y - c.low.y) * float64(4*c.rows-1)
	return x, y
}

// braille holds the bits of a character's dots, by row and column (Unicode block "Braille
// Patterns").
var braille = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (c *canvas) set(x, y float64) {
	i, j := int(math.Round(y)), int(math.Round(x))
	if i < 0 || j < 0 || i >= 4*c.rows || j >= 2*c.columns {
		return
	}
	c.cells[i/4][j/2] |= braille[i%4][j%2]
}

// draw joins the dots of a line; unknown dots interrupt it.
func (c *canvas) draw(l line) { c.drawStroke(l, 1) }

// dots draws every fourth dot of a line.
func (c *canvas) dots(l line) { c.drawStroke(l, 4) }

func (c *canvas) drawStroke(l line, each int) {
	for i := 1; i < len(l); i++ {
		a, b := l[i-1], l[i]
		if !stat.Finite(a.x) || !stat.Finite(a.y) || !stat.Finite(b.x) || !stat.Finite(b.y) {
			continue
		}
		x0, y0 := c.toDots(a)
		x1, y1 := c.toDots(b)
		n := int(math.Min(1e4, math.Ceil(math.Max(math.Abs(x1-x0), math.Abs(y1-y0))))) + 1
		for k := 0; k <= n; k += each {
			part := float64(k) / float64(n)
			c.set(x0+part*(x1-x0), y0+part*(y1-y0))
		}
	}
}

// mark writes a letter at a point.
func (c *canvas) mark(d dot, letter rune) {
	x, y := c.toDots(d)
	i, j := int(y)/4, int(x)/2
	if stat.Finite(x) && stat.Finite(y) && i >= 0 && j >= 0 && i < c.rows && j < c.columns {
		c.letters[[2]int{i, j}] = letter
	}
}

// drawChart returns the chart with its axes.
func (c *canvas) drawChart() string {
	var b strings.Builder
	top, middle, bottom := c.format(c.high.y), c.format((c.low.y+c.high.y)/2), c.format(c.low.y)
	width := max(cellWidth(top), cellWidth(middle), cellWidth(bottom))
	for i, row := range c.cells {
		label := ""
		switch i {
		case 0:
			label = top
		case c.rows / 2:
			label = middle
		case c.rows - 1:
			label = bottom
		}
		var cells strings.Builder
		for j, bits := range row {
			letter, marked := c.letters[[2]int{i, j}]
			switch {
			case marked:
				cells.WriteRune(letter)
			case bits == 0:
				cells.WriteByte(' ')
			default:
				cells.WriteRune(rune(0x2800 + int(bits)))
			}
		}
		b.WriteString(strings.TrimRight("  "+strings.Repeat(" ", width-cellWidth(label))+label+" │"+cells.String(),
			" ") + "\n")
	}
	b.WriteString("  " + strings.Repeat(" ", width) + " └" + strings.Repeat("─", c.columns) + "\n")
	space := max(1, c.columns-cellWidth(c.left)-cellWidth(c.right)-cellWidth(c.bottom))
	before := space / 2
	b.WriteString("  " + strings.Repeat(" ", width+2) + c.left + strings.Repeat(" ", before) + c.bottom +
		strings.Repeat(" ", max(1, space-before)) + c.right + "\n")
	return b.String()
}
