// Package transform turns a decoded Picture into the tensor of one sample: crop,
// resize, flip, normalise, each byte touched once. The reference is torchvision on
// Pillow images, and the bytes are theirs.
//
// A Program is compiled once from a list of Ops. For each sample Choose lets chance
// decide, Need says which part of the image has to be decoded, and Apply writes the
// tensor:
//
//	Op -> step -> stages of two axes (geometry.go) -> weights (filter.go)
//	Picture -> rows (planes.RowReader) -> two passes (resample.go) -> tensor (tensor.go)
//
// It reads no file and knows no batch.
package transform

import (
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/order"
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
	// Pillow is the major version of the Pillow whose bytes are meant, default 13.
	// Before 13 some resizes differ in single bits, see verticalFirst.
	Pillow int `json:"pillow,omitempty"`
}

// Program is a compiled list of Ops; safe for use by several threads.
type Program struct {
	steps  []step
	form   form
	pillow int
	cache  weightCache
}

// Compile checks the ops, in torchvision's order, and fuses them.
func Compile(ops []Op, out Output) (*Program, error) {
	p := &Program{pillow: out.Pillow}
	size := fixedSize{}
	value := numberMeaning{}
	for i, op := range ops {
		compile, ok := allOps[op.Name]
		if !ok {
			return nil, fmt.Errorf("op %d: %q is no transform that is known here: %s", i, op.Name, opNames())
		}
		s, err := compile(op, &value)
		if err != nil {
			return nil, fmt.Errorf("op %d: %s: %w", i, op.Name, err)
		}
		s.operation = uint32(i)
		if s.extent != nil {
			size = s.extent(size)
		}
		if s.do != nil {
			p.steps = append(p.steps, s)
		}
	}
	if size.width == 0 {
		return nil, fmt.Errorf("the images come out in different sizes: end with a transform that gives one size, " +
			"such as center_crop, random_crop, random_resized_crop or resize to [height, width]")
	}
	var err error
	p.form, err = newForm(out, value, size)
	return p, err
}

// TensorShape is height and width of every sample's tensor; it always has 3 channels.
func (p *Program) TensorShape() (height, width int) { return p.form.height, p.form.width }

// Bytes is the size of a sample's tensor.
func (p *Program) Bytes() int { return 3 * p.form.height * p.form.width * p.form.bytes }

// Choice is what chance decided for one sample: crop boxes and flips.
type Choice struct {
	stages []stage
}

// Choose draws the parameters of one sample of the given size.
func (p *Program) Choose(width, height int, seed, epoch, sample uint64) (Choice, error) {
	if width < 1 || height < 1 {
		return Choice{},
			fmt.Errorf("an image of %d x %d pixels cannot be transformed: it needs at least one pixel each way",
				width, height)
	}
	s := stages{list: append(make([]stage, 0, 2), newStage(width, height))}
	for _, step := range p.steps {
		draws := order.NewDraws(seed, epoch, sample, step.operation)
		if err := step.do(&s, &draws); err != nil {
			return Choice{}, err
		}
	}
	return s.checkedChoice()
}

// SourceArea is the part of the image that the choice reads.
func (p *Program) SourceArea(c Choice) image.Rectangle { return c.stages[0].needRect() }

// Apply writes the sample's tensor into dst, which has p.Bytes() bytes. dst is
// written once and never read, as it is memory that a trainer reads next; the writes
// are complete when Apply returns.
func (w *Worker) Apply(p *Program, c Choice, picture *planes.Picture, dst []byte) error {
	if len(dst) != p.Bytes() {
		return fmt.Errorf("a tensor of %d bytes was asked for where one of %d bytes is written", len(dst), p.Bytes())
	}
	w.program = p
	picture, last, err := w.upToLast(c.stages, picture)
	if err != nil {
		return err
	}
	w.tensor.beginTensor(&p.form, dst, w.simd)
	defer w.tensor.endTensor()
	return w.runStage(last, picture, w.tensor.putRow)
}

// upToLast takes a picture through all stages but the last one.
func (w *Worker) upToLast(list []stage, picture *planes.Picture) (*planes.Picture, *stage, error) {
	if size := (image.Point{list[0].x.in, list[0].y.in}); picture.Size != size {
		return nil, nil, fmt.Errorf("the choice was made for an image of %v, the picture is of %v", size, picture.Size)
	}
	last := len(list) - 1
	for i := range list[:last] {
		between := w.imageBehind(i, &list[i])
		if err := w.runStage(&list[i], picture, between.putRow); err != nil {
			return nil, nil, err
		}
		picture = &between.picture
	}
	return picture, &list[last], nil
}
