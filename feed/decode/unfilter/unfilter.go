// Package unfilter adds to the rows of a PNG what their filters took off, for pixels of up to four bytes. What comes
// out of a pixel is needed for the next one, so that its bands are all that can be done at once: in vectors, where
// the processor has them.
package unfilter

import (
	"encoding/binary"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// Assembly says that the kernels run here; tests switch it off.
var Assembly = kernels.Run(kernels.Unfilter)

// Rows changes rows of pixels that have so many bytes each, every row behind a byte that names its filter. above is a
// row of zeros, without that byte; false: there is no such filter.
func Rows(rows, above []byte, each int) bool {
	for stride := 1 + len(above); len(rows) >= stride; rows = rows[stride:] {
		row := rows[1:stride]
		if rows[0] > 4 {
			return false
		}
		undo(rows[0], row, above, each)
		above = row
	}
	return true
}

func undo(filter byte, row, above []byte, each int) {
	done := 0
	if Assembly {
		done = undoMost(filter, row, above, each)
	}
	switch filter {
	case 1:
		for i := max(done, each); i < len(row); i++ {
			row[i] += row[i-each]
		}
	case 2:
		addRow(row, above)
	case 3:
		for i := done; i < each; i++ {
			row[i] += above[i] / 2
		}
		for i := max(done, each); i < len(row); i++ {
			row[i] += uint8((int(row[i-each]) + int(above[i])) / 2)
		}
	case 4:
		if each == 3 && done == 0 {
			paethOfColours(row, above)
			return
		}
		for band := range each {
			paethOfBand(row, above, done+band, each)
		}
	}
}

// addRow adds eight bytes at once, without what one of them hands on to the next.
func addRow(row, above []byte) {
	const low = 0x7f7f7f7f7f7f7f7f
	i := 0
	for ; i+8 <= len(row) && i+8 <= len(above); i += 8 {
		a, b := binary.LittleEndian.Uint64(row[i:]), binary.LittleEndian.Uint64(above[i:])
		binary.LittleEndian.PutUint64(row[i:], (a&low+b&low)^(a^b)&^low)
	}
	for ; i < len(row); i++ {
		row[i] += above[i]
	}
}

// paethOfBand is the filter of that name, for one byte of each pixel from a place on.
func paethOfBand(row, above []byte, from, each int) {
	left, corner := 0, 0
	if from >= each {
		left, corner = int(row[from-each]), int(above[from-each])
	}
	for i := from; i < len(row); i += each {
		up := int(above[i])
		left = (nearestOf(left, up, corner) + int(row[i])) & 255
		row[i], corner = uint8(left), up
	}
}

// paethOfColours does three bytes of each pixel at once: none waits for another.
func paethOfColours(row, above []byte) {
	var r, g, b, cornerR, cornerG, cornerB int
	for len(row) >= 3 && len(above) >= 3 {
		upR, upG, upB := int(above[0]), int(above[1]), int(above[2])
		r = (nearestOf(r, upR, cornerR) + int(row[0])) & 255
		g = (nearestOf(g, upG, cornerG) + int(row[1])) & 255
		b = (nearestOf(b, upB, cornerB) + int(row[2])) & 255
		row[0], row[1], row[2] = uint8(r), uint8(g), uint8(b)
		cornerR, cornerG, cornerB = upR, upG, upB
		row, above = row[3:], above[3:]
	}
}

// nearestOf is which of three is nearest to left + up - corner, the first of equals. It has
// no jump: which one it is cannot be foreseen. That sum is as far from the corner as
// left + up - 2 corner says; beyond the smaller or the greater of the two others, the other one is nearest.
func nearestOf(left, up, corner int) int {
	limit, low, high := 3*corner-left-up, min(left, up), max(left, up)
	nearest := corner
	if high <= limit {
		nearest = low
	}
	if limit <= low {
		nearest = high
	}
	return nearest
}
