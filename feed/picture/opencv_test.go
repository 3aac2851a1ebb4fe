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
	const (
		matrix     = `[0.9, 0.2, -1.5, -0.3, 1.1, 4.25]`
		projection = `[0.9, 0.2, -1.5, -0.3, 1.1, 4.25, 0.004, -0.003, 1.1]`
		longTaps   = `1, 1, 3, 4, 6, 9, 12, 15, 19, 22, 24, 24, 24, 22, 19, 15, 12, 9, 6, 4, 3, 1, 1`
		longerTaps = `0, 0, 0, 1, 0, 1, 1, 2, 2, 3, 4, 6, 7, 9, 10, 12, 14, 15, 16, 16, 18,
			16, 16, 15, 14, 12, 10, 9, 7, 6, 4, 3, 2, 2, 1, 1, 0, 1, 0, 0, 0`
	)
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
		{`["cv_resize", 30, 11, 2]`, 3936084422, 256905665, false},
		{`["cv_resize", 15, 19, 2]`, 646940905, 1657884188, false},
		{`["cv_resize", 9, 5, 2]`, 3066218478, 3058453352, false},
		{`["cv_resize", 70, 50, 2]`, 15647565, 3123488974, false},
		{`["cv_blur", [16, 64, 96, 64, 16], [16, 64, 96, 64, 16], 4, [5, 5, 0, 0]]`, 3393778750, 494035142, false},
		{`["cv_blur", [4, 13, 30, 51, 60, 51, 30, 13, 4], [43, 170, 43], 0, [9, 3, 1.7, 0.6]]`, 177289224, 811788649, false},
		{`["cv_blur", [256], [` + longTaps + `], 1, [1, 23, 1, 4.2]]`, 1317249266, 1425805804, false},
		{`["cv_blur", [` + longerTaps + `], [9, 29, 55, 70, 55, 29, 9], 2, [41, 7, 6, 1.5]]`, 33469482, 3901537901, false},
		{`["cv_weigh", 0.7, 0.3, 0, [], [["transpose", 0]]]`, 3839426396, 2309787172, false},
		{`["cv_weigh", 1.5, -0.5, 0.5, [], [["transpose", 0]]]`, 4018704425, 4168524636, false},
		{`["transpose", 0], ["cv_weigh", 4, -4, 128, [["transpose", 0]], []]`, 3020037699, 3956214997, false},
		{`["cv_perspective", 37, 23, ` + projection + `, 0, [9, 200, 77]]`, 803732871, 0, true},
		{`["cv_perspective", 37, 23, ` + projection + `, 1, null]`, 1336882003, 2046378083, false},
		{`["cv_perspective", 37, 23, ` + projection + `, 2, null]`, 1012401416, 3707199054, false},
		{`["cv_perspective", 37, 23, ` + projection + `, 4, null]`, 2868550172, 4175447921, false},
		{`["cv_lab"]`, 2313518590, 0, true},
		{`["cv_unlab"]`, 337121816, 0, true},
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
		`{"mode": "RGB", "size": [3, 9], "ops": [["cv_resize", 5, 5, 2]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_perspective", 9, 9, [1, 0, 0, 0, 1, 0, -0.2, 0, 1], 0, [0, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_perspective", 9, 9, [1, 0, 0, 0, 1, 0, 0, 0, 0], 0, [0, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_perspective", 9, 9, [1, 0, 1e6, 0, 1, 0, 0, 0, 0.5], 0, [0, 0, 0]]]}`,
		`{"mode": "L", "size": [9, 9], "ops": [["cv_lab"]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_blur", [64, 127, 64], [256], 4, [3, 1, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_blur", [64, 128, 63, 1], [256], 4, [3, 1, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_blur", [], [256], 4, [3, 1, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_blur", [-1, 258, -1], [256], 4, [3, 1, 0, 0]]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_blur", [256], [256], 3, [3, 1, 0, 0]]]}`,
		`{"mode": "RGB", "size": [1, 9], "ops": [["cv_blur", [64, 128, 64], [256], 4, [3, 1, 0, 0]]]}`,
		`{"mode": "RGBA", "size": [9, 9], "ops": [["cv_weigh", 1, 1, 0, [], []]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_weigh", 1e7, 1, 0, [], []]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_weigh", 1, 1, 0, [["cv_gray"]], []]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_weigh", 1, 1, 0, [["crop", 0, 0, 3, 3]], []]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_weigh", 1, 1, 0, [["cv_weigh", 1, 1, 0, [], []]], []]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_weigh", 1, 1, 0, [["tobytes"]], []]]}`,
		`{"mode": "RGB", "size": [9, 9], "ops": [["cv_weigh", 1, 1, 0, [7], []]]}`,
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

// The sums are those of what OpenCV 5.0.0 makes of all colours, red first.
func TestAllColoursThroughLab(t *testing.T) {
	sums := [2]uint32{}
	eachRed(func(_, side int, pixels []byte) {
		for i, op := range []string{`["cv_lab"]`, `["cv_unlab"]`} {
			sums[i] = crc32.Update(sums[i], crc32.IEEETable, made(t, "RGB", side, side, pixels, op))
		}
	})
	if want := [2]uint32{873528395, 627872959}; sums != want {
		t.Errorf("the sums are %d, OpenCV's are %d", sums, want)
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
