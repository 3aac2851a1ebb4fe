//go:build amd64 || arm64

package unfilter

import "encoding/binary"

// undoMost undoes the filter for most of a row if there is a kernel for it, and returns how
// many bytes are done. It stops before the end, because kernels read up to eight and write up
// to four bytes per pixel, and read the next pixel in advance.
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
