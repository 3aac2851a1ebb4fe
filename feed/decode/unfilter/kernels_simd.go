//go:build amd64 || arm64

package unfilter

import "encoding/binary"

// undoMost does the pixels of a row but for some at its end, as far as a kernel has the filter. It says where it
// stopped: kernels read up to eight bytes for a pixel and write up to four, and read those of the next one before.
func undoMost(filter byte, row, above []byte, each int) int {
	if filter != 4 && (each == 1 || filter == 2) || filter == 0 {
		return 0
	}
	n := (len(row) - 8) / each
	if n < 1 || len(above) < len(row) {
		return 0
	}
	done := n * each
	next := binary.LittleEndian.Uint32(row[done:])
	switch {
	case filter == 1:
		sub(&row[0], n, each)
	case filter == 3:
		average(&row[0], &above[0], n, each)
	case each == 1:
		paethByte(&row[0], &above[0], n)
	default:
		paeth(&row[0], &above[0], n, each)
	}
	binary.LittleEndian.PutUint32(row[done:], next)
	return done
}
