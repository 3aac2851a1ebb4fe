// Package decode turns the bytes of an image file into pixels.
//
// Baseline JPEG, which is nearly all of a training set, is decoded here from the
// bits on: header.go reads the markers, bits.go and huffman.go the bits, scan.go
// the blocks, idct.go turns them into planes. Only what the asked part needs is
// transformed, and nothing below it is decoded. progressive.go is for JPEGs whose
// coefficients come in several scans, other.go for what libraries read. The planes
// are the bytes that libjpeg-turbo gives (accurate integer IDCT, on x86-64 with AVX2).
package decode

import (
	"fmt"
	"image"
	"time"
)

// Limits are the caps in front of every parser. A zero field means the default.
type Limits struct {
	Pixels int           // width x height, default 178,956,970: where Pillow raises DecompressionBombError
	Scans  int           // of a progressive JPEG, default 100
	Time   time.Duration // of one image, default 2 s
	Memory int           // bytes for one image, or for the asked part of a baseline JPEG; default 240 MiB
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
type Decoder struct {
	limits Limits
	info   Info
	way    way

	jpeg   jpeg
	first  scan // of jpeg
	tables tableCache
	reader mcuReader
	plain  []byte // entropy-coded data without stuffing
	blocks blockBuffer

	// Where the blocks of a chunk go, in their order: the place in the MCU, the
	// offset from the chunk's place in the plane, and the quantisation of two.
	spots   [maxBlocks]image.Point
	offsets [chunk + maxBlocks]int
	quants  [maxComponents][maxComponents]pairQuant
	pairs   [(chunk + maxBlocks) / 2]*pairQuant

	planes [3][]byte // of the Picture
	pic    Picture

	coefficients coefficients // coefficients.go
	cmyk         cmyk         // cmyk.go
	other        other        // other.go
}

// way is how an opened image is decoded.
type way uint8

const (
	unopened         way = iota
	fromBaseline         // one pass over one scan
	fromCoefficients     // several scans: coefficients of the whole image first
	fromLibrary
)

// New returns a Decoder.
func New(limits Limits) *Decoder { return &Decoder{limits: limits} }

// Open reads the header of an image file; data must stay as it is until the last
// Decode. Nothing is decoded yet: the size is known, so that a crop can be drawn.
func (d *Decoder) Open(data []byte) (Info, error) {
	d.way = unopened
	format := sniff(data)
	switch format {
	case "":
		return Info{}, unread(data)
	case "jpeg":
		return d.openJPEG(data)
	}
	info, err := d.other.open(data, format, d.limits)
	if err != nil {
		return Info{}, err
	}
	d.info, d.way = info, fromLibrary
	return info, nil
}

func (d *Decoder) openJPEG(data []byte) (Info, error) {
	first, err := d.jpeg.begin(data)
	if err != nil {
		return Info{}, err
	}
	j := &d.jpeg
	if err := d.limits.checkPixels(j.width, j.height); err != nil {
		return Info{}, err
	}
	switch {
	case j.precision != 8:
		return Info{}, &Error{Unsupported, -1, fmt.Sprintf("a JPEG of %d bits per sample; 8 are read", j.precision)}
	case j.sof > 2:
		return Info{}, &Error{Unsupported, -1, fmt.Sprintf("a JPEG of coding process SOF%d (lossless, hierarchical or arithmetic); baseline, extended and progressive are read", j.sof)}
	}
	if err := j.checkSampling(); err != nil {
		return Info{}, err
	}
	if err := j.checkDensity(); err != nil {
		return Info{}, err
	}
	d.first, d.coefficients.read = first, false
	j.assumeTables()
	d.info = Info{Width: j.width, Height: j.height, Format: "jpeg", Progressive: j.sof == 2}
	d.way = fromBaseline
	if j.sof == 2 || first.n < j.ncomp || j.ncomp == 4 {
		d.way = fromCoefficients
		if err := d.limits.checkMemory(j.memory()); err != nil {
			return Info{}, err
		}
	}
	return d.info, nil
}

// Info is what is known of the opened image. What makes its pixels inexact may
// stand behind the header, so that it is found by Decode.
func (d *Decoder) Info() Info { return d.info }

// Decode returns the part of the opened image that lies in need (in pixels of
// the image, not empty, within it), and what upsampling needs around it.
func (d *Decoder) Decode(need image.Rectangle) (*Picture, error) {
	whole := image.Rect(0, 0, d.info.Width, d.info.Height)
	if d.way == unopened || need.Empty() || !need.In(whole) {
		return nil, fmt.Errorf("decode: %v was asked for, of an image of %v that is open", need, whole)
	}
	switch d.way {
	case fromCoefficients:
		return d.progressive(need)
	case fromLibrary:
		return d.other.decode(need)
	}
	return d.baseline(need)
}
