package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// pixelCases are what testdata/make_pixels.py wrote with Pillow and torchvision.
type pixelCases struct {
	Cases []struct {
		Width, Height int
		Seed, Noise   uint32
		Steps         [][]any
		Ops           []Op
		Pillow        int
		Size          [2]int
		SHA256        string
	}
	Numbers []struct {
		Mean, Std []float64
		SHA256    map[string]string
	}
}

func readPixelCases(t *testing.T) (cases pixelCases) {
	t.Helper()
	data, err := os.ReadFile("testdata/pixels.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Cases) < 600 || len(cases.Numbers) < 5 {
		t.Fatalf("testdata/pixels.json has %d cases and %d lists of numbers: too few", len(cases.Cases), len(cases.Numbers))
	}
	return cases
}

// drawn is the image that make_pixels.py draws.
func drawn(width, height int, seed, noise uint32) *planes.Picture {
	p := &planes.Picture{Size: image.Point{width, height}, Bounds: image.Rect(0, 0, width, height), Model: planes.RGB}
	for c := range p.Planes {
		p.Stride[c] = width
		p.Planes[c] = make([]byte, width*height)
		for i := range p.Planes[c] {
			x, y, ch := uint32(i%width), uint32(i/width), uint32(c)
			h := x*73856093 ^ y*19349663 ^ ch*83492791 ^ seed*2654435761
			h ^= h >> 13
			h *= 1274126177
			h ^= h >> 16
			smooth := (x*3 + y*2 + ch*50) & 255
			p.Planes[c][i] = byte(((h&255)*noise + smooth*(256-noise)) >> 8)
		}
	}
	return p
}

// bothWays runs a test with the vector kernels and without.
func bothWays(t *testing.T, test func(t *testing.T, w *Worker)) {
	if hasSIMD {
		t.Run("simd", func(t *testing.T) { test(t, NewWorker()) })
	}
	t.Run("plain", func(t *testing.T) { test(t, &Worker{}) })
}

func TestPixelsMatchPillow(t *testing.T) {
	cases := readPixelCases(t)
	bothWays(t, func(t *testing.T, w *Worker) {
		for i, c := range cases.Cases {
			p := &Program{}
			var choice Choice
			if c.Ops != nil {
				p, choice = compiled(t, c.Ops, c.Width, c.Height)
			} else {
				choice = chosen(t, c.Steps, c.Width, c.Height)
				p.form = form{width: c.Size[0], height: c.Size[1], bytes: 1}
				p.pillow = c.Pillow
			}
			got := make([]byte, p.Bytes())
			if len(got) != 3*c.Size[0]*c.Size[1] {
				t.Errorf("case %d, %v %v: %d bytes, Pillow has %v", i, c.Steps, c.Ops, len(got), c.Size)
				continue
			}
			picture := narrowed(drawn(c.Width, c.Height, c.Seed, c.Noise), p.SourceArea(choice))
			if err := w.Apply(p, choice, picture, got); err != nil {
				t.Errorf("case %d: %v", i, err)
				continue
			}
			if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != c.SHA256 {
				t.Errorf("case %d, %d x %d, %v %v: pixels differ from Pillow's", i, c.Width, c.Height, c.Steps, c.Ops)
			}
		}
	})
}

