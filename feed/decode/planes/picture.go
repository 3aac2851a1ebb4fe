// Package planes holds a decoded image as planes of samples (Picture) and turns them into rows
// of red, green and blue (RowReader), with the same result as libjpeg-turbo.
//
// It knows no format and no file: decode fills the planes, feed/transform and feed/picture read
// the rows.
package planes

import (
	"fmt"
	"image"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// HasSIMD says whether the kernels of a RowReader can be used here.
var HasSIMD = kernels.Run(kernels.Colour)

// Model says what the planes of a Picture are.
type Model uint8

// The models.
const (
	Grey  Model = iota // one plane
	YCbCr              // three planes, Cb and Cr possibly subsampled
	RGB                // three planes of the same size
)

// Picture is a decoded part of an image: 8-bit planes, with the samples around it that
// upsampling needs. It is valid until the next call of the Decoder.
type Picture struct {
	Size   image.Point     // width and height of the whole image
	Bounds image.Rectangle // the pixels that the planes hold; contains the requested part
	Model  Model
	// SubX and SubY are the subsampling of Cb and Cr, 1 without subsampling. A chroma plane begins
	// at (Bounds.Min.X/SubX, Bounds.Min.Y/SubY); Bounds.Min is a multiple of both. Chroma
	// samples from ceil(Size/Sub) on are padding.
	SubX, SubY int
	Planes     [3][]byte
	Stride     [3]int // bytes from one row of a plane to the next
}

// MakeRoom returns s with length n, in new memory if it is too short. The content is not kept.
func MakeRoom[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (p *Picture) subsampling(c int) (x, y int) {
	if c == 0 || p.Model != YCbCr {
		return 1, 1
	}
	return p.SubX, p.SubY
}

// checkPart checks the conditions that reading the part need of a picture relies on.
func (p *Picture) checkPart(need image.Rectangle) error {
	if need.Empty() || !need.In(p.Bounds) {
		return fmt.Errorf("pixels %v are needed of a picture that holds %v of %v", need, p.Bounds, p.Size)
	}
	if err := p.checkPlanes(); err != nil {
		return err
	}
	if p.Model == YCbCr && !p.Bounds.Union(p.withChromaBorder(need)).Eq(p.Bounds) {
		return fmt.Errorf("pixels %v need chroma of %v, the picture holds %v", need, p.withChromaBorder(need), p.Bounds)
	}
	return nil
}

// checkPlanes checks that the planes are as large as the picture says.
func (p *Picture) checkPlanes() error {
	if !p.Bounds.In(image.Rectangle{Max: p.Size}) {
		return fmt.Errorf("a picture of %v cannot hold %v", p.Size, p.Bounds)
	}
	if p.Model == YCbCr && (p.SubX < 1 || p.SubY < 1 || p.Bounds.Min.X%p.SubX != 0 || p.Bounds.Min.Y%p.SubY != 0) {
		return fmt.Errorf("a picture that begins at %v cannot have chroma subsampled by %d x %d", p.Bounds.Min,
			p.SubX, p.SubY)
	}
	planes := 3
	if p.Model == Grey {
		planes = 1
	}
	for c := range planes {
		subX, subY := p.subsampling(c)
		w := (p.Bounds.Max.X+subX-1)/subX - p.Bounds.Min.X/subX
		h := (p.Bounds.Max.Y+subY-1)/subY - p.Bounds.Min.Y/subY
		if p.Stride[c] < w || len(p.Planes[c]) < (h-1)*p.Stride[c]+w {
			return fmt.Errorf("plane %d has %d bytes in rows of %d: too few for %d x %d samples", c, len(p.Planes[c]),
				p.Stride[c], w, h)
		}
	}
	return nil
}

// withChromaBorder returns need with the pixels of the chroma samples that fancy upsampling
// reads, within the image.
func (p *Picture) withChromaBorder(need image.Rectangle) image.Rectangle {
	grow := func(low, high, size, sub int) (int, int) {
		if sub != 2 {
			return low, high
		}
		return max(0, ((low+1)/2-1)*2), min(size, (high/2+1)*2)
	}
	r := need
	r.Min.X, r.Max.X = grow(need.Min.X, need.Max.X, p.Size.X, p.SubX)
	r.Min.Y, r.Max.Y = grow(need.Min.Y, need.Max.Y, p.Size.Y, p.SubY)
	return r
}

// Vector is how many bytes the kernels read and write at once. Each plane's row in dst must
// have room for the width rounded up to it.
const Vector = 32
