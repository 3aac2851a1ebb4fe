package unfilter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// reference is the specification of PNG, 9.2, byte by byte.
func reference(rows []byte, width, each int) {
	above := make([]byte, width)
	for ; len(rows) > 0; rows = rows[1+width:] {
		row := rows[1 : 1+width]
		for i := range row {
			var left, corner int
			if i >= each {
				left, corner = int(row[i-each]), int(above[i-each])
			}
			up := int(above[i])
			switch rows[0] {
			case 1:
				row[i] += byte(left)
			case 2:
				row[i] += byte(up)
			case 3:
				row[i] += byte((left + up) / 2)
			case 4:
				row[i] += byte(predicted(left, up, corner))
			}
		}
		above = row
	}
}

// predicted is the specification's PaethPredictor.
func predicted(a, b, c int) int {
	p := a + b - c
	pa, pb, pc := max(p-a, a-p), max(p-b, b-p), max(p-c, c-p)
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

// TestRows: all filters, at all small widths and some larger ones, match the specification with
// and without kernels, and nothing outside the rows is written.
func TestRows(t *testing.T) {
	defer func(before bool) { Assembly = before }(Assembly)
	widths := []int{100, 255, 256, 1000}
	for i := range 40 {
		widths = append(widths, i+1)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, assembly := range []bool{Assembly, false} {
		Assembly = assembly
		for each := 1; each <= 4; each++ {
			for _, pixels := range widths {
				width, height := pixels*each, 12
				all := make([]byte, 16+height*(1+width)+16)
				for i := range all {
					all[i] = byte(r.Uint32())
					if pixels%2 == 1 { // nearly the same: other branches
						all[i] %= 3
					}
				}
				for y := range height {
					all[16+y*(1+width)] = byte(r.IntN(5))
				}
				want := bytes.Clone(all)
				reference(want[16:len(want)-16], width, each)
				if !Rows(all[16:len(all)-16], make([]byte, width), each) || !bytes.Equal(all, want) {
					t.Fatalf("%d pixels of %d bytes, assembly %t: differs at %s", pixels, each, assembly, firstDifference(all, want))
				}
			}
		}
	}
	if Rows([]byte{0, 1, 5, 1}, []byte{0}, 1) {
		t.Error("a filter 5 was taken")
	}
}

func firstDifference(a, b []byte) string {
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprintf("%d: %d, want %d", i, a[i], b[i])
		}
	}
	return "nothing"
}

// TestPaeth: for all values of three bytes the choice is the specification's, with the kernels and without.
func TestPaeth(t *testing.T) {
	defer func(before bool) { Assembly = before }(Assembly)
	for left := range 256 {
		for up := range 256 {
			for corner := range 256 {
				if got, want := nearestOf(left, up, corner), predicted(left, up, corner); got != want {
					t.Fatalf("nearestOf(%d, %d, %d) = %d, want %d", left, up, corner, got, want)
				}
			}
		}
	}
	// Pairs of pixels: the first one sets left and corner, the second one chooses with a left and a corner of every value.
	for _, each := range []int{1, 4} {
		const pixels = 256
		above, row, want := make([]byte, 2*pixels*each+8), make([]byte, 2*pixels*each+8), make([]byte, 2*pixels*each+8)
		for left := range 256 {
			for up := range 256 {
				for corner := range pixels {
					at := 2 * corner * each
					above[at], above[at+each] = byte(corner), byte(up)
				}
				clear(row)
				for i := range pixels { // gives left for any previous row
					at := 2 * i * each
					before, corner := 0, 0
					if i > 0 {
						before, corner = int(want[at-each]), int(above[at-each])
					}
					row[at] = byte(left - predicted(before, i, corner))
					want[at], want[at+each] = byte(left), byte(predicted(left, up, i))
				}
				undo(4, row, above, each)
				if !bytes.Equal(row[:2*pixels*each], want[:2*pixels*each]) {
					t.Fatalf("left %d, up %d, %d bytes: another choice", left, up, each)
				}
			}
		}
	}
}
