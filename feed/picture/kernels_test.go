package picture

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
)

// asPlainGo runs a function without the kernels.
func asPlainGo(do func()) {
	for _, can := range []*bool{&canMix, &canEnhance} {
		was := *can
		*can = false
		defer func() { *can = was }()
	}
	do()
}

// made is what comes of noise.
func made(t *testing.T, mode string, width, height int, pixels []byte, ops string) []byte {
	t.Helper()
	p, err := Parse(fmt.Appendf(nil, `{"mode": %q, "size": [%d, %d], "ops": [%s]}`, mode, width, height, ops))
	if err != nil {
		t.Fatalf("%s: %v", ops, err)
	}
	out := make([]byte, p.Output.Bytes())
	if err := NewWorker(decode.Limits{}).Run(p, Source{Pixels: pixels}, out); err != nil {
		t.Fatalf("%s: %v", ops, err)
	}
	return out
}

// madeAlike is what comes of noise with the kernels, which is what comes without.
func madeAlike(t *testing.T, mode string, width, height int, pixels []byte, ops string) []byte {
	t.Helper()
	found := made(t, mode, width, height, pixels, ops)
	asPlainGo(func() {
		t.Helper()
		if !bytes.Equal(found, made(t, mode, width, height, pixels, ops)) {
			t.Fatalf("%s of %d x %d pixels of mode %s: the kernels give other bytes than plain Go", ops, width, height, mode)
		}
	})
	return found
}

func noise(rng *rand.Rand, n int) []byte {
	pixels := make([]byte, n)
	for i := range pixels {
		pixels[i] = byte(rng.Uint32())
	}
	return pixels
}

// eachRed calls a function with all colours of each value of the first byte, in a square.
func eachRed(do func(red, side int, pixels []byte)) {
	const side = 256
	pixels := make([]byte, 3*side*side)
	for red := range side {
		for i := range side * side {
			copy(pixels[3*i:], []byte{byte(red), byte(i), byte(i / side)})
		}
		do(red, side, pixels)
	}
}

// TestWarpKernelsMatchGo has warps of Pillow's, of pictures as small as a pixel and by numbers that lead
// nowhere, with the kernels and without.
func TestWarpKernelsMatchGo(t *testing.T) {
	if !canMix {
		t.Skip("this processor runs no kernels")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	side := func() int { return 1 + rng.IntN([]int{5, 60}[rng.IntN(2)]) }
	mixed := 0
	for range 4000 {
		width, height, toX, toY := side(), side(), side(), side()
		mode, channels := "RGB", 3
		if rng.IntN(4) == 0 {
			mode, channels = "L", 1
		}
		draw := func(by float64) float64 {
			switch v := by * (2*rng.Float64() - 1); rng.IntN(24) {
			case 0:
				return 0
			case 1:
				return v * 1e12
			case 2:
				return math.Round(v)
			default:
				return v
			}
		}
		zoom := 0.1 + 2*rng.Float64()
		name, third := "affine", ""
		if rng.IntN(3) == 0 {
			name, third = "perspective", fmt.Sprintf(", %v, %v", draw(0.02), draw(0.02))
		}
		op := fmt.Sprintf(`[%q, %d, %d, [%v, %v, %v, %v, %v, %v%s], %d, %s]`, name, toX, toY,
			zoom+draw(0.1), draw(1), draw(float64(width)), draw(1), zoom+draw(0.1), draw(float64(height)), third,
			bilinear+rng.IntN(2), map[int]string{1: "[9]", 3: "[9, 200, 77]"}[channels])
		pixels := noise(rng, width*height*channels)
		found := madeAlike(t, mode, width, height, pixels, op)
		if slices.ContainsFunc(found, func(v byte) bool { return v != 9 && v != 200 && v != 77 }) {
			mixed++
		}
	}
	if mixed < 1000 {
		t.Errorf("%d of 4000 pictures have anything but what lies beyond", mixed)
	}
}

// TestColourKernelsMatchGo has Pillow's colours, blurs and turns, of pictures as small as a pixel, with the
// kernels and without.
func TestColourKernelsMatchGo(t *testing.T) {
	if !canEnhance {
		t.Skip("this processor runs no kernels")
	}
	rng := rand.New(rand.NewPCG(7, 8))
	side := func() int { return 1 + rng.IntN([]int{10, 60}[rng.IntN(2)]) }
	for range 1500 {
		factor := []float64{3*rng.Float64() - 1, 0, 1, 1e6, -1e6}[max(0, rng.IntN(20)-15)]
		radius := func() float64 { return []float64{0, rng.Float64(), 5 * rng.Float64(), 80 * rng.Float64()}[rng.IntN(4)] }
		op := []string{
			`["convert", "L"]`, `["posterize", 3]`, `["equalize"]`, fmt.Sprintf(`["color", %v]`, factor), fmt.Sprintf(`["contrast", %v]`, factor),
			fmt.Sprintf(`["sharpness", %v]`, factor), fmt.Sprintf(`["hue", %d]`, rng.IntN(256)),
			fmt.Sprintf(`["gaussian_blur", %v, %v]`, radius(), radius()),
			fmt.Sprintf(`["transpose", %d]`, rotate90+rng.IntN(transverse+1-rotate90)),
		}[rng.IntN(9)]
		width, height, mode := side(), side(), []string{"RGB", "RGB", "L"}[rng.IntN(3)]
		pixels := noise(rng, width*height*bands[mode])
		madeAlike(t, mode, width, height, pixels, op)
	}
}

// TestAllColoursTurned turns the hue of every colour by nothing, and of every fourth red by something.
func TestAllColoursTurned(t *testing.T) {
	if !canEnhance {
		t.Skip("this processor runs no kernels")
	}
	eachRed(func(red, side int, pixels []byte) {
		madeAlike(t, "RGB", side, side, pixels, `["hue", 0]`)
		if red%4 == 0 {
			madeAlike(t, "RGB", side, side, pixels, fmt.Sprintf(`["hue", %d]`, 1+red*37%255))
		}
	})
}
