// Package webp decodes still WebP pictures to the same bytes as libwebp, which Pillow uses, and
// refuses what libwebp refuses.
//
// A file is a RIFF container (container.go) with a lossy frame (lossy.go, RFC 6386) or a
// lossless one (lossless.go). A lossy frame may have separate transparency (alpha.go).
// Animations are not supported. Its caller, feed/decode, limits memory and converts planes to
// RGB.
package webp

import (
	"encoding/binary"
	"fmt"
	"image"
)

// Image is a picture whose header has been read.
type Image struct {
	Width, Height int
	Alpha         bool // Pillow's mode is RGBA

	// Inexact is set by Decode. It means that there are coefficients that no encoder writes:
	// libwebp's vectors wrap for them, plain C does not.
	Inexact bool

	lossy, lossless, alpha []byte // payloads of the chunks
}

// Open reads a file's chunks and the header of its picture.
func Open(data []byte) (*Image, error) {
	if len(data) < riffHeader+chunkHeader {
		return nil, ErrCut
	}
	length := int(binary.LittleEndian.Uint32(data[4:]))
	switch {
	case length < riffHeader:
		return nil, damageAt(4, "a RIFF of %d bytes, which holds no picture", length)
	case length+chunkHeader > len(data):
		return nil, fmt.Errorf("%w: its header says %d bytes, there are %d", ErrCut, length+chunkHeader, len(data))
	}
	c := chunks{data[riffHeader : length+chunkHeader], riffHeader} // bytes after the RIFF are ignored
	m := &Image{}
	var err error
	switch string(c.rest[:4]) {
	case "VP8 ", "VP8L":
		err = m.readSimple(c)
	case "VP8X":
		err = m.readExtended(c)
	default:
		err = damageAt(c.at, "a chunk %q, where VP8, VP8L or VP8X is expected", c.rest[:4])
	}
	return m, err
}

// readSimple reads a file that begins with its picture. libwebp also checks one chunk after it.
func (m *Image) readSimple(c chunks) error {
	at := c.at
	name, body, err := c.next()
	if err != nil {
		return err
	}
	if m.Width, m.Height, err = m.setFrame(name, body, at); err != nil || len(c.rest) == 0 {
		return err
	}
	at = c.at
	if name, _, err = c.next(); err == nil && name == "ALPH" {
		return damageAt(at, "transparency behind the picture")
	}
	return err
}

// readExtended reads a file with an extended header. All its chunks must be complete.
func (m *Image) readExtended(c chunks) error {
	at := c.at
	_, header, err := c.next()
	switch {
	case err != nil:
		return err
	case len(header) != extended:
		return damageAt(at, "an extended header of %d bytes: it has %d", len(header), extended)
	case header[0]&^known != 0:
		return damageAt(at+chunkHeader, "flags %02x in the extended header, of which %02x are known", header[0], known)
	case header[0]&animated != 0:
		return ErrAnimated
	}
	m.Width, m.Height, m.Alpha = 1+int24(header[4:]), 1+int24(header[7:]), header[0]&transparent != 0
	for len(c.rest) > 0 {
		if err := m.readChunk(&c, m.Alpha); err != nil {
			return err
		}
	}
	if m.lossy == nil && m.lossless == nil {
		return damageAt(c.at, "a WebP file without a picture")
	}
	return nil
}

// readChunk reads a chunk after an extended header. Transparency is used only if the header
// announces it.
func (m *Image) readChunk(c *chunks, transparent bool) error {
	at := c.at
	name, body, err := c.next()
	switch {
	case err != nil:
		return err
	case name == "VP8X" || name == "ANMF":
		return damageAt(at, "a chunk %q, which is none of a still picture", name)
	case name == "ALPH":
		if len(c.rest) < chunkHeader || string(c.rest[:4]) != "VP8 " {
			return damageAt(at, "transparency without a lossy picture (VP8) behind it")
		}
		if transparent {
			m.alpha = body
		}
	case name == "VP8 " || name == "VP8L":
		if m.lossy != nil || m.lossless != nil {
			return damageAt(at, "a second picture: a still WebP has one")
		}
		width, height, err := m.setFrame(name, body, at)
		if err == nil && (width != m.Width || height != m.Height) {
			err = damageAt(at, "a picture of %d x %d pixels, of which the header says %d x %d", width, height, m.Width, m.Height)
		}
		return err
	}
	return nil
}

// setFrame stores the picture's data and reads its size. As in libwebp, the data include the
// padding byte.
func (m *Image) setFrame(name string, body []byte, at int) (width, height int, err error) {
	if name == "VP8L" {
		m.lossless = body[:cap(body)]
		width, height, alpha, err := losslessSize(body, at)
		m.Alpha = alpha
		return width, height, err
	}
	m.lossy = body[:cap(body)]
	return frameSize(body, at)
}

// Decode decodes the picture to *image.NRGBA, *image.YCbCr or, with transparency,
// *image.NYCbCrA.
func (m *Image) Decode() (image.Image, error) {
	if m.lossless != nil {
		return decodeLossless(m.lossless, m.Width, m.Height)
	}
	frame, inexact, err := decodeFrame(m.lossy, m.Width, m.Height)
	if m.Inexact = inexact; err != nil {
		return nil, err
	}
	if m.alpha == nil {
		return frame, nil
	}
	alpha, err := decodeAlpha(m.alpha, m.Width, m.Height)
	if err != nil {
		return nil, err
	}
	return &image.NYCbCrA{YCbCr: *frame, A: alpha, AStride: m.Width}, nil
}
