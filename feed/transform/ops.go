package transform

import (
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/feed/order"
)

// Op is a transform in a Spec, named after torchvision's. Fields that an op does not use are
// omitted.
type Op struct {
	Name     string     `json:"op"`                      // a name in allOps
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

// allOps are the supported transforms by name, with their compile functions.
var allOps = map[string]func(Op, *numberMeaning) (step, error){
	"resize":                 compileResize,
	"center_crop":            compileCenterCrop,
	"random_resized_crop":    compileRandomResizedCrop,
	"random_crop":            compileRandomCrop,
	"random_horizontal_flip": compileFlip((*stages).flipX),
	"random_vertical_flip":   compileFlip((*stages).flipY),
	"pil_to_tensor":          compileToTensor(false),
	"to_tensor":              compileToTensor(true),
	"normalize":              compileNormalize,
}

func opNames() string {
	return strings.Join(slices.Sorted(maps.Keys(allOps)), ", ")
}

// step is a compiled Op.
type step struct {
	operation uint32                            // number of its stream of draws
	extent    func(fixedSize) fixedSize         // changes the size; nil: no change
	do        func(*stages, *order.Draws) error // nil: nothing to do per sample
}

// fixedSize is the size of the images at this point if it is the same for all, else 0.
type fixedSize struct {
	width, height int
}

// numberMeaning says what the numbers of the tensor mean.
type numberMeaning struct {
	tensor    bool // it is a tensor already: only flips and normalize may follow
	unit      bool // 0..1 instead of 0..255
	mean, std []float64
}

var errTensor = errors.New(
	"it comes after the conversion to a tensor: put it in front, where Pillow's pixels are defined")

func compileResize(op Op, v *numberMeaning) (step, error) {
	f, err := op.filterOf()
	switch {
	case err != nil:
		return step{}, err
	case v.tensor:
		return step{}, errTensor
	case len(op.Size) == 0 || len(op.Size) > 2 || slices.Min(op.Size) < 1:
		return step{}, fmt.Errorf("size %v: [shorter side] or [height, width] is expected, each at least 1", op.Size)
	case op.MaxSize != 0 && len(op.Size) == 2:
		return step{}, errors.New("max_size goes with a size of one number, the shorter side")
	case op.MaxSize != 0 && op.MaxSize <= op.Size[0]:
		return step{}, fmt.Errorf("max_size %d must be larger than the shorter side, %d", op.MaxSize, op.Size[0])
	}
	return step{
		extent: func(in fixedSize) fixedSize {
			if len(op.Size) == 1 && in.width == 0 {
				return fixedSize{}
			}
			return op.resizedSize(in)
		},
		do: func(s *stages, _ *order.Draws) error {
			w, h := s.canvasSize()
			to := op.resizedSize(fixedSize{w, h})
			if to.width < 1 || to.height < 1 {
				return fmt.Errorf("resize of %d x %d pixels to %d x %d: it needs at least one pixel each way", w, h,
					to.width, to.height)
			}
			s.resize(to.width, to.height, f)
			return nil
		},
	}, nil
}

// resizedSize is torchvision's _compute_resized_image_output_size.
func (op *Op) resizedSize(in fixedSize) fixedSize {
	if len(op.Size) == 2 {
		return fixedSize{width: op.Size[1], height: op.Size[0]}
	}
	short, long := min(in.width, in.height), max(in.width, in.height)
	newShort := op.Size[0]
	newLong := int(float64(newShort*long) / float64(short))
	if op.MaxSize != 0 && newLong > op.MaxSize {
		newShort, newLong = int(float64(op.MaxSize*newShort)/float64(newLong)), op.MaxSize
	}
	if in.width <= in.height {
		return fixedSize{newShort, newLong}
	}
	return fixedSize{newLong, newShort}
}

func compileCenterCrop(op Op, v *numberMeaning) (step, error) {
	size, err := op.cropSize(v)
	return step{
		extent: func(fixedSize) fixedSize { return size },
		do: func(s *stages, _ *order.Draws) error {
			w, h := s.canvasSize()
			left, top := centreOffset(w, size.width), centreOffset(h, size.height)
			s.cropTo(image.Rect(left, top, left+size.width, top+size.height), [3]uint8{})
			return nil
		},
	}, err
}

// centreOffset returns where torchvision's center_crop begins. It first pads an image that is too
// small, with the odd pixel at its end.
func centreOffset(have, want int) int {
	if have < want {
		return -((want - have) / 2)
	}
	return int(math.RoundToEven(float64(have-want) / 2))
}

func compileRandomResizedCrop(op Op, v *numberMeaning) (step, error) {
	size, err := op.cropSize(v)
	if err != nil {
		return step{}, err
	}
	f, err := op.filterOf()
	if err != nil {
		return step{}, err
	}
	scale, ratio := op.Scale, op.Ratio
	if scale == [2]float64{} {
		scale = [2]float64{0.08, 1}
	}
	if ratio == [2]float64{} {
		ratio = [2]float64{3. / 4, 4. / 3}
	}
	if !(scale[0] > 0 && scale[0] <= scale[1]) || !(ratio[0] > 0 && ratio[0] <= ratio[1]) ||
		math.IsInf(scale[1]+ratio[1], 0) {
		return step{},
			fmt.Errorf("scale %v and ratio %v must each be two positive numbers, the smaller first", scale, ratio)
	}
	return step{
		extent: func(fixedSize) fixedSize { return size },
		do: func(s *stages, d *order.Draws) error {
			w, h := s.canvasSize()
			s.cropTo(drawResizedCrop(d, w, h, scale, ratio), [3]uint8{})
			s.resize(size.width, size.height, f)
			return nil
		},
	}, nil
}

func compileRandomCrop(op Op, v *numberMeaning) (step, error) {
	size, err := op.cropSize(v)
	if err != nil {
		return step{}, err
	}
	fill, err := op.fillColour()
	if err != nil {
		return step{}, err
	}
	padding := [4]int{}
	if n := copy(padding[:], op.Padding); n != len(op.Padding) || n != 0 && n != 4 || slices.Min(padding[:]) < 0 {
		return step{},
			fmt.Errorf("padding %v: [left, top, right, bottom] is expected, none of them negative", op.Padding)
	}
	return step{
		extent: func(fixedSize) fixedSize { return size },
		do: func(s *stages, d *order.Draws) error {
			w, h := s.canvasSize()
			area := image.Rect(-padding[0], -padding[1], w+padding[2], h+padding[3])
			if op.IfNeeded {
				x, y := max(0, size.width-area.Dx()), max(0, size.height-area.Dy())
				area = image.Rect(area.Min.X-x, area.Min.Y-y, area.Max.X+x, area.Max.Y+y)
			}
			if area.Dx() < size.width || area.Dy() < size.height {
				return fmt.Errorf(
					"random_crop of %d x %d pixels from an image of %d x %d (with its padding): it is too small: set "+
						"pad_if_needed or resize first",
					size.width, size.height, area.Dx(), area.Dy())
			}
			crop := image.Rect(0, 0, size.width, size.height)
			if area.Size() != crop.Size() { // without a choice torchvision draws nothing
				crop = drawCrop(d, area.Dx(), area.Dy(), size.width, size.height)
			}
			s.cropTo(crop.Add(area.Min), fill)
			return nil
		},
	}, nil
}

func compileFlip(flip func(*stages)) func(Op, *numberMeaning) (step, error) {
	return func(op Op, _ *numberMeaning) (step, error) {
		p := 0.5
		if op.P != nil {
			p = *op.P
		}
		if !(p >= 0 && p <= 1) {
			return step{}, fmt.Errorf("p %v: a probability from 0 to 1 is expected", p)
		}
		return step{do: func(s *stages, d *order.Draws) error {
			if drawFlip(d, p) {
				flip(s)
			}
			return nil
		}}, nil
	}
}

func compileToTensor(unit bool) func(Op, *numberMeaning) (step, error) {
	return func(_ Op, v *numberMeaning) (step, error) {
		if v.tensor {
			return step{}, errors.New("the image is a tensor already")
		}
		v.tensor, v.unit = true, unit
		return step{}, nil
	}
}

func compileNormalize(op Op, v *numberMeaning) (step, error) {
	if !v.unit {
		return step{}, errors.New("it works on the numbers 0..1 that to_tensor gives: put to_tensor in front")
	}
	if v.mean != nil {
		return step{}, errors.New("it is there twice: join the two")
	}
	for _, list := range [][]float64{op.Mean, op.Std} {
		if len(list) != 1 && len(list) != 3 {
			return step{},
				fmt.Errorf("mean %v, std %v: one number or three, for red, green, blue, are expected", op.Mean, op.Std)
		}
	}
	for _, s := range op.Std {
		if float32(s) == 0 || math.IsInf(s, 0) || math.IsNaN(s) {
			return step{}, fmt.Errorf("std %v: it is divided by, so no value may be 0", op.Std)
		}
	}
	v.mean, v.std = op.Mean, op.Std
	return step{}, nil
}

func (op *Op) filterOf() (*filter, error) {
	if f, ok := filters[op.Filter]; ok {
		return f, nil
	}
	return nil, fmt.Errorf("filter %q: \"bilinear\" or \"bicubic\" is expected", op.Filter)
}

// cropSize returns the size of a crop. One number means a square, as in torchvision.
func (op *Op) cropSize(v *numberMeaning) (fixedSize, error) {
	if v.tensor {
		return fixedSize{}, errTensor
	}
	if n := len(op.Size); n == 0 || n > 2 || slices.Min(op.Size) < 1 {
		return fixedSize{}, fmt.Errorf("size %v: [height, width] is expected, each at least 1", op.Size)
	}
	return fixedSize{height: op.Size[0], width: op.Size[len(op.Size)-1]}, nil
}

func (op *Op) fillColour() (fill [3]uint8, err error) {
	if n := len(op.Fill); n > 1 && n != 3 {
		return fill, fmt.Errorf("fill %v: one number or three, for red, green, blue, are expected", op.Fill)
	}
	for c := range fill {
		if len(op.Fill) == 0 {
			break
		}
		f := op.Fill[c%len(op.Fill)]
		if f != math.Trunc(f) || f < 0 || f > 255 {
			return fill, fmt.Errorf("fill %v: whole numbers from 0 to 255 are expected, as pixels are filled", op.Fill)
		}
		fill[c] = uint8(f)
	}
	return fill, nil
}
