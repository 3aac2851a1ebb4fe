// Package unfilter undoes the filters of a PNG's rows, for pixels of up to four bytes. Each
// pixel depends on the result of the one before it, so only the channels of a pixel can be
// computed in parallel: in vectors, if the processor has them.
package unfilter

import (
	"encoding/binary"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// Assembly says whether the kernels are used. Tests switch them off.
var Assembly = kernels.Run(kernels.Unfilter)

// Rows undoes the filters of rows, whose pixels have each bytes. Each row has a filter byte
// before it. above is a row of zeros without a filter byte. It returns false if a filter does
// not exist.
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

// addRow adds two rows eight bytes at a time, without carries between the bytes.
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

// paethOfBand undoes the Paeth filter for one byte of each pixel, from offset from on.
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

// paethOfColours undoes the Paeth filter for three bytes of each pixel at once, which do not
// depend on each other.
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

// nearestOf returns the Paeth predictor: whichever of left, up and corner is nearest to left +
// up - corner, the first of equals. It has no branches, as the result is unpredictable. With
// limit = 3 corner - left - up: if limit is at least the greater of left and up, the smaller
// one is nearest; if limit is at most the smaller one, the greater one is nearest; else it is
// the corner.
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
