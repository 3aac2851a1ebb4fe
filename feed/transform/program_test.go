package transform

import (
	"bytes"
	"image"
	"math"
	"strings"
	"testing"
)

func TestCompileErrors(t *testing.T) {
	half := 2.0
	crop := Op{Name: "center_crop", Size: []int{8, 8}}
	floats := Output{DType: "float32", Layout: "nchw"}
	for _, c := range []struct {
		ops  []Op
		out  Output
		says string
	}{
		{[]Op{{Name: "blur"}}, Output{DType: "uint8", Layout: "nchw"}, `op 0: "blur" is not a known transform`},
		{nil, Output{DType: "uint8", Layout: "nchw"}, "different sizes"},
		{[]Op{{Name: "resize", Size: []int{256}}}, Output{DType: "uint8", Layout: "nchw"}, "different sizes"},
		{[]Op{{Name: "resize", Size: []int{0, 3}}}, Output{DType: "uint8", Layout: "nchw"}, "at least 1"},
		{[]Op{{Name: "resize", Size: []int{3}, MaxSize: 3}}, Output{DType: "uint8", Layout: "nchw"}, "max_size 3"},
		{[]Op{{Name: "resize", Size: []int{3, 3}, Filter: "lanczos"}}, Output{DType: "uint8", Layout: "nchw"}, `filter "lanczos"`},
		{[]Op{{Name: "center_crop"}}, Output{DType: "uint8", Layout: "nchw"}, "[height, width]"},
		{[]Op{{Name: "random_resized_crop", Size: []int{8, 8}, Scale: [2]float64{1, 0.5}}}, Output{DType: "uint8", Layout: "nchw"}, "the smaller first"},
		{[]Op{{Name: "random_crop", Size: []int{8, 8}, Padding: []int{1, 2}}}, Output{DType: "uint8", Layout: "nchw"}, "padding [1 2]"},
		{[]Op{{Name: "random_crop", Size: []int{8, 8}, Fill: []float64{0.5}}}, Output{DType: "uint8", Layout: "nchw"}, "whole numbers"},
		{[]Op{crop, {Name: "random_horizontal_flip", P: &half}}, Output{DType: "uint8", Layout: "nchw"}, "p 2"},
		{[]Op{{Name: "to_tensor"}, crop}, floats, "after the conversion to a tensor"},
		{[]Op{crop, {Name: "to_tensor"}, {Name: "to_tensor"}}, floats, "a tensor already"},
		{[]Op{crop, {Name: "normalize", Mean: []float64{0}, Std: []float64{1}}}, floats, "put to_tensor in front"},
		{[]Op{crop, {Name: "to_tensor"}, {Name: "normalize", Mean: []float64{0}, Std: []float64{0}}}, floats, "divided by"},
		{[]Op{crop, {Name: "to_tensor"}, {Name: "normalize", Mean: []float64{0, 1}, Std: []float64{1}}}, floats, "one number or three"},
		{[]Op{crop, {Name: "to_tensor"}}, Output{DType: "uint8", Layout: "nchw"}, "uint8 cannot hold"},
		{[]Op{crop}, floats, "needs numbers 0..1"},
		{[]Op{crop}, Output{DType: "int8", Layout: "nchw"}, `dtype "int8"`},
		{[]Op{crop}, Output{DType: "uint8", Layout: "nhwc"}, `layout "nhwc"`},
	} {
		if _, err := Compile(c.ops, c.out); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v %v: error %v, expected one with %q", c.ops, c.out, err, c.says)
		}
	}
}

