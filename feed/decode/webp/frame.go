package webp

import (
	"encoding/binary"
	"image"
	"math/bits"
)

// boolReader decodes bits of given odds (RFC 6386, section 7).
type boolReader struct {
	data  []byte
	value uint64
	have  int    // number of bits in value after the eight being compared; negative: load more
	span  uint32 // the range minus one
	ended bool   // bits after the end were read
}

func newBoolReader(data []byte) boolReader { return boolReader{data: data, have: -8, span: 254} }

// load loads seven bytes, or one if fewer than eight are left. A stream that begins with a
// value that no encoder writes overflows value. It decodes to the same as in libwebp only if
// the bytes are loaded in the same portions.
func (r *boolReader) load() {
	switch {
	case len(r.data) >= 8:
		r.value, r.have, r.data = r.value<<56|binary.BigEndian.Uint64(r.data)>>8, r.have+56, r.data[7:]
	case len(r.data) > 0:
		r.value, r.have, r.data = r.value<<8|uint64(r.data[0]), r.have+8, r.data[1:]
	default:
		r.value, r.have, r.ended = r.value<<8, r.have+8, true
	}
}

// readBit reads a bit that is 0 with a probability of odds/256.
func (r *boolReader) readBit(odds uint8) int {
	if r.have < 0 {
		r.load()
	}
	split := r.span * uint32(odds) >> 8
	bit := 0
	var span uint32
	if uint32(r.value>>r.have) > split {
		span, bit = r.span-split, 1
		r.value -= uint64(split+1) << r.have
	} else {
		span = split + 1
	}
	shift := bits.LeadingZeros8(uint8(span))
	r.span = span<<shift - 1
	r.have -= shift
	return bit
}

// readSign reads the sign of a coefficient: a bit of odds 128, in libwebp's way.
func (r *boolReader) readSign() bool {
	if r.have < 0 {
		r.load()
	}
	split := r.span >> 1
	bit := int32(split-uint32(r.value>>r.have)) < 0
	if bit {
		r.value -= uint64(split+1) << r.have
		r.span--
	}
	r.have--
	r.span |= 1
	return bit
}

func (r *boolReader) readFlag() bool { return r.readBit(128) == 1 }

// readUint reads n bits, the highest first.
func (r *boolReader) readUint(n int) (v int) {
	for range n {
		v = 2*v + r.readBit(128)
	}
	return v
}

// readSigned reads n bits and a sign.
func (r *boolReader) readSigned(n int) int {
	v := r.readUint(n)
	if r.readFlag() {
		return -v
	}
	return v
}

// readOptional reads a flag and, if it is set, n bits and a sign.
func (r *boolReader) readOptional(n int) int {
	if !r.readFlag() {
		return 0
	}
	return r.readSigned(n)
}

const (
	startCode   = 10 // bytes before the first partition
	segments    = 4
	largestSide = 0x3fff
)

// steps are the quantizers of a segment: for the first coefficient, and for the others.
type steps struct{ luma, second, chroma [2]int }

// frame is a lossy picture during decoding (RFC 6386).
type frame struct {
	boolReader              // the first partition: headers and modes
	parts      []boolReader // the other partitions, with coefficients; rows use them in turn

	across, down int // macroblocks
	planes       [3]plane

	segmented, changesSegments, absolute bool
	segmentSteps, segmentLevels          [segments]int
	segmentOdds                          [3]uint8
	steps                                [segments]steps

	simple           bool // the simple filter
	level, sharpness int
	deltas           bool
	ofIntra, ofBlock int // what intra frames and prediction by blocks add to the filter level

	odds     coefficientOdds
	skips    bool // macroblocks without coefficients are flagged
	skipOdds uint8

	above, left []edge // of adjacent macroblocks: one above for each column, one to the left
	filters     []filter
	block       macroblock
	inexact     bool
}

func (f *frame) readHeaders(parts []byte) error {
	f.readUint(2) // colour space and clamping have no effect here
	f.readSegments()
	f.readFilter()
	if err := f.splitParts(parts); err != nil {
		return err
	}
	f.readSteps()
	f.readFlag() // whether to keep the odds for a next frame
	for i := range f.odds {
		for j := range f.odds[i] {
			for k := range f.odds[i][j] {
				for l := range f.odds[i][j][k] {
					if f.readBit(coefficientChanges[i][j][k][l]) == 1 {
						f.odds[i][j][k][l] = uint8(f.readUint(8))
					}
				}
			}
		}
	}
	if f.skips = f.readFlag(); f.skips {
		f.skipOdds = uint8(f.readUint(8))
	}
	if f.ended {
		return ErrCut
	}
	return nil
}

