package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"
)

// TestMarks decodes parts of generated and damaged JPEGs in a random order: two
// decoders with the same marks give what one without any gives.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	plain, marks := New(Limits{}), NewMarks(1<<30)
	with := [2]*Decoder{New(Limits{}), New(Limits{})}
	for _, d := range with {
		d.UseMarks(marks)
	}
	found := 0
	for s := range 1500 {
		var input [16]byte
		binary.LittleEndian.PutUint64(input[:], r.Uint64())
		binary.LittleEndian.PutUint64(input[8:], r.Uint64())
		made := generate(input[:])
		file := made.file
		if made.damage {
			file = damaged(file, r)
		}
		for i := range 6 {
			info, err := plain.ReadHeader(file)
			if err != nil {
				break
			}
			x, y := r.IntN(info.Width), r.IntN(info.Height)
			need := image.Rect(x, y, x+1+r.IntN(info.Width-x), y+1+r.IntN(info.Height-y))
			d := with[i%2]
			want, got := decodePart(plain, file, need), decodePart(d, file, need)
			if !bytes.Equal(want, got) {
				t.Fatalf("image %d, %v: it differs with marks: %.80q, %.80q", s, need, want, got)
			}
			if d.marking.known > 1 {
				found++
			}
		}
	}
	if found < 500 {
		t.Errorf("marks were used %d times", found)
	}
}

// decodePart returns all that comes of decoding a part of an image.
func decodePart(d *Decoder, file []byte, need image.Rectangle) []byte {
	if _, err := d.ReadHeader(file); err != nil {
		return []byte(err.Error())
	}
	p, err := d.Decode(need)
	if err != nil {
		return []byte(err.Error())
	}
	out := fmt.Append(nil, p.Size, p.Bounds, p.Model, p.SubX, p.SubY, d.ImageInfo())
	for i, plane := range p.Planes {
		height := p.Bounds.Dy()
		if i > 0 {
			height = ceilDiv(height, p.SubY)
		}
		out = append(out, plane[:min(len(plane), height*p.Stride[i])]...)
	}
	return out
}

// TestMarksAreFull adds files until there is no room, and some more.
func TestMarksAreFull(t *testing.T) {
	m := NewMarks(10 * (markedBytes + 4*markBytes))
	for i := range 20 {
		m.keep(markedFile{uint64(i), i}, make([]mark, 4))
		m.keep(markedFile{uint64(i), i}, make([]mark, 3)) // fewer than are known
	}
	for i := range 20 {
		if n := len(m.find(markedFile{uint64(i), i})); n != 4 && i < 10 || n != 0 && i >= 10 {
			t.Errorf("file %d of 20 has %d marks", i, n)
		}
	}
}
