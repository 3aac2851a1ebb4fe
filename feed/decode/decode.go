// Package decode turns the bytes of an image file into pixels.
package decode

import (
	"errors"
	"image"
	"time"
)

// Limits are the caps in front of every parser. A zero field means the default.
type Limits struct {
	Pixels int           // width x height, default 178,956,970: where Pillow raises DecompressionBombError
	Scans  int           // of a progressive JPEG, default 100
	Time   time.Duration // of one image, default 2 s
}

// Info is what the header says.
type Info struct {
	Width, Height int
	Format        string // "jpeg", "png", "webp", "bmp", "gif"
	Progressive   bool
	// Inexact says why the pixels may differ from Pillow's; "" where they are
	// the same bytes.
	Inexact string
}

// Decoder holds the scratch memory of one thread; calls must not overlap.
type Decoder struct{}

// New returns a Decoder.
func New(limits Limits) *Decoder { return &Decoder{} }

// Open reads the header of an image file; data must stay as it is until the last
// Decode. Nothing is decoded yet: the size is known, so that a crop can be drawn.
func (d *Decoder) Open(data []byte) (Info, error) { return Info{}, errors.New("not yet") }

// Decode returns the part of the opened image that lies in need (in pixels of
// the image, not empty, within it), and what upsampling needs around it.
func (d *Decoder) Decode(need image.Rectangle) (*Picture, error) { return nil, errors.New("not yet") }
