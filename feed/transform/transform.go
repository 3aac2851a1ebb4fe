// Package transform turns a decoded Picture into the tensor of one sample: crop,
// resize, flip, normalise, each byte touched once.
package transform

import (
	"errors"
	"image"

	"stoker/feed/decode"
)

// Op is one transform as a Spec names it, after torchvision. Fields that an op
// does not use are left out.
type Op struct {
	Name     string     `json:"op"`                      // see the table Ops
	Size     []int      `json:"size,omitempty"`          // [height, width]; resize also [shorter side]
	Scale    [2]float64 `json:"scale,omitzero"`          // random_resized_crop: area, default 0.08, 1
	Ratio    [2]float64 `json:"ratio,omitzero"`          // random_resized_crop: width / height, default 3/4, 4/3
	Filter   string     `json:"filter,omitempty"`        // "bilinear" (default), "bicubic"
	MaxSize  int        `json:"max_size,omitempty"`      // resize to the shorter side: cap on the longer one
	Padding  []int      `json:"padding,omitempty"`       // random_crop: left, top, right, bottom
	Fill     []float64  `json:"fill,omitempty"`          // random_crop: value of the padding, 0..255
	IfNeeded bool       `json:"pad_if_needed,omitempty"` // random_crop
	P        *float64   `json:"p,omitempty"`             // flips, default 0.5
	Mean     []float64  `json:"mean,omitempty"`          // normalize
	Std      []float64  `json:"std,omitempty"`           // normalize
}

// Output is the form of a sample's tensor.
type Output struct {
	DType  string `json:"dtype"`  // "uint8", "float16", "bfloat16", "float32"
	Layout string `json:"layout"` // "nchw", "channels_last"
}

// Program is a compiled list of Ops; safe for use by several threads.
type Program struct{}

// Compile checks the ops, in torchvision's order, and fuses them. fast resizes
// planes directly (bounded error) instead of giving Pillow's bytes.
func Compile(ops []Op, out Output, fast bool) (*Program, error) { return nil, errors.New("not yet") }

// Shape is height and width of every sample's tensor; it always has 3 channels.
func (p *Program) Shape() (height, width int) { return 0, 0 }

// Bytes is the size of a sample's tensor.
func (p *Program) Bytes() int { return 0 }

// Choice is what chance decided for one sample: crop boxes and flips.
type Choice struct{}

// Choose draws the parameters of one sample of the given size.
func (p *Program) Choose(width, height int, seed, epoch, sample uint64) (Choice, error) {
	return Choice{}, errors.New("not yet")
}

// Need is the part of the image that the choice reads.
func (p *Program) Need(c Choice) image.Rectangle { return image.Rectangle{} }

// Worker holds the scratch memory of one thread; calls must not overlap.
type Worker struct{}

// NewWorker returns a Worker of any Program.
func NewWorker() *Worker { return &Worker{} }

// Apply writes the sample's tensor into dst, which has p.Bytes() bytes.
func (w *Worker) Apply(p *Program, c Choice, picture *decode.Picture, dst []byte) error {
	return errors.New("not yet")
}
