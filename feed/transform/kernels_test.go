package transform

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// TestKernelsMatchGo takes random pictures of every kind through random
// stages with the kernels and without. The picture holds no more than
// what was asked for and the chroma around it, in memory that ends with it.
func TestKernelsMatchGo(t *testing.T) {
	if !hasSIMD {
		t.Skip("this processor runs no kernels")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	simd, plain := NewWorker(), &Worker{}
	for i := range 3000 {
		picture := randomPicture(rng)
		p, choice := randomChoice(rng, picture.Size)
		cut := cutOut(picture, p.SourceArea(choice))
		got, want := make([]byte, p.Bytes()), make([]byte, p.Bytes())
		if err := simd.Apply(p, choice, cut, got); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if err := plain.Apply(p, choice, cut, want); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("case %d: picture %v of model %d, chroma 1/%d x 1/%d, stages %+v: the kernels give other bytes than plain Go",
				i, picture.Size, picture.Model, picture.SubX, picture.SubY, choice.stages)
		}
		whole := make([]byte, p.Bytes())
		if err := plain.Apply(p, choice, picture, whole); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if !bytes.Equal(whole, want) {
			t.Fatalf("case %d: the part that Need names gives other bytes than the whole picture", i)
		}
	}
}

func randomPicture(rng *rand.Rand) *planes.Picture {
	w, h := 1+rng.IntN(90), 1+rng.IntN(90)
	if rng.IntN(8) == 0 {
		w *= 6
	}
	seed := rng.Uint32()
	switch rng.IntN(6) {
	case 0:
		p := drawn(w, h, seed, 256)
		p.Model = planes.Grey
		return p
	case 1:
		return drawn(w, h, seed, 256)
	}
	return subsampled(w, h, 1+rng.IntN(4), 1+rng.IntN(4), seed)
}

func randomChoice(rng *rand.Rand, size image.Point) (*Program, Choice) {
	s := stages{list: []stage{newStage(size.X, size.Y)}}
	for range 1 + rng.IntN(3) {
		w, h := s.canvasSize()
		x, y := rng.IntN(w), rng.IntN(h)
		r := image.Rect(x, y, x+1+rng.IntN(w-x), y+1+rng.IntN(h-y))
		if rng.IntN(6) == 0 {
			r = r.Inset(-rng.IntN(5))
		}
		s.cropTo(r, [3]uint8{1, 2, 3})
		if rng.IntN(2) == 0 {
			s.flipX()
		}
		if rng.IntN(4) == 0 {
			s.flipY()
		}
		if rng.IntN(4) > 0 {
			s.resize(1+rng.IntN(80), 1+rng.IntN(80), filters[[]string{"bilinear", "bicubic"}[rng.IntN(2)]])
		}
	}
	choice, err := s.checkedChoice()
	if err != nil {
		panic(err)
	}
	w, h := s.canvasSize()
	types := []string{"uint8", "float16", "bfloat16", "float32"}
	out := Output{DType: types[rng.IntN(4)], Layout: []string{"nchw", "channels_last"}[rng.IntN(2)]}
	v := numberMeaning{unit: out.DType != "uint8", mean: []float64{0.485, 0.456, 0.406}, std: []float64{0.229, 0.224, 0.225}}
	form, err := newForm(out, v, fixedSize{w, h})
	if err != nil {
		panic(err)
	}
	return &Program{form: form}, choice
}

// cutOut is what a decoder hands out for need: it and one chroma sample around,
// beginning where a chroma sample does.
func cutOut(p *planes.Picture, need image.Rectangle) *planes.Picture {
	q := &planes.Picture{Size: p.Size, Model: p.Model, SubX: p.SubX, SubY: p.SubY}
	subX, subY := max(p.SubX, 1), max(p.SubY, 1)
	r := image.Rect((need.Min.X/subX-1)*subX, (need.Min.Y/subY-1)*subY, (need.Max.X/subX+2)*subX, (need.Max.Y/subY+2)*subY)
	q.Bounds = r.Intersect(image.Rectangle{Max: p.Size})
	for c, plane := range p.Planes {
		sx, sy := 1, 1
		if c > 0 && p.Model == planes.YCbCr {
			sx, sy = subX, subY
		}
		x0, x1 := q.Bounds.Min.X/sx, (q.Bounds.Max.X+sx-1)/sx
		for y := q.Bounds.Min.Y / sy; y < (q.Bounds.Max.Y+sy-1)/sy; y++ {
			q.Planes[c] = append(q.Planes[c], plane[y*p.Stride[c]+x0:][:x1-x0]...)
		}
		q.Stride[c] = x1 - x0
		q.Planes[c] = q.Planes[c][:len(q.Planes[c]):len(q.Planes[c])]
	}
	return q
}
