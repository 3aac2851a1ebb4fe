package picture

import (
	"encoding/json"
	"fmt"
	"image"
	"slices"
)

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

func (c *compiler) compile(ops [][]any) error {
	first := 0
	if len(ops) > 0 && len(ops[0]) == 2 && ops[0][0] == "convert" && ops[0][1] == "RGB" {
		// Files are decoded to RGB even if their mode is not supported here.
		c.program.turned, c.mode, first = true, "RGB", 1
	}
	if bands[c.mode] == 0 {
		return &RefusalError{-1, fmt.Sprintf("pictures of mode %.20q that are not converted to RGB first", c.mode)}
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
	case c.program.end != nil:
		a.refuse("it comes behind the end")
	default:
		known.compile(c, a)
	}
	if a.err == nil {
		c.checkSize(a)
	}
	return a.err
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
