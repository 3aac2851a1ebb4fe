package transform

import (
	"slices"

	"github.com/stoker-dev/stoker/feed/decode/planes"
)

// stripRows is how many rows the horizontal pass processes at once, so that it loads the
// weights only once for all of them.
const stripRows = 4

// splitWeight splits a weight for 16-bit multiplications, as weights have 22 bits and more: it
// is high * 65536 + low with low in [-32768, 32767]. The sums of both parts are exact, so the
// result is that of plain arithmetic.
func splitWeight(v int32) (low, high int16) {
	low = int16(v)
	return low, int16((v - int32(low)) >> 16)
}

// group is how many outputs the horizontal kernel computes at once: 4 in each half of a group,
// from 16 pixels that begin at the half's origin. A step is the stepPixels pixels of each sum
// that one instruction multiplies. The content of a step's cells is described at cellBytes.
//
// If the image shrinks to less than a third, the pixels do not fit: the sums are long, and
// computed in several chunks of pixels.
const (
	group = 8
	lane  = 16
)

// kernelTable is weights in the form of the horizontal kernels.
type kernelTable struct {
	outputs int
	steps   int // per sum; 0: chunks are used
	chunks  int
	beside  int // with chunks: outputs in half a group
	origins []int32
	cells   []byte
	reach   int // bytes of a row that are read
}

func (t *kernelTable) buildTable(w *weights) {
	t.outputs = len(w.first)
	t.steps = (w.size + stepPixels - 1) / stepPixels
	width := lane
	if t.steps > mostSteps || !t.buildGroups(w) {
		t.steps = 0
		width = t.buildChunks(w)
	}
	t.reach = int(slices.Max(t.origins)) + width
}

// buildGroups returns false if the pixels of a half are not within 16.
func (t *kernelTable) buildGroups(w *weights) bool {
	groups := (t.outputs + group - 1) / group
	t.origins = planes.MakeRoom(t.origins, 2*groups)
	t.cells = planes.MakeRoom(t.cells, groups*t.steps*cellBytes)
	for half := range 2 * groups {
		from := min(half*4, t.outputs)
		first := w.first[from:min(from+4, t.outputs)]
		if len(first) == 0 { // after the last output
			t.origins[half] = t.origins[half-1]
			continue
		}
		origin := min(first[0], first[len(first)-1])
		t.origins[half] = origin
		for i, f := range first {
			if int(f-origin+w.count[from+i]) > lane { // pixels without weight may be anywhere
				return false
			}
			values := w.values[(from+i)*w.size:][:w.size]
			at := half/2*t.steps*cellBytes + half%2*16 + i*4
			t.setCells(t.cells[at:], byte(f-origin), values)
		}
	}
	return true
}

// sumStrip is the horizontal pass over stripRows rows. It writes whole groups.
func (t *kernelTable) sumStrip(dst []byte, dstStride int, src []byte, srcStride int) {
	if t.steps > 0 {
		sumGroupsSIMD(dst, dstStride, src, srcStride, t)
		return
	}
	sumChunksSIMD(dst, dstStride, src, srcStride, t)
}
