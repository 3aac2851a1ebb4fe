package transform

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// Geometry is a list of crops, resizes and flips of one picture with known parameters.
// Worker.Draw applies it, and writes planes instead of a tensor.
type Geometry struct {
	stages
	program *Program
}

// drawPrograms hold the weights for Draw, for all threads: by the rules of Pillow 13, and by
// those of earlier versions.
var drawPrograms = [2]Program{{pillow: 13}, {pillow: 12}}

// NewGeometry returns a Geometry for a picture of the given size; pillow is as in Output.
func NewGeometry(size image.Point, pillow int) *Geometry {
	program := &drawPrograms[0]
	if pillow != 0 && pillow < 13 {
		program = &drawPrograms[1]
	}
	return &Geometry{stages{list: append(make([]stage, 0, 1), newStage(size.X, size.Y))}, program}
}

// Crop crops to r. Pixels beyond the picture get the fill.
func (g *Geometry) Crop(r image.Rectangle, fill [3]uint8) { g.cropTo(r, fill) }

// FlipX mirrors left and right.
func (g *Geometry) FlipX() { g.flipX() }

// FlipY mirrors top and bottom.
func (g *Geometry) FlipY() { g.flipY() }

// Resize resizes the part box (left, top, right, bottom) with a filter given by its number in
// PIL.Image.Resampling. Nearest is not supported.
func (g *Geometry) Resize(size image.Point, filter int, box [4]float32) error {
	if filter < 1 || filter >= len(resampling) {
		return fmt.Errorf("resize with filter %d: one of 1 to %d is expected", filter, len(resampling)-1)
	}
	g.resizeBox(size.X, size.Y, resampling[filter], [2]float32{box[0], box[2]}, [2]float32{box[1], box[3]})
	return nil
}

// Validate returns an error if the geometry would take too much memory.
func (g *Geometry) Validate() error {
	_, err := g.checkedChoice()
	return err
}

// SourceArea returns the part of the picture that is read.
func (g *Geometry) SourceArea() image.Rectangle { return g.list[0].needRect() }

// Draw writes the planes of the result, rows without gaps: one plane if the picture is grey,
// else three. Three planes of a grey picture are equal, except for the fill.
func (w *Worker) Draw(g *Geometry, picture *planes.Picture, out [][]byte) error {
	w.program = g.program
	picture, last, err := w.upToLast(g.list, picture)
	if err != nil {
		return err
	}
	return w.runStage(last, picture, func(y int, row []byte, stride int) {
		n := last.x.canvas
		for c, plane := range out {
			copy(plane[y*n:][:n], row[c*stride:])
		}
	})
}

// Numbers are the numbers of a tensor for the 256 values of a plane.
type Numbers struct {
	dtype  string
	words  [256]uint32
	short  [256]uint16
	affine scaleShift
	fused  bool // affine gives exactly the same
}

// NewNumbers rounds the values to "float32", "float16" or "bfloat16".
func NewNumbers(values *[256]float32, dtype string) *Numbers {
	n := &Numbers{dtype: dtype}
	for i, v := range values {
		n.words[i] = math.Float32bits(v)
		switch dtype {
		case "float16":
			n.short[i] = float16(v)
		case "bfloat16":
			n.short[i] = bfloat16(v)
		}
	}
	n.fused = canNormalize(dtype) && n.findNumbers(values)
	return n
}

// findNumbers searches for a mean and a deviation that give exactly these values. What follows
// from the values themselves is only right up to some last bits.
func (n *Numbers) findNumbers(values *[256]float32) bool {
	std := 1 / (float64(values[255]) - float64(values[0]))
	mean := float32(-float64(values[0]) * std)
	for i := range 50 {
		m, s, multiplies := beside(mean, i%5), beside(float32(std), i/5%5), i >= 25
		if s != 0 && givesValues(values, m, s, multiplies) {
			n.affine.setNumbers(0, m, s, multiplies)
			return n.affine.givesNumbers(0, &n.words)
		}
	}
	return false
}

// beside returns x for i = 0, or else the first or second 32-bit float after or before it.
func beside(x float32, i int) float32 {
	towards := float32(math.Inf(1 - 2*(i%2)))
	for range (i + 1) / 2 {
		x = math.Nextafter32(x, towards)
	}
	return x
}

func givesValues(values *[256]float32, mean, std float32, multiplies bool) bool {
	for v := 255; v >= 0; v-- {
		x := float32(v) / 255
		if multiplies {
			x = float32(float32(v) * perByte)
		}
		if (x-mean)/std != values[v] {
			return false
		}
	}
	return true
}

// Write writes the numbers of pixels to dst. Other threads may read them when it returns.
func (n *Numbers) Write(dst, pixels []byte) {
	done := 0
	if n.fused {
		done = n.affine.convertPixels(dst, pixels, 0, n.dtype)
		fence()
	}
	if n.dtype == "float32" {
		convertPlane(dst[4*done:], pixels[done:], &n.words)
		return
	}
	for i := done; i < len(pixels); i++ {
		binary.LittleEndian.PutUint16(dst[2*i:], n.short[pixels[i]])
	}
}
