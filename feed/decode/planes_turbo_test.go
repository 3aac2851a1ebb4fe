//go:build turbo && cgo

package decode

import (
	"bytes"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-dev/stoker/feed/decode/oracle"
	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// TestFolderPlanes compares every sample of whole images and of crops under
// STOKER_BENCH_IMAGES with libjpeg-turbo's, before upsampling.
func TestFolderPlanes(t *testing.T) {
	root := os.Getenv("STOKER_BENCH_IMAGES")
	if root == "" {
		t.Skip("STOKER_BENCH_IMAGES names no folder of JPEGs")
	}
	files, _ := filepath.Glob(filepath.Join(root, "*", "*.jpg"))
	more, _ := filepath.Glob(filepath.Join(root, "*.jpg"))
	d := New(Limits{})
	draws := rand.New(rand.NewPCG(1, 2))
	for _, name := range append(files, more...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := d.ReadHeader(data)
		if err != nil {
			t.Fatal(name, err)
		}
		want, _, err := oracle.Planes(data)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, need := range []image.Rectangle{image.Rect(0, 0, info.Width, info.Height), randomResizedCrop(draws, info.Width, info.Height)} {
			got, err := d.Decode(need)
			if err != nil {
				t.Fatal(name, need, err)
			}
			samePlanes(t, name, got, want)
		}
	}
}

func samePlanes(t *testing.T, name string, got *planes.Picture, want []oracle.Plane) {
	t.Helper()
	for i, w := range want {
		box := got.Bounds
		if i > 0 {
			box.Min.X, box.Min.Y = box.Min.X/got.SubX, box.Min.Y/got.SubY
			box.Max.X, box.Max.Y = ceilDiv(box.Max.X, got.SubX), ceilDiv(box.Max.Y, got.SubY)
		}
		for y := box.Min.Y; y < box.Max.Y; y++ {
			g := got.Planes[i][(y-box.Min.Y)*got.Stride[i]:][:box.Dx()]
			if e := w.Pix[y*w.Stride+box.Min.X:][:box.Dx()]; !bytes.Equal(g, e) {
				t.Fatalf("%s: plane %d row %d of %v differs", name, i, y, got.Bounds)
			}
		}
	}
}