// readSegments reads how segments differ (section 9.3).
func (f *frame) readSegments() {
	if f.segmented = f.readFlag(); !f.segmented {
		return
	}
	f.changesSegments = f.readFlag()
	if f.readFlag() {
		f.absolute = f.readFlag()
		for i := range f.segmentSteps {
			f.segmentSteps[i] = f.readOptional(7)
		}
		for i := range f.segmentLevels {
			f.segmentLevels[i] = f.readOptional(6)
		}
	}
	if f.changesSegments {
		for i := range f.segmentOdds {
			if f.readFlag() {
				f.segmentOdds[i] = uint8(f.readUint(8))
			}
		}
	}
}

// readFilter reads how to smooth edges (section 9.6).
func (f *frame) readFilter() {
	f.simple, f.level, f.sharpness = f.readFlag(), f.readUint(6), f.readUint(3)
	f.deltas = f.readFlag()
	if !f.deltas || !f.readFlag() {
		return
	}
	var deltas [8]int // four by reference frame, four by mode
	for i := range deltas {
		deltas[i] = f.readOptional(6)
	}
	f.ofIntra, f.ofBlock = deltas[0], deltas[4]
}

// splitParts finds the partitions with coefficients (section 9.5).
func (f *frame) splitParts(data []byte) error {
	n := 1 << f.readUint(2)
	sizes := 3 * (n - 1)
	if len(data) < sizes {
		return ErrCut
	}
	rest := data[sizes:]
	for i := range n - 1 {
		size := min(int24(data[3*i:]), len(rest))
		f.parts = append(f.parts, newBoolReader(rest[:size]))
		rest = rest[size:]
	}
	f.parts = append(f.parts, newBoolReader(rest))
	if len(rest) == 0 {
		return ErrCut
	}
	return nil
}

// readSteps reads the quantizers (section 9.6).
func (f *frame) readSteps() {
	base := f.readUint(7)
	lumaDC, secondDC, secondAC := f.readOptional(4), f.readOptional(4), f.readOptional(4)
	chromaDC, chromaAC := f.readOptional(4), f.readOptional(4)
	at := func(table *[128]int, i, most int) int { return table[min(max(i, 0), most)] }
	for i := range f.steps {
		q := base
		if f.segmented {
			q = f.segmentSteps[i]
			if !f.absolute {
				q += base
			}
		}
		f.steps[i] = steps{
			luma:   [2]int{at(&dcSteps, q+lumaDC, 127), at(&acSteps, q, 127)},
			second: [2]int{2 * at(&dcSteps, q+secondDC, 127), max(8, at(&acSteps, q+secondAC, 127)*155/100)},
			chroma: [2]int{at(&dcSteps, q+chromaDC, 117), at(&acSteps, q+chromaAC, 127)},
		}
	}
}

// plane is luma or chroma, in whole macroblocks. It has a row above and bytes before each row,
// from which blocks at the edge are predicted.
type plane struct {
	pix    []byte
	stride int
	begin  int // offset of the first row
}

const (
	margin    = 16 // before a row, and after it for a block that needs its upper right
	aboveRow  = 127
	beforeRow = 129
)

func (f *frame) makePlanes() {
	for i := range f.planes {
		side := 16
		if i > 0 {
			side = 8
		}
		p := &f.planes[i]
		p.stride = side*f.across + 2*margin
		p.begin = p.stride + margin
		p.pix = make([]byte, p.stride*(side*f.down+1))
		for x := range p.stride {
			p.pix[x] = aboveRow
		}
		for y := range side * f.down {
			p.pix[p.begin+y*p.stride-1] = beforeRow
		}
	}
	f.above, f.left = make([]edge, f.across), make([]edge, 1)
	f.filters = make([]filter, f.across*f.down)
}

func (f *frame) image(width, height int) *image.YCbCr {
	y, cb, cr := &f.planes[0], &f.planes[1], &f.planes[2]
	return &image.YCbCr{
		Y: y.pix[y.begin:], Cb: cb.pix[cb.begin:], Cr: cr.pix[cr.begin:], YStride: y.stride, CStride: cb.stride,
		SubsampleRatio: image.YCbCrSubsampleRatio420, Rect: image.Rect(0, 0, width, height),
	}
}

// edge is what the macroblocks below and to the right need to know about a macroblock.
type edge struct {
	modes  [4]uint8 // of the blocks along the edge
	filled [8]uint8 // whether those have coefficients: four of luma, two of each chroma
	second uint8    // whether the block of DC coefficients has any
}

// macroblock is the current macroblock.
type macroblock struct {
	segment      int
	skipped      bool
	byBlocks     bool // luma is predicted block by block
	luma, chroma uint8
	modes        [16]uint8
	coefficients [24][16]int16
	filled       [24]uint8 // for each block, the number of coefficients up to the last nonzero one
}

// filter says how to smooth the edges of a macroblock (section 15). With a limit of 0 they are
// not smoothed.
type filter struct {
	limit, inside, sharp int  // steps above limit, or above inside within a side, belong to the picture
	blocks               bool // smooth the edges of its blocks as well
}
