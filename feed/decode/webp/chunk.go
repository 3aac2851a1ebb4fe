package webp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Damage is an error of data that contradict the format.
type Damage struct {
	At   int // byte in the file, -1 if unknown
	Text string
}

func (d *Damage) Error() string { return d.Text }

func damageAt(at int, format string, args ...any) error {
	return &Damage{at, fmt.Sprintf(format, args...)}
}

// Errors that are not damage.
var (
	ErrCut      = errors.New("the WebP file ends before the image does")
	ErrAnimated = errors.New("an animated WebP: only still ones are read")
)

// chunks is the unread rest of a file within its RIFF. libwebp reads all chunks before the
// picture (WebPDemux), so that damage anywhere, such as in Exif, makes it refuse the file.
type chunks struct {
	rest []byte
	at   int // where rest begins in the file
}

const (
	riffHeader  = 12
	chunkHeader = 8 // name and length
	extended    = 10
	animated    = 1 << 1
	transparent = 1 << 4
	known       = 0x3e // flags of an extended header
)

// next removes the first chunk. Its padding byte is in the capacity of body.
func (c *chunks) next() (name string, body []byte, err error) {
	if len(c.rest) < chunkHeader {
		return "", nil, damageAt(c.at, "%d bytes of a chunk, whose name and length are 8", len(c.rest))
	}
	name = string(c.rest[:4])
	length := int(binary.LittleEndian.Uint32(c.rest[4:]))
	padded := length + length&1
	if padded > len(c.rest)-chunkHeader {
		return "", nil, damageAt(c.at, "a chunk %q of %d bytes, which ends behind the file", name, length)
	}
	body = c.rest[chunkHeader:][:length:padded]
	c.rest, c.at = c.rest[chunkHeader+padded:], c.at+chunkHeader+padded
	return name, body, nil
}

func int24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
