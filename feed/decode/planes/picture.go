// Package planes holds a decoded image as planes of samples (Picture) and turns them into rows
// of red, green and blue (RowReader), with the same result as libjpeg-turbo.
//
// It knows no format and no file: decode fills the planes, feed/transform and feed/picture read
// the rows.
package planes

import (
	"image"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// HasSIMD says whether the kernels of a RowReader can be used here.
var HasSIMD = kernels.Run(kernels.Colour)

// Part splits pixels of three bytes into channels, as many as red has room for.
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
