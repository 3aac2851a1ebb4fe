package picture

import (
	"image"

	"github.com/stoker-dev/stoker/feed/transform"
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

	largest int // pixels of a picture between two steps
}

// Output describes what Run writes: numbers in the order of Shape, without gaps.
type Output struct {
	DType string // "uint8", "float32", "float16", "bfloat16"
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

// NeededMemory returns about how many bytes Run takes, besides the decoding of a file.
func (p *Program) NeededMemory() int { return 3 * 4 * p.largest }

var sizes = map[string]int{"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4}

// step does one thing to the worker's picture.
type step func(w *Worker) error

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
	least, most int // number of arguments
	compile     func(*compiler, *arguments)
	functions   string // of libraries, that the client records as this operation
}

// operations are the supported ops by name. operations.go has the table.
var operations map[string]operation

// addStep appends a step. Earlier crops cannot be combined with later ones across it.
func (c *compiler) addStep(s step) {
	c.open = nil
	c.program.steps = append(c.program.steps, s)
}

// segment is a sequence of crops, flips and resizes in one mode that are done together.
type segment struct {
	bands    int
	size     image.Point // of the result
	geometry *transform.Geometry
	idle     bool // nothing has to be done
}

// outputForm says how to write a picture: its bytes, or the number that each becomes.
type outputForm struct {
	planes bool                 // bands one after the other, instead of interleaved
	table  []*transform.Numbers // for each band; nil: bytes
}
