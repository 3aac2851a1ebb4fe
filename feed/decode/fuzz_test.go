package decode

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// withOracle compares a decode with libjpeg-turbo; set in builds with the tag turbo.
var withOracle func(d *Decoder, file []byte, r *rand.Rand) error

// FuzzDecode decodes what the bytes are, and the JPEG that generate makes out of
// them. Nothing may panic, a part must be what the whole has there, and, with the
// tag turbo, all must be as libjpeg-turbo has it:
//
//	go test -tags turbo -fuzz FuzzDecode ./feed/decode
//
// Coverage costs most of the time: TestDifferential is how many executions are reached.
func FuzzDecode(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/*.*")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 8000 {
			f.Add(data)
		}
	}
	for i := range 64 {
		f.Add([]byte{byte(i), byte(3 * i), byte(i * i), 70, 70})
	}
	d := New(Limits{Pixels: 1 << 22})
	f.Fuzz(func(t *testing.T, data []byte) {
		g := generate(data)
		if g.damage {
			g.file = damaged(g.file, newChooser(data).rand)
		}
		for _, file := range [][]byte{data, g.file} {
			h := fnv.New64a()
			h.Write(file)
			r := rand.New(rand.NewPCG(h.Sum64(), 2))
			err := consistent(d, file, r)
			if err == nil && withOracle != nil && sniffFormat(file) == "jpeg" {
				err = withOracle(d, file, r)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// consistent decodes an image whole and in part and compares the two.
func consistent(d *Decoder, file []byte, r *rand.Rand) error {
	info, err := d.ReadHeader(file)
	if err != nil {
		return nil
	}
	whole, err := d.Decode(image.Rect(0, 0, info.Width, info.Height))
	if err != nil {
		return nil
	}
	kept := *whole
	for i := range kept.Planes {
		kept.Planes[i] = bytes.Clone(kept.Planes[i])
	}
	x, y := r.IntN(info.Width), r.IntN(info.Height)
	need := image.Rect(x, y, x+1+r.IntN(info.Width-x), y+1+r.IntN(info.Height-y))
	part, err := d.Decode(need)
	if err != nil {
		return fmt.Errorf("the whole image of %v decodes, its part %v does not: %w", kept.Size, need, err)
	}
	if !need.In(part.Bounds) || part.Model != kept.Model || part.SubX != kept.SubX || part.SubY != kept.SubY {
		return fmt.Errorf("part %v: planes hold %v of model %d, %dx%d; the whole has model %d, %dx%d",
			need, part.Bounds, part.Model, part.SubX, part.SubY, kept.Model, kept.SubX, kept.SubY)
	}
	for i := range part.Planes {
		subX, subY := part.SubX, part.SubY
		if i == 0 || part.Model != planes.YCbCr {
			subX, subY = 1, 1
		}
		if i > 0 && part.Model == planes.Grey {
			break
		}
		for y := need.Min.Y / subY; y < ceilDiv(need.Max.Y, subY); y++ {
			for x := need.Min.X / subX; x < ceilDiv(need.Max.X, subX); x++ {
				a := kept.Planes[i][(y-kept.Bounds.Min.Y/subY)*kept.Stride[i]+x-kept.Bounds.Min.X/subX]
				b := part.Planes[i][(y-part.Bounds.Min.Y/subY)*part.Stride[i]+x-part.Bounds.Min.X/subX]
				if a != b {
					return fmt.Errorf("plane %d at %d, %d: %d in the whole image, %d in its part %v", i, x, y, a, b, need)
				}
			}
		}
	}
	return nil
}
