package picture

import (
	"encoding/json"
	"hash/crc32"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/wheel"
)

// drawn is a picture that a line of NumPy draws as well:
// (x*x*7 + y*13*(band+1) + x*y*3 + band*101) % 251.
func drawn(width, height, bands int) []byte {
	pixels := make([]byte, 0, width*height*bands)
	for y := range height {
		for x := range width {
			for band := range bands {
				pixels = append(pixels, byte((x*x*7+y*13*(band+1)+x*y*3+band*101)%251))
			}
		}
	}
	return pixels
}

// The sums are those of what OpenCV 5.0.0 (opencv-python-headless 5.0.0.93, AVX2) makes of the drawn picture.
func TestOperationsAreOpenCVs(t *testing.T) {
	const matrix = `[0.9, 0.2, -1.5, -0.3, 1.1, 4.25]`
	w := NewWorker(decode.Limits{})
	for _, c := range []struct {
		op         string
		colour     uint32
		grey       uint32
		colourOnly bool
	}{
		{`["cv_hsv"]`, 3226924654, 0, true},
		{`["cv_unhsv"]`, 2524034881, 0, true},
		{`["cv_gray"]`, 539338027, 0, true},
		{`["cv_resize", 30, 11, 0]`, 2533191660, 1407985291, false},
		{`["cv_resize", 15, 19, 0]`, 1737706181, 2594645075, false},
		{`["cv_resize", 9, 5, 0]`, 3294362520, 3643498856, false},
		{`["cv_resize", 70, 50, 0]`, 3731283856, 666729860, false},
		{`["cv_resize", 30, 11, 1]`, 1589173722, 3384254202, false},
		{`["cv_resize", 15, 19, 1]`, 646940905, 1657884188, false},
		{`["cv_resize", 9, 5, 1]`, 3950471203, 3132026684, false},
		{`["cv_resize", 70, 50, 1]`, 2870229165, 3478659558, false},
		{`["cv_resize", 30, 11, 3]`, 2688739810, 345299405, false},
		{`["cv_resize", 15, 19, 3]`, 921689710, 2574240642, false},
		{`["cv_resize", 9, 5, 3]`, 1086098511, 3439120389, false},
		{`["cv_affine", 37, 23, ` + matrix + `, 0, [9, 200, 77]]`, 3674883171, 0, true},
		{`["cv_affine", 37, 23, ` + matrix + `, 1, [0, 0, 0]]`, 2834611512, 0, true},
		{`["cv_affine", 37, 23, ` + matrix + `, 2, [0, 0, 0]]`, 22050615, 0, true},
		{`["cv_affine", 37, 23, ` + matrix + `, 4, [0, 0, 0]]`, 4244983513, 0, true},
	} {
		if found := sumOf(t, w, "RGB", 3, c.op); found != c.colour {
			t.Errorf("%s of a colour picture: the sum is %d, OpenCV's is %d", c.op, found, c.colour)
		}
		if c.colourOnly {
			continue
		}
		if found := sumOf(t, w, "L", 1, c.op); found != c.grey {
			t.Errorf("%s of a grey picture: the sum is %d, OpenCV's is %d", c.op, found, c.grey)
		}
	}
}

func sumOf(t *testing.T, w *Worker, mode string, bands int, op string) uint32 {
	t.Helper()
	p, err := Parse([]byte(`{"mode": "` + mode + `", "size": [45, 19], "ops": [` + op + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, p.Output.Bytes())
	if err := w.Run(p, Source{Pixels: drawn(45, 19, bands)}, out); err != nil {
		t.Fatal(err)
	}
	return crc32.ChecksumIEEE(out)
}

func TestBandsOfOpenCV(t *testing.T) {
	w := NewWorker(decode.Limits{})
	pixels := drawn(45, 19, 3)
	for op, at := range map[string]int{`["band", 0]`: 0, `["band", 2]`: 2, `["swap"], ["band", 2]`: 0} {
		p, err := Parse([]byte(`{"mode": "RGB", "size": [45, 19], "ops": [` + op + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, p.Output.Bytes())
		if err := w.Run(p, Source{Pixels: pixels}, out); err != nil {
			t.Fatal(err)
		}
		for i, v := range out {
			if v != pixels[3*i+at] {
				t.Fatalf("%s: pixel %d is %d, it was %d", op, i, v, pixels[3*i+at])
			}
		}
	}
}

// What OpenCV does otherwise is refused.
func TestRefusesOfOpenCV(t *testing.T) {
	for _, program := range []string{
		`{"mode": "L", "size": [9, 9], "ops": [["swap"]]}`,
		`{"mode": "L", "size": [9, 9], "ops": [["band", 0]]}`,
		`{"mode": "L", "size": [9, 9], "ops": [["cv_gray"]]}`,
		`{"mode": "RGBA", "size": [9, 9], "ops": [["cv_hsv"]]}`,
		`{"mode": "P", "size": [9, 9], "ops": [["cv_resize", 3, 3, 1]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_resize", 3, 3, 2]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_resize", 12, 3, 3]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_affine", 3, 3, [1, 0, 0, 0, 1, 0], 3, [0, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_affine", 3, 3, [1, 0, 1e9, 0, 1, 0], 0, [0, 0, 0]]]}`,
		`{"mode": "RGB", "size": [1, 9], "ops": [["cv_affine", 3, 3, [1, 0, 0, 0, 1, 0], 0, [0, 0, 0]]]}`,
	} {
		if _, err := Parse([]byte(program)); err == nil {
			t.Errorf("%s is not refused", program)
		} else if !json.Valid([]byte(program)) {
			t.Errorf("%s is no JSON", program)
		}
	}
}

func TestMultiplyAddRoundsOnce(t *testing.T) {
	// The exact result lies just above, and just below, the middle between two numbers.
	const step = 0x1p-23
	for _, c := range []struct{ a, b, c, want float32 }{
		{1 + step, 0x1p-24, 1, 1 + step},
		{1 - step, 0x1p-24, 1, 1},
		{-(1 + step), 0x1p-24, -1, -1 - step},
		{2, 3, 4, 10},
	} {
		if found := wheel.RoundOnce(c.a, c.b, c.c); found != c.want {
			t.Errorf("%v * %v + %v is %v, not %v", c.a, c.b, c.c, found, c.want)
		}
	}
}
