package transform

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode"
)

// TestFastIsNear bounds the error of the fast mode against the exact one, on pictures
// whose chroma is as smooth as that of photographs.
func TestFastIsNear(t *testing.T) {
	const (
		leastPSNR = 45.0 // dB
		mostMean  = 1.0  // of 255
	)
	w := NewWorker()
	for _, c := range []struct {
		size, sub image.Point
		samples   uint64
	}{
		{image.Point{500, 375}, image.Point{2, 2}, 8},
		{image.Point{500, 375}, image.Point{2, 1}, 8},
		{image.Point{500, 375}, image.Point{1, 2}, 8},
		{image.Point{500, 375}, image.Point{1, 1}, 8},
		{image.Point{1600, 1200}, image.Point{2, 2}, 3},
	} {
		var squares, sum, n float64
		largest := 0
		for sample := range c.samples {
			picture := photo(c.size.X, c.size.Y, c.sub, uint32(sample))
			exact := sampled(t, w, picture, false, sample)
			for i, v := range sampled(t, w, picture, true, sample) {
				d := math.Abs(float64(v) - float64(exact[i]))
				squares += d * d
				sum += d
				largest = max(largest, int(d))
				n++
			}
		}
		psnr := 10 * math.Log10(255*255*n/squares)
		t.Logf("%v, chroma 1/%d x 1/%d: PSNR %.1f dB, mean difference %.3f, largest %d", c.size, c.sub.X, c.sub.Y, psnr, sum/n, largest)
		if psnr < leastPSNR || sum/n > mostMean {
			t.Errorf("%v, chroma 1/%d x 1/%d: PSNR %.1f dB and mean difference %.2f, promised are %v and %v",
				c.size, c.sub.X, c.sub.Y, psnr, sum/n, leastPSNR, mostMean)
		}
	}
}

// photo has noise and hard edges in luma, and chroma that follows a few softer ones, in
// colours that few pixels clip.
func photo(width, height int, sub image.Point, seed uint32) *decode.Picture {
	p := subsampled(width, height, sub.X, sub.Y, seed)
	for i, v := range p.Planes[0] {
		p.Planes[0][i] = 64 + v/2
	}
	for c := 1; c < 3; c++ {
		for i := range p.Planes[c] {
			x, y := float64(i%p.Stride[c]*sub.X), float64(i/p.Stride[c]*sub.Y)
			edge := math.Tanh((x*math.Cos(float64(seed))+y*math.Sin(float64(seed))-100)/6) * 25
			wave := 20 * math.Sin(x/37+float64(c)) * math.Cos(y/29)
			p.Planes[c][i] = byte(128 + edge + wave)
		}
	}
	return p
}

// sampled is one sample of the usual transforms as bytes.
func sampled(t *testing.T, w *Worker, picture *decode.Picture, fast bool, sample uint64) []byte {
	t.Helper()
	out := Output{DType: "uint8", Layout: "nchw"}
	p, err := Compile(imageNet(out), out, fast)
	if err != nil {
		t.Fatal(err)
	}
	choice, err := p.Choose(picture.Size.X, picture.Size.Y, 1, 2, sample)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, p.Bytes())
	if err := w.Apply(p, choice, picture, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

// TestNarrowWeights holds the 7-bit weights of many resizes to what the kernels take
// for granted, and near the weights that they round.
func TestNarrowWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var w weights
	var n narrow
	for range 5000 {
		length, size := 2+rng.IntN(600), 1+rng.IntN(300)
		w.compute(filters["bilinear"], length, [2]float32{rng.Float32(), float32(length) - rng.Float32()}, size, 0, size)
		if rng.IntN(2) == 0 {
			w.reverse()
		}
		if !n.build(&w) {
			if w.size <= mostNarrow && n.high-n.low > 1 {
				t.Fatalf("%d to %d: no weights of 7 bits", length, size)
			}
			continue
		}
		for i, first := range n.first {
			sum, centre, exact := 0, 0.0, 0.0
			values := n.values[i*n.size:][:n.size]
			for j, v := range values {
				sum += int(v)
				centre += float64(int(first)+j) * float64(v) / narrowOne
				if v >= narrowOne || v > 0 && j >= int(n.count[i]) {
					t.Fatalf("%d to %d, output %d: weights %v, of which %d count", length, size, i, values, n.count[i])
				}
			}
			for j, v := range w.values[i*w.size:][:w.size] {
				exact += float64(int(w.first[i])+j) * float64(v) / (1 << weightBits)
			}
			if sum != narrowOne || n.count[i] < 2 || int(first) < n.low || int(first+n.count[i]) > n.high || math.Abs(centre-exact) > 0.15 {
				t.Fatalf("%d to %d, output %d: weights %v from %d, of inputs %d to %d, centre %.3f instead of %.3f",
					length, size, i, values, first, n.low, n.high, centre, exact)
			}
		}
	}
}
