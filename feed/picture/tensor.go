package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/feed/transform"
)

func compileEnd(planes bool) func(*compiler, *arguments) {
	return func(c *compiler, _ *arguments) {
		n := bands[c.mode]
		c.program.end, c.open = &outputForm{planes: planes}, nil
		shape := []int{c.size.Y, c.size.X}
		switch {
		case planes:
			shape = []int{n, c.size.Y, c.size.X}
		case n > 1:
			shape = append(shape, n)
		}
		c.program.Output = Output{"uint8", shape, c.mode}
	}
}

// writeTensor writes the picture to dst.
func (e *outputForm) writeTensor(dst []byte, r *raster, size int) {
	switch {
	case !e.planes && e.table != nil:
		e.writeNumbersTogether(dst, r.planes, size)
		return
	case !e.planes:
		together(dst, r.planes)
		return
	}
	for band, plane := range r.planes {
		to := dst[band*len(plane)*size:][:len(plane)*size]
		if e.table == nil {
			copy(to, plane)
		} else {
			e.table[band].Write(to, plane)
		}
	}
}

// writeNumbersTogether writes interleaved numbers of bands that share a table.
func (e *outputForm) writeNumbersTogether(dst []byte, planes [][]byte, size int) {
	const atOnce = 1024 // so many pixels fit into the first-level cache
	var pixels [3 * atOnce]byte
	parts := make([][]byte, len(planes))
	for at := 0; at < len(planes[0]); at += atOnce {
		end := min(at+atOnce, len(planes[0]))
		for band, plane := range planes {
			parts[band] = plane[at:end]
		}
		bands := pixels[:(end-at)*len(planes)]
		together(bands, parts)
		e.table[0].Write(dst[at*len(planes)*size:], bands)
	}
}

// Table holds the number that each of the 256 values of each band becomes in a tensor.
type Table struct {
	dtype   string
	numbers []*transform.Numbers
	shared  bool // all bands have the same
}

// NewTable takes numbers of single precision, little-endian, 256 for each band. The tensor
// stores them as "float32", "float16" or "bfloat16".
func NewTable(dtype string, bits []byte) (*Table, error) {
	const band = 4 * 256
	if len(bits) == 0 || len(bits) > 3*band || len(bits)%band != 0 || sizes[dtype] < 2 {
		return nil, fmt.Errorf("a table of %d bytes for type %.20q", len(bits), dtype)
	}
	t := &Table{dtype: dtype, shared: bytes.Equal(bits[band:], bits[:len(bits)-band])}
	for ; len(bits) > 0; bits = bits[band:] {
		var values [256]float32
		for v := range values {
			values[v] = math.Float32frombits(binary.LittleEndian.Uint32(bits[4*v:]))
		}
		t.numbers = append(t.numbers, transform.NewNumbers(&values, dtype))
	}
	return t, nil
}

// Become changes a program that ends in bytes to give the table's numbers instead. If bands are
// interleaved, they must share one table.
func (p *Program) Become(t *Table) error {
	e := p.end
	if !e.planes && !t.shared || e.table != nil || bands[p.Output.Mode] != len(t.numbers) {
		return fmt.Errorf("a table for %d bands, for a picture of mode %q that ends as %s", len(t.numbers),
			p.Output.Mode, p.Output.DType)
	}
	e.table, p.Output.DType = t.numbers, t.dtype
	return nil
}