func TestChooseRefusesAbsurdValues(t *testing.T) {
	for _, c := range []struct {
		ops           []Op
		width, height int
		says          string
	}{
		{[]Op{{Name: "random_crop", Size: []int{32, 32}}}, 31, 40, "pad_if_needed"},
		{[]Op{{Name: "resize", Size: []int{8, 8}}}, 1 << 21, 1, "crop the image first"},
		{[]Op{{Name: "resize", Size: []int{1, 224}}}, 170, 1 << 20, "held at once"},
		{[]Op{{Name: "resize", Size: []int{256}}, {Name: "resize", Size: []int{8, 8}}}, 1, 60000, "crop it first"},
		{[]Op{{Name: "center_crop", Size: []int{8, 8}}}, 0, 5, "at least one pixel"},
	} {
		p, err := Compile(c.ops, Output{DType: "uint8", Layout: "nchw"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Choose(c.width, c.height, 1, 2, 3); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v of %d x %d: error %v, expected one with %q", c.ops, c.width, c.height, err, c.says)
		}
	}
}

// TestCIFAR is RandomCrop(32, padding=4) and a flip: each place comes, and the bytes are
// those of the place.
func TestCIFAR(t *testing.T) {
	p, err := Compile([]Op{
		{Name: "random_crop", Size: []int{32, 32}, Padding: []int{4, 4, 4, 4}, Fill: []float64{9}},
		{Name: "random_horizontal_flip"},
		{Name: "pil_to_tensor"},
	}, Output{DType: "uint8", Layout: "nchw"})
	if err != nil {
		t.Fatal(err)
	}
	places := map[image.Point]int{}
	bothWays(t, func(t *testing.T, w *Worker) {
		picture := drawn(32, 32, 1, 256)
		for sample := range uint64(2000) {
			choice, err := p.Choose(32, 32, 1, 0, sample)
			if err != nil {
				t.Fatal(err)
			}
			x, y := choice.stages[0].x, choice.stages[0].y
			left := x.first - x.at
			if x.flipped {
				left = x.first - (x.canvas - x.at - x.kept)
			}
			top := y.first - y.at
			places[image.Point{left, top}]++
			got := make([]byte, p.Bytes())
			if err := w.Apply(p, choice, narrowed(picture, p.SourceArea(choice)), got); err != nil {
				t.Fatal(err)
			}
			for i, v := range got[:32*32] {
				at := image.Point{left + i%32, top + i/32}
				if x.flipped {
					at.X = left + 31 - i%32
				}
				want := byte(9)
				if at.In(picture.Bounds) {
					want = picture.Planes[0][at.Y*32+at.X]
				}
				if v != want {
					t.Fatalf("sample %d, pixel %d is %d, expected %d", sample, i, v, want)
				}
			}
		}
	})
	if len(places) != 81 {
		t.Errorf("%d places of the crop came, expected 81", len(places))
	}
}

// TestDrawsAreTheirOwn says that a sample's parameters depend on seed, epoch and sample
// and on nothing else.
func TestDrawsAreTheirOwn(t *testing.T) {
	p, err := Compile(imageNet(Output{DType: "uint8"}), Output{DType: "uint8", Layout: "nchw"})
	if err != nil {
		t.Fatal(err)
	}
	need := func(seed, epoch, sample uint64) image.Rectangle {
		c, err := p.Choose(500, 375, seed, epoch, sample)
		if err != nil {
			t.Fatal(err)
		}
		return p.SourceArea(c)
	}
	first := need(1, 2, 3)
	if again := need(1, 2, 3); again != first {
		t.Errorf("the same sample was cropped to %v and to %v", first, again)
	}
	for _, other := range []image.Rectangle{need(2, 2, 3), need(1, 3, 3), need(1, 2, 4)} {
		if other == first {
			t.Errorf("another sample has the same crop, %v", first)
		}
	}
}

func TestShape(t *testing.T) {
	p, err := Compile([]Op{{Name: "center_crop", Size: []int{5, 7}}, {Name: "to_tensor"}}, Output{DType: "bfloat16", Layout: "channels_last"})
	if err != nil {
		t.Fatal(err)
	}
	if h, w := p.TensorShape(); h != 5 || w != 7 || p.Bytes() != 5*7*3*2 {
		t.Errorf("shape %d x %d, %d bytes", h, w, p.Bytes())
	}
	if err := NewWorker().Apply(p, Choice{stages: []stage{newStage(5, 7)}}, drawn(5, 7, 1, 1), make([]byte, 3)); err == nil {
		t.Error("a tensor of another size was written")
	}
}

// TestUnalignedTensor writes to memory at every offset.
func TestUnalignedTensor(t *testing.T) {
	for _, dtype := range []string{"uint8", "float16", "bfloat16", "float32"} {
		out := Output{DType: dtype, Layout: "nchw"}
		p, err := Compile(append([]Op{{Name: "resize", Size: []int{40, 37}}}, imageNet(out)[2:]...), out)
		if err != nil {
			t.Fatal(err)
		}
		choice, err := p.Choose(64, 48, 1, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for offset := range 33 {
			memory := bytes.Repeat([]byte{0xa5}, p.Bytes()+offset+64)
			dst := memory[offset:][:p.Bytes()]
			if err := NewWorker().Apply(p, choice, drawn(64, 48, 1, 64), dst); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = dst
			}
			if !bytes.Equal(dst, want) {
				t.Errorf("%s at offset %d: other bytes", dtype, offset)
			}
			if rest := memory[offset+p.Bytes():]; !bytes.Equal(rest, bytes.Repeat([]byte{0xa5}, 64)) {
				t.Errorf("%s at offset %d: bytes behind the tensor were written", dtype, offset)
			}
		}
	}
}

// TestHalfPrecision holds the rounding against the standard library's wider numbers: of
// all half-precision numbers the nearest, and of two the even one.
func TestHalfPrecision(t *testing.T) {
	for bits := range uint16(0x7bff) {
		low, high := halfValue(bits), halfValue(bits+1)
		middle := (low + high) / 2
		even := bits + bits&1
		down, up := float64(math.Nextafter32(float32(middle), 0)), float64(math.Nextafter32(float32(middle), 1e9))
		for v, want := range map[float64]uint16{low: bits, middle: even, down: bits, up: bits + 1} {
			if got := float16(float32(v)); got != want {
				t.Fatalf("%v is %#x, expected %#x", v, got, want)
			}
			if got := float16(float32(-v)); got != want|0x8000 {
				t.Fatalf("%v is %#x, expected %#x", -v, got, want|0x8000)
			}
		}
	}
}

func halfValue(bits uint16) float64 {
	exponent, fraction := int(bits>>10), float64(bits&0x3ff)
	if exponent == 0 {
		return math.Ldexp(fraction, -24)
	}
	return math.Ldexp(1024+fraction, exponent-25)
}
