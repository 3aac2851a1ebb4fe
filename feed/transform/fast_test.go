package transform

import (
	"image"
	"math"
	"testing"

	"stoker/feed/decode"
)

// TestFastIsNear bounds the error of the fast mode against the exact one, on pictures
// whose chroma is as smooth as that of photographs.
func TestFastIsNear(t *testing.T) {
	const (
		leastPSNR = 45.0 // dB
		mostMean  = 1.0  // of 255
	)
	w := NewWorker()
	for _, sub := range []image.Point{{2, 2}, {2, 1}, {1, 2}, {1, 1}} {
		var squares, sum, n float64
		largest := 0
		for sample := range uint64(8) {
			picture := photo(500, 375, sub, uint32(sample))
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
		t.Logf("chroma 1/%d x 1/%d: PSNR %.1f dB, mean difference %.3f, largest %d", sub.X, sub.Y, psnr, sum/n, largest)
		if psnr < leastPSNR || sum/n > mostMean {
			t.Errorf("chroma 1/%d x 1/%d: PSNR %.1f dB and mean difference %.2f, promised are %v and %v",
				sub.X, sub.Y, psnr, sum/n, leastPSNR, mostMean)
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
