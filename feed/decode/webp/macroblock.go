package webp

// decodeRow decodes a row of macroblocks: modes from the first partition, coefficients from one
// of the others.
func (f *frame) decodeRow(y int) error {
	part := &f.parts[y%len(f.parts)]
	f.left[0] = edge{}
	for x := range f.across {
		b := &f.block
		f.readModes(&f.above[x], &f.left[0])
		if f.ended {
			return ErrCut
		}
		empty := b.skipped
		if empty {
			f.leaveOut(&f.above[x], &f.left[0])
		} else {
			empty = !f.readCoefficients(part, &f.above[x], &f.left[0])
		}
		if part.ended {
			return ErrCut
		}
		f.filters[y*f.across+x] = f.filterOf(b.segment, b.byBlocks, b.byBlocks || !empty)
		f.reconstruct(x, y)
	}
	return nil
}

// readModes reads how a macroblock is predicted (section 11).
func (f *frame) readModes(above, left *edge) {
	b := &f.block
	b.segment, b.skipped = 0, false
	if f.changesSegments {
		b.segment = f.readBit(f.segmentOdds[0])
		b.segment = 2*b.segment + f.readBit(f.segmentOdds[1+b.segment])
	}
	if f.skips {
		b.skipped = f.readBit(f.skipOdds) == 1
	}
	if b.byBlocks = f.readBit(145) == 0; b.byBlocks {
		for i := range b.modes {
			mode := f.readBlockMode(&modeOdds[above.modes[i%4]][left.modes[i/4]])
			b.modes[i], above.modes[i%4], left.modes[i/4] = mode, mode, mode
		}
	} else {
		b.luma = f.chooseMode([3]uint8{156, 163, 128}, [4]uint8{flat, vertical, horizontal, motion})
		for i := range 4 {
			above.modes[i], left.modes[i] = b.luma, b.luma
		}
	}
	switch {
	case f.readBit(142) == 0:
		b.chroma = flat
	case f.readBit(114) == 0:
		b.chroma = vertical
	case f.readBit(183) == 0:
		b.chroma = horizontal
	default:
		b.chroma = motion
	}
}

// chooseMode reads two bits that choose one of four modes.
func (f *frame) chooseMode(odds [3]uint8, of [4]uint8) uint8 {
	first := f.readBit(odds[0])
	return of[2*first+f.readBit(odds[1+first])]
}

// modeTree lists for each node what follows a 0 and a 1: a node, or the complement of a mode.
var modeTree = [9][2]int8{
	{^flat, 1},
	{^motion, 2},
	{^vertical, 3},
	{4, 6},
	{^horizontal, 5},
	{^rightDown, ^verticalRight},
	{^leftDown, 7},
	{^verticalLeft, 8},
	{^horizontalDown, ^horizontalUp},
}

func (f *frame) readBlockMode(odds *[modes - 1]uint8) uint8 {
	at := int8(0)
	for {
		if at = modeTree[at][f.readBit(odds[at])]; at < 0 {
			return uint8(^at)
		}
	}
}

// leaveOut records that a macroblock has no coefficients.
func (f *frame) leaveOut(above, left *edge) {
	b := &f.block
	above.filled, left.filled = [8]uint8{}, [8]uint8{}
	if !b.byBlocks {
		above.second, left.second = 0, 0
	}
	b.filled = [24]uint8{}
}

// Kinds of blocks of coefficients.
const (
	lumaBehindSecond = iota
	secondOrder
	chromaBlock
	lumaBlock
)

// readCoefficients reads a macroblock's coefficients (section 13), and reports whether any is
// nonzero.
func (f *frame) readCoefficients(r *boolReader, above, left *edge) (some bool) {
	b := &f.block
	b.coefficients = [24][16]int16{}
	steps := &f.steps[b.segment]
	kind, first := lumaBlock, 0
	if !b.byBlocks {
		kind, first = lumaBehindSecond, 1
		var second [16]int16
		n := readBlock(r, &f.odds[secondOrder], above.second+left.second, &steps.second, 0, &second)
		above.second, left.second = min(1, uint8(n)), min(1, uint8(n))
		b.spread(&second)
	}
	for i := range b.coefficients {
		column, row, k, from, by := i%4, i/4, kind, first, &steps.luma
		if i >= 16 {
			column, row, k, from, by = 4+(i-16)/4*2+i%2, 4+(i-16)/4*2+i/2%2, chromaBlock, 0, &steps.chroma
		}
		block := &b.coefficients[i]
		n := readBlock(r, &f.odds[k], above.filled[column]+left.filled[row], by, from, block)
		filled := uint8(0)
		if n > from {
			filled = 1
		}
		above.filled[column], left.filled[row] = filled, filled
		switch {
		case n > 1:
			b.filled[i] = uint8(n)
		case block[0] != 0:
			b.filled[i] = 1
		default:
			b.filled[i] = 0
			continue
		}
		some = true
		f.inexact = f.inexact || sumOf(block) > mostExact
	}
	return some
}

// zigzag is the order of coefficients in the file.
var zigzag = [16]uint8{0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15}

// bands maps a coefficient's position to its row of odds. It has an entry past the last
// position.
var bands = [17]uint8{0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 0}

// extras are the odds of the bits of large coefficients.
var extras = [4][]uint8{
	{173, 148, 140},
	{176, 155, 140, 135},
	{180, 157, 141, 134, 130},
	{254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129},
}

// readBlock reads a block's coefficients from the n-th on, and returns the position after the
// last nonzero one.
func readBlock(r *boolReader, odds *[8][3][11]uint8, beside uint8, by *[2]int, n int, block *[16]int16) int {
	p := &odds[bands[n]][beside]
	for n < 16 {
		if r.readBit(p[0]) == 0 {
			return n
		}
		for r.readBit(p[1]) == 0 {
			if n++; n == 16 {
				return 16
			}
			p = &odds[bands[n]][0]
		}
		v, next := 1, 1
		if r.readBit(p[2]) == 1 {
			v, next = readLarge(r, p), 2
		}
		step := by[min(n, 1)]
		if r.readSign() {
			v = -v
		}
		block[zigzag[n]] = int16(v * step)
		n++
		p = &odds[bands[n]][next]
	}
	return 16
}

// readLarge reads the rest of a coefficient above 1.
func readLarge(r *boolReader, p *[11]uint8) int {
	if r.readBit(p[3]) == 0 {
		if r.readBit(p[4]) == 0 {
			return 2
		}
		return 3 + r.readBit(p[5])
	}
	if r.readBit(p[6]) == 0 {
		if r.readBit(p[7]) == 0 {
			return 5 + r.readBit(159)
		}
		return 7 + 2*r.readBit(165) + r.readBit(145)
	}
	high := r.readBit(p[8])
	kind := 2*high + r.readBit(p[9+high])
	v := 0
	for _, odds := range extras[kind] {
		v = 2*v + r.readBit(odds)
	}
	return v + 3 + 8<<kind
}