// compiled is a program without chance, and its choice.
func compiled(t *testing.T, ops []Op, width, height int) (*Program, Choice) {
	t.Helper()
	p, err := Compile(ops, Output{DType: "uint8", Layout: "nchw"})
	if err != nil {
		t.Fatal(err)
	}
	choice, err := p.Choose(width, height, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	return p, choice
}

// chosen is the choice of given steps.
func chosen(t *testing.T, steps [][]any, width, height int) Choice {
	t.Helper()
	s := stages{list: []stage{newStage(width, height)}}
	for _, step := range steps {
		n := make([]int, len(step))
		for i, v := range step {
			if f, ok := v.(float64); ok {
				n[i] = int(f)
			}
		}
		switch step[0] {
		case "crop":
			s.cropTo(image.Rect(n[1], n[2], n[3], n[4]), [3]uint8{})
		case "resize":
			s.resize(n[1], n[2], filters[step[3].(string)])
		case "flipx":
			s.flipX()
		case "flipy":
			s.flipY()
		default:
			t.Fatalf("testdata/pixels.json: step %v is not known", step)
		}
	}
	choice, err := s.checkedChoice()
	if err != nil {
		t.Fatal(err)
	}
	return choice
}

// narrowed returns a picture with only the needed part, so that access outside it is an error
// or a panic.
func narrowed(p *planes.Picture, need image.Rectangle) *planes.Picture {
	q := &planes.Picture{Size: p.Size, Bounds: need, Model: p.Model}
	for c, plane := range p.Planes {
		q.Stride[c] = need.Dx()
		for y := need.Min.Y; y < need.Max.Y; y++ {
			q.Planes[c] = append(q.Planes[c], plane[y*p.Stride[c]+need.Min.X:][:need.Dx()]...)
		}
	}
	return q
}

func TestNumbersMatchTorch(t *testing.T) {
	cases := readPixelCases(t)
	bothWays(t, func(t *testing.T, w *Worker) {
		for _, c := range cases.Numbers {
			for dtype, want := range c.SHA256 {
				ops := []Op{{Name: "center_crop", Size: []int{1, 256}}, {Name: "to_tensor"}}
				if c.Mean != nil {
					ops = append(ops, Op{Name: "normalize", Mean: c.Mean, Std: c.Std})
				}
				got := apply(t, w, ops, Output{DType: dtype, Layout: "nchw"}, ramp())
				if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != want {
					t.Errorf("%s, mean %v, std %v: numbers differ from torch's", dtype, c.Mean, c.Std)
				}
				last := apply(t, w, ops, Output{DType: dtype, Layout: "channels_last"}, ramp())
				if err := sameTransposed(got, last, 256, len(got)/3/256); err != nil {
					t.Errorf("%s, mean %v: channels_last %v", dtype, c.Mean, err)
				}
			}
		}
	})
}

// ramp is one row of the 256 values.
func ramp() *planes.Picture {
	p := drawn(256, 1, 0, 0)
	for _, plane := range p.Planes {
		for i := range plane {
			plane[i] = byte(i)
		}
	}
	return p
}

func apply(t *testing.T, w *Worker, ops []Op, out Output, picture *planes.Picture) []byte {
	t.Helper()
	p, err := Compile(ops, out)
	if err != nil {
		t.Fatal(err)
	}
	choice, err := p.Choose(picture.Size.X, picture.Size.Y, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, p.Bytes())
	if err := w.Apply(p, choice, picture, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

func sameTransposed(nchw, last []byte, pixels, size int) error {
	for c := range 3 {
		for i := range pixels {
			a, b := nchw[(c*pixels+i)*size:][:size], last[(3*i+c)*size:][:size]
			if string(a) != string(b) {
				return fmt.Errorf("pixel %d channel %d is %x, in nchw %x", i, c, b, a)
			}
		}
	}
	return nil
}

// imageNet are the usual transforms of training.
func imageNet(out Output) []Op {
	ops := []Op{{Name: "random_resized_crop", Size: []int{224, 224}}, {Name: "random_horizontal_flip"}}
	if out.DType == "uint8" {
		return append(ops, Op{Name: "pil_to_tensor"})
	}
	return append(ops, Op{Name: "to_tensor"},
		Op{Name: "normalize", Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}})
}

// subsampled is a drawn picture whose planes are taken as luma and chroma.
func subsampled(width, height, subX, subY int, seed uint32) *planes.Picture {
	p := drawn(width, height, seed, 64)
	p.Model, p.SubX, p.SubY = planes.YCbCr, subX, subY
	small := image.Point{(width + subX - 1) / subX, (height + subY - 1) / subY}
	for c := 1; c < 3; c++ {
		q := drawn(small.X, small.Y, seed+uint32(c), 64)
		for i, v := range q.Planes[c] { // weaker colours, as in photographs
			q.Planes[c][i] = 96 + v/4
		}
		p.Planes[c], p.Stride[c] = q.Planes[c], q.Stride[c]
	}
	return p
}
