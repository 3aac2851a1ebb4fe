package picture

import (
	"encoding/json"
	"fmt"
	"image"
	"slices"
)

// Limits on a program, far above what a script does to a picture in training.
const (
	longestText = 16 << 20 // bytes; includes noise for erased parts of a picture
	mostOps     = 256
	longestSide = 1 << 20
	mostPixels  = 1 << 25 // of a picture between two steps
)

// Program says what to do to a picture. It is safe for concurrent use.
type Program struct {
	Output Output

	mode   string // of the source
	size   image.Point
	turned bool // the source is wanted as RGB in any mode
	first  *segment
	steps  []step
	end    *outputForm

	veils   bool // it converts a mode without transparency to one with
	largest int  // pixels of a picture between two steps
}

// Output describes what Run writes: numbers in the order of Shape, without gaps.
type Output struct {
	DType string // "uint8", "bool" (a byte each), "float32", "float16", "bfloat16"
	Shape []int  // height, width and, if there are several, bands; for a tensor bands, height, width
	Mode  string // Pillow's mode of the picture
}

// Bytes returns the number of bytes that Run writes.
func (o *Output) Bytes() int {
	n := sizes[o.DType]
	for _, side := range o.Shape {
		n *= side
	}
	return n
}

// readsWhole reports whether a file is decoded as a whole, even if it is cropped.
func (p *Program) readsWhole() bool { return !p.turned && p.mode != "L" && p.mode != "RGB" }

// NeededMemory returns about how many bytes Run takes, besides the decoding of a file.
func (p *Program) NeededMemory() int { return 3 * 4 * p.largest }

var sizes = map[string]int{"uint8": 1, "bool": 1, "float16": 2, "bfloat16": 2, "float32": 4}

// RefusalError says which part of a program is not supported to Pillow's byte. Pillow has to do
// it.
type RefusalError struct {
	Op   int    // its position among the ops, from 0; -1: the source
	Text string // the rejected case
}

func (r *RefusalError) Error() string {
	if r.Op < 0 {
		return "source: " + r.Text
	}
	return fmt.Sprintf("op %d: %s", r.Op, r.Text)
}

// step does one thing to the worker's picture.
type step func(w *Worker) error

// Parse checks a program: {"mode": "RGB", "size": [width, height], "ops": [["crop", 0, 0, 9,
// 9], ...]}. mode and size describe the source. "pillow" is the major version whose bytes are
// wanted, by default 13. Other fields are ignored. An error that is not a *RefusalError means
// that the program is invalid.
func Parse(text []byte) (*Program, error) {
	if len(text) > longestText {
		return nil, fmt.Errorf("read program: %d bytes, more than %d", len(text), longestText)
	}
	var form struct {
		Mode   string
		Size   []int
		Ops    [][]any
		Pillow int
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, fmt.Errorf("read program: %w", err)
	}
	switch {
	case len(form.Ops) > mostOps:
		return nil, fmt.Errorf("read program: %d ops, more than %d", len(form.Ops), mostOps)
	case len(form.Size) != 2 || slices.Min(form.Size) < 1 || slices.Max(form.Size) > longestSide:
		return nil, fmt.Errorf("read program: size %.60s: a width and a height from 1 to %d are expected",
			fmt.Sprint(form.Size), longestSide)
	}
	size := image.Point{form.Size[0], form.Size[1]}
	c := compiler{program: Program{mode: form.Mode, size: size}, mode: form.Mode, size: size, pillow: form.Pillow}
	if err := c.compile(form.Ops); err != nil {
		return nil, err
	}
	return &c.program, nil
}

// compiler follows the picture from op to op.
type compiler struct {
	program Program
	mode    string
	size    image.Point
	pillow  int
	open    *segment // the segment that takes further crops, resizes and flips; nil: none does
}

// operation describes an op without its arguments.
type operation struct {
	least, most int  // number of arguments
	tensor      bool // it works on a tensor
	compile     func(*compiler, *arguments)
}

// operations are the supported ops by name. operations.go has the table.
var operations map[string]operation

func (c *compiler) compile(ops [][]any) error {
	if !sources[c.program.mode] {
		return &RefusalError{-1, fmt.Sprintf("pictures of mode %.20q", c.mode)}
	}
	first := 0
	if len(ops) > 0 && len(ops[0]) == 2 && ops[0][0] == "convert" && ops[0][1] == "RGB" {
		// Files are decoded to RGB even if their mode is not supported here.
		c.program.turned, c.mode, first = true, "RGB", 1
	}
	if bands[c.mode] == 0 {
		return &RefusalError{-1, fmt.Sprintf("pictures of mode %q that are not converted to RGB first", c.mode)}
	}
	if c.program.readsWhole() {
		if c.program.largest = c.size.X * c.size.Y; c.program.largest > mostPixels {
			return &RefusalError{
				-1,
				fmt.Sprintf("a picture of %v in mode %q, of more than %d pixels", c.size, c.mode, mostPixels),
			}
		}
	}
	c.open = c.newSegment()
	c.program.first = c.open
	for i := first; i < len(ops); i++ {
		if err := c.compileOp(i, ops[i]); err != nil {
			return err
		}
	}
	if c.program.end == nil {
		if err := c.compileOp(len(ops), []any{"tobytes"}); err != nil {
			return err
		}
	}
	c.program.end.makeTables()
	return nil
}

func (c *compiler) compileOp(at int, op []any) error {
	if len(op) == 0 {
		return fmt.Errorf("read program: op %d has no name", at)
	}
	name, ok := op[0].(string)
	if !ok {
		return fmt.Errorf("read program: op %d begins with %.60s: its name is expected", at, fmt.Sprint(op[0]))
	}
	known, ok := operations[name]
	if !ok {
		return &RefusalError{at, fmt.Sprintf("%.40q", name)}
	}
	a := &arguments{op: at, name: name, list: op[1:]}
	switch n := len(a.list); {
	case n < known.least || n > known.most:
		return fmt.Errorf("read program: op %d, %s: %d arguments, %d to %d are expected", at, name, n, known.least,
			known.most)
	case known.tensor != (c.program.end != nil):
		a.refuse("it is not for a tensor, or only for one")
	default:
		known.compile(c, a)
	}
	if a.err == nil {
		c.checkSize(a)
	}
	return a.err
}

// addStep appends a step. Earlier crops cannot be combined with later ones across it.
func (c *compiler) addStep(s step) {
	c.open = nil
	c.program.steps = append(c.program.steps, s)
}

func (c *compiler) checkSize(a *arguments) {
	c.program.largest = max(c.program.largest, c.size.X*c.size.Y)
	switch {
	case c.size.X < 1 || c.size.Y < 1:
		a.refuse("a picture of %d x %d pixels", c.size.X, c.size.Y)
	case c.size.X*c.size.Y > mostPixels:
		a.refuse("a picture of %d x %d pixels, more than %d", c.size.X, c.size.Y, mostPixels)
	case c.open != nil:
		if err := c.open.checkSizes(); err != nil {
			a.refuse("%v", err)
		}
	}
}
