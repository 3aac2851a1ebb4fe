package planes

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"
)

// TestRowKernelsMatchGo reads random parts of random pictures with the
// kernels and without. The planes end where their memory does.
func TestRowKernelsMatchGo(t *testing.T) {
	if !HasSIMD {
		t.Skip("this processor runs no kernels")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		p := randomPlanes(rng)
		x, y := rng.IntN(p.Size.X), rng.IntN(p.Size.Y)
		need := image.Rect(x, y, x+1+rng.IntN(p.Size.X-x), y+1+rng.IntN(p.Size.Y-y))
		simd, plain := readRows(t, p, need, true), readRows(t, p, need, false)
		if !bytes.Equal(simd, plain) {
			t.Fatalf("pixels %v of %v, chroma 1/%d x 1/%d: the kernels give other bytes than plain Go", need, p.Size, p.SubX, p.SubY)
		}
	}
}

// TestPartMatchesDefinition takes pixels apart whose memory ends with them, with the kernel and without.
func TestPartMatchesDefinition(t *testing.T) {
	defer func(before bool) { HasSIMD = before }(HasSIMD)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, HasSIMD = range []bool{HasSIMD, false} {
		for n := range 200 {
			pixels, bands := make([]byte, 3*n), [3][]byte{make([]byte, n), make([]byte, n), make([]byte, n)}
			for i := range pixels {
				pixels[i] = byte(rng.Uint32())
			}
			Part(bands[0], bands[1], bands[2], pixels)
			for i, v := range pixels {
				if bands[i%3][i/3] != v {
					t.Fatalf("%d pixels: byte %d is %d, expected %d", n, i, bands[i%3][i/3], v)
				}
			}
		}
	}
}

func randomPlanes(rng *rand.Rand) *Picture {
	p := &Picture{Size: image.Point{1 + rng.IntN(150), 1 + rng.IntN(12)}, Model: YCbCr, SubX: 1 + rng.IntN(4), SubY: 1 + rng.IntN(4)}
	p.Bounds = image.Rectangle{Max: p.Size}
	for c := range p.Planes {
		subX, subY := p.subsampling(c)
		w, h := (p.Size.X+subX-1)/subX, (p.Size.Y+subY-1)/subY
		p.Stride[c] = w + rng.IntN(3)
		p.Planes[c] = make([]byte, (h-1)*p.Stride[c]+w)
		for i := range p.Planes[c] {
			p.Planes[c][i] = byte(rng.Uint32())
		}
	}
	return p
}

func readRows(t *testing.T, p *Picture, need image.Rectangle, simd bool) (pixels []byte) {
	t.Helper()
	r := RowReader{SIMD: simd}
	left, width, err := r.Begin(p, need)
	if err != nil {
		t.Fatal(err)
	}
	stride := (width + Vector - 1) / Vector * Vector
	row := make([]byte, 3*stride)
	for y := need.Min.Y; y < need.Max.Y; y++ {
		r.Read(y, row, stride)
		for c := range 3 {
			pixels = append(pixels, row[c*stride+need.Min.X-left:][:need.Dx()]...)
		}
	}
	return pixels
}

// TestEveryColour holds the kernel's shortened products against the definition, for
// all pairs of chroma.
func TestEveryColour(t *testing.T) {
	luma, cb, cr := make([]byte, 256), make([]byte, 256), make([]byte, 256)
	got := make([]byte, 3*256)
	for b := range 256 {
		for i := range 256 {
			luma[i], cb[i], cr[i] = byte(i*7+b), byte(b), byte(i)
		}
		for _, simd := range []bool{false, HasSIMD} {
			rows := RowReader{SIMD: simd, width: 256}
			rows.convert(got, 256, luma, cb, cr)
			for i := range 256 {
				y, u, v := float64(luma[i]), float64(b-128), float64(i-128)
				for c, want := range []float64{y + 1.402*v, y - 0.344136*u - 0.714136*v, y + 1.772*u} {
					if d := float64(got[c*256+i]) - max(0, min(want, 255)); d < -0.51 || d > 0.51 {
						t.Fatalf("Y %d Cb %d Cr %d: channel %d is %d, expected %.2f", luma[i], b, i, c, got[c*256+i], want)
					}
				}
			}
		}
	}
}

// TestRowsRefuse: a picture that lacks the needed part is an error, not a panic.
func TestRowsRefuse(t *testing.T) {
	good := randomPlanes(rand.New(rand.NewPCG(5, 6)))
	good.Size, good.SubX, good.SubY = image.Point{40, 8}, 2, 2
	good.Bounds = image.Rect(8, 2, 32, 6)
	for c, n := range []int{24, 12, 12} {
		good.Stride[c], good.Planes[c] = n, make([]byte, 24*4)
	}
	need := image.Rect(12, 3, 28, 5)
	var r RowReader
	if _, _, err := r.Begin(good, need); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(p *Picture){
		"outside":        func(p *Picture) { p.Bounds.Max.X = 27 },
		"no context":     func(p *Picture) { p.Bounds.Min.X = 12 },
		"short plane":    func(p *Picture) { p.Planes[1] = p.Planes[1][:20] },
		"short rows":     func(p *Picture) { p.Stride[0] = 20 },
		"no subsampling": func(p *Picture) { p.SubX = 0 },
		"odd begin":      func(p *Picture) { p.Bounds.Min.Y = 1 },
		"beyond":         func(p *Picture) { p.Size.X = 30 },
	} {
		bad := *good
		spoil(&bad)
		if _, _, err := r.Begin(&bad, need); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
