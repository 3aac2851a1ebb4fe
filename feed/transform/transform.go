// Package transform turns a decoded Picture into the tensor of one sample: it crops, resizes,
// flips and normalises, and touches each byte once. The result has exactly the bytes of
// torchvision on Pillow images.
//
// A Program is compiled once from a list of Ops. For each sample, Choose makes the random
// choices, SourceArea returns the part of the image that must be decoded, and Apply writes the
// tensor:
//
//	Op -> step -> stages of two axes (geometry.go) -> weights (filter.go)
//	Picture -> rows (planes.RowReader) -> two passes (resample.go) -> tensor (tensor.go)
//
// It reads no files and knows no batches.
package transform

import (
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/decode/planes"
	"github.com/stoker-dev/stoker/feed/order"
)

// Compile checks the ops, which have torchvision's order, and combines them.
func Compile(ops []Op, out Output) (*Program, error) {
	p := &Program{pillow: out.Pillow}
	size := fixedSize{}
	value := numberMeaning{}
	for i, op := range ops {
		compile, ok := allOps[op.Name]
		if !ok {
			return nil, fmt.Errorf("op %d: %q is not a known transform: %s", i, op.Name, opNames())
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

// TensorShape returns height and width of every sample's tensor, which always has 3 channels.
func (p *Program) TensorShape() (height, width int) { return p.form.height, p.form.width }

// Bytes returns the size of a sample's tensor.
func (p *Program) Bytes() int { return 3 * p.form.height * p.form.width * p.form.bytes }

// Choose makes the random choices for one sample of the given size.
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

// SourceArea returns the part of the image that the choice reads.
func (p *Program) SourceArea(c Choice) image.Rectangle { return c.stages[0].needRect() }

// Apply writes the sample's tensor to dst, which has p.Bytes() bytes. It writes dst once and
// never reads it, as the trainer reads that memory next. The writes are complete when Apply
// returns.
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

// upToLast applies all stages except the last one.
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
