// Package planes is what was decoded of an image: planes of samples (Picture), and how
// they become rows of red, green and blue (RowReader), as libjpeg-turbo makes them.
//
// It deliberately knows no format and no file: decode fills the planes, feed/transform
// and feed/picture read the rows.
package planes

import (
	"image"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// HasSIMD says whether the kernels of a RowReader run here.
var HasSIMD = kernels.Run(kernels.Colour)

// Part takes pixels of three bytes apart, as many as red has.
func Part(red, green, blue, pixels []byte) {
	done := 0
	if HasSIMD {
		done = partSIMD(red, green, blue, pixels)
	}
	for i := done; i < len(red); i++ {
		p := pixels[3*i:][:3]
		red[i], green[i], blue[i] = p[0], p[1], p[2]
	}
}

// Model says what a Picture's planes are.
type Model uint8

// The models.
const (
	Grey  Model = iota // one plane
	YCbCr              // three planes, Cb and Cr possibly subsampled
	RGB                // three planes of the same size
)

// Picture is what was decoded of an image: 8-bit planes, of the part that was
// asked for and what upsampling needs around it. It is valid until the Decoder's
// next call.
type Picture struct {
	Size   image.Point     // width and height of the whole image
	Bounds image.Rectangle // the pixels of the image that the planes hold; contains what was asked for
	Model  Model
	// SubX and SubY are the subsampling of Cb and Cr, 1 where there is none. A
	// chroma plane begins at (Bounds.Min.X/SubX, Bounds.Min.Y/SubY); Bounds.Min is
	// a multiple of both. Real chroma samples are those below ceil(Size/Sub): what
	// lies behind them in a plane is padding.
	SubX, SubY int
	Planes     [3][]byte
	Stride     [3]int // bytes from one row of a plane to the next
}

// MakeRoom is s with length n, in new memory where it is too short. What is in it is
// not kept.
func MakeRoom[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
