package transform

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// Geometry is a list of crops, resizes and flips of one picture whose parameters are
// known. Worker.Draw takes a picture through it, into planes instead of a tensor.
type Geometry struct {
	stages
	program *Program
}

// drawPrograms have the weights of what is drawn, for all threads: by Pillow 13's rules, and
// by those of the versions before it.
var drawPrograms = [2]Program{{pillow: 13}, {pillow: 12}}

// NewGeometry begins with a picture of that size; pillow is as in Output.
func NewGeometry(size image.Point, pillow int) *Geometry {
	program := &drawPrograms[0]
	if pillow != 0 && pillow < 13 {
		program = &drawPrograms[1]
	}
	return &Geometry{stages{list: append(make([]stage, 0, 1), newStage(size.X, size.Y))}, program}
}

// Crop keeps r; what of it lies beyond the picture gets the fill.
func (g *Geometry) Crop(r image.Rectangle, fill [3]uint8) { g.cropTo(r, fill) }

// FlipX mirrors left and right, FlipY top and bottom.
func (g *Geometry) FlipX() { g.flipX() }

// FlipY mirrors top and bottom.
func (g *Geometry) FlipY() { g.flipY() }

// Resize resizes the part box (left, top, right, bottom) with a filter that has its
// number in PIL.Image.Resampling, but for nearest.
func (g *Geometry) Resize(size image.Point, filter int, box [4]float32) error {
	if filter < 1 || filter >= len(resampling) {
		return fmt.Errorf("resize with filter %d: one of 1 to %d is expected", filter, len(resampling)-1)
	}
	g.resizeBox(size.X, size.Y, resampling[filter], [2]float32{box[0], box[2]}, [2]float32{box[1], box[3]})
	return nil
}

// Validate says what of the geometry would take too much memory.
func (g *Geometry) Validate() error {
	_, err := g.checkedChoice()
	return err
}

// SourceArea is the part of the picture that is read.
func (g *Geometry) SourceArea() image.Rectangle { return g.list[0].needRect() }

// Draw writes the planes of the result, rows without gaps: one plane where the picture
// is grey, else three; three of a grey picture are equal but for the fill.
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

// Numbers are what the 256 values of a plane become in a tensor.
type Numbers struct {
	dtype  string
	words  [256]uint32
	short  [256]uint16
	affine scaleShift
	fused  bool // affine gives them to the bit
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

// findNumbers looks for the mean and the deviation that make these values of pixels: what the
// values tell of them is off by some of their last bits.
func (n *Numbers) findNumbers(values *[256]float32) bool {
	std := 1 / (float64(values[255]) - float64(values[0]))
	mean := float32(-float64(values[0]) * std)
	for i := range 50 {
		m, s, multiplies := beside(mean, i%5), beside(float32(std), i/5%5), i >= 25
		if s != 0 && normalised(values, m, s, multiplies) {
			n.affine.setNumbers(0, m, s, multiplies)
			return n.affine.givesNumbers(0, &n.words)
		}
	}
	return false
}

// beside is x or the first or second number of 32 bits after or before it.
func beside(x float32, i int) float32 {
	towards := float32(math.Inf(1 - 2*(i%2)))
	for range (i + 1) / 2 {
		x = math.Nextafter32(x, towards)
	}
	return x
}

func normalised(values *[256]float32, mean, std float32, multiplies bool) bool {
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

// Write writes the numbers of pixels to dst, for others to read when it returns.
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

// Append appends a number that is no pixel's.
func Append(dst []byte, v float32, dtype string) []byte {
	switch dtype {
	case "float16":
		return binary.LittleEndian.AppendUint16(dst, float16(v))
	case "bfloat16":
		return binary.LittleEndian.AppendUint16(dst, bfloat16(v))
	}
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}
