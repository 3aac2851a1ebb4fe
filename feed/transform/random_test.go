package transform

import (
	"encoding/json"
	"image"
	"math"
	"os"
	"testing"

	"github.com/stoker-dev/stoker/feed/order"
)

// The boxes that the reference in Python draws, whose distributions are compared
// with torchvision's in python/tests/test_order.py.
func TestDrawsLikeReference(t *testing.T) {
	text, err := os.ReadFile("../order/testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Crops []struct {
			Width, Height int
			Scale, Ratio  [2]float64
			Sample        uint64
			Box           [4]int // left, top, width, height
			Flip          bool   // drawn next, with probability 0.3
		}
	}
	if err := json.Unmarshal(text, &reference); err != nil || len(reference.Crops) == 0 {
		t.Fatalf("%d crops, %v", len(reference.Crops), err)
	}
	for _, c := range reference.Crops {
		d := order.NewDraws(42, 3, c.Sample, 1)
		want := image.Rect(0, 0, c.Box[2], c.Box[3]).Add(image.Pt(c.Box[0], c.Box[1]))
		if got := drawResizedCrop(&d, c.Width, c.Height, c.Scale, c.Ratio); got != want {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
		if got := drawFlip(&d, 0.3); got != c.Flip {
			t.Errorf("%+v: flip %v", c, got)
		}
	}
}

// Where every try fits, the area and the logarithm of the ratio are uniform: of each
// tenth of their range a tenth of the crops, within 4.5 standard deviations.
func TestResizedCropIsUniformInAreaAndLogRatio(t *testing.T) {
	const n, side = 20000, 10000
	var areas, ratios [10]int
	for sample := range uint64(n) {
		d := order.NewDraws(1, 0, sample, 0)
		r := drawResizedCrop(&d, side, side, [2]float64{0.1, 0.5}, [2]float64{0.5, 2})
		area := float64(r.Dx()) * float64(r.Dy()) / side / side
		areas[tenth((area-0.1)/0.4)]++
		ratios[tenth(math.Log2(float64(r.Dx())/float64(r.Dy()))/2+0.5)]++
	}
	for i := range areas {
		if math.Abs(float64(areas[i])-n/10) > 4.5*math.Sqrt(n*0.09) || math.Abs(float64(ratios[i])-n/10) > 4.5*math.Sqrt(n*0.09) {
			t.Errorf("tenth %d has %d areas and %d ratios, want %d", i, areas[i], ratios[i], n/10)
		}
	}
}

// More bits would be those in which processors differ.
func TestAspectHasTheBitsOfAFloat32(t *testing.T) {
	d := order.NewDraws(1, 0, 0, 0)
	for range 100 {
		if got := drawAspect(&d, [2]float64{0.75, 4.0 / 3}); got != float64(float32(got)) || got < 0.749999 || got > 1.333334 {
			t.Errorf("ratio %v", got)
		}
	}
}

// tenth of [0, 1]; rounding to pixels may lead just outside.
func tenth(x float64) int { return min(max(int(x*10), 0), 9) }

func TestCropTakesEveryPlace(t *testing.T) {
	const n = 60000
	var places [4][3]int
	for sample := range uint64(n) {
		d := order.NewDraws(2, 0, sample, 0)
		r := drawCrop(&d, 10, 8, 7, 6)
		if r.Dx() != 7 || r.Dy() != 6 {
			t.Fatal(r)
		}
		places[r.Min.X][r.Min.Y]++
	}
	for _, column := range places {
		for _, got := range column {
			if math.Abs(float64(got)-n/12) > 4.5*math.Sqrt(n/12) {
				t.Errorf("%v, want about %d each", places, n/12)
			}
		}
	}
}

func TestFlipHasItsProbability(t *testing.T) {
	const n = 40000
	for _, p := range []float64{0, 0.1, 0.5, 1} {
		flips := 0
		for sample := range uint64(n) {
			d := order.NewDraws(3, 0, sample, 0)
			if drawFlip(&d, p) {
				flips++
			}
		}
		if math.Abs(float64(flips)-n*p) > 4.5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%d flips of %d at probability %v", flips, n, p)
		}
	}
}

// The box is inside the image and not empty, for any arguments.
func FuzzResizedCrop(f *testing.F) {
	f.Add(uint64(1), uint16(500), uint16(375), 0.08, 1.0, 0.75, 4.0/3)
	f.Add(uint64(2), uint16(1), uint16(60000), 0.08, 1.0, 0.0, math.Inf(1))
	f.Add(uint64(3), uint16(7), uint16(1), math.NaN(), -1.0, -2.0, math.NaN())
	f.Add(uint64(4), uint16(3), uint16(3), 1e300, 1e308, 1e-300, 1e-308)
	f.Fuzz(func(t *testing.T, sample uint64, width, height uint16, a, b, low, high float64) {
		w, h := int(width)+1, int(height)+1
		d := order.NewDraws(0, 0, sample, 0)
		r := drawResizedCrop(&d, w, h, [2]float64{a, b}, [2]float64{low, high})
		if r.Empty() || !r.In(image.Rect(0, 0, w, h)) {
			t.Errorf("%v of %dx%d", r, w, h)
		}
	})
}
