package webp

func (f *frame) filterOf(segment int, byBlocks, blocks bool) filter {
	level := f.level
	if f.segmented {
		level = f.segmentLevels[segment]
		if !f.absolute {
			level += f.level
		}
	}
	if f.deltas {
		level += f.ofIntra
		if byBlocks {
			level += f.ofBlock
		}
	}
	if level = min(max(level, 0), 63); level == 0 {
		return filter{}
	}
	inside := level
	if f.sharpness > 0 {
		inside >>= 1
		if f.sharpness > 4 {
			inside >>= 1
		}
		inside = min(inside, 9-f.sharpness)
	}
	inside = max(inside, 1)
	out := filter{limit: 2*level + inside, inside: inside, blocks: blocks}
	switch {
	case level >= 40:
		out.sharp = 2
	case level >= 15:
		out.sharp = 1
	}
	return out
}

func (f *frame) applyFilters() {
	planes := 3
	if f.simple {
		planes = 1
	}
	for i := range f.filters {
		by := &f.filters[i]
		if by.limit == 0 {
			continue
		}
		x, y := i%f.across, i/f.across
		for j := range planes {
			p, side := &f.planes[j], 16
			if j > 0 {
				side = 8
			}
			p.filterMacroblock(p.begin+side*(y*p.stride+x), side, by, f.simple, x > 0, y > 0)
		}
	}
}

// filterMacroblock smooths the left edge of a macroblock and those of its blocks, then the
// upper edges.
func (p *plane) filterMacroblock(at, side int, by *filter, simple, hasLeft, hasAbove bool) {
	for _, d := range [2]struct {
		across, along int
		outer         bool
	}{{1, p.stride, hasLeft}, {p.stride, 1, hasAbove}} {
		if d.outer {
			p.filterEdge(at, d.across, d.along, side, by, by.limit+4, simple, true)
		}
		if by.blocks {
			for i := 4; i < side; i += 4 {
				p.filterEdge(at+i*d.across, d.across, d.along, side, by, by.limit, simple, false)
			}
		}
	}
}

// filterEdge smooths an edge of the given length. across is the distance between pixels across
// the edge, along the distance along it. outer means that it is a macroblock's edge.
func (p *plane) filterEdge(at, across, along, length int, by *filter, limit int, simple, outer bool) {
	pix := p.pix
	for range length {
		p1, p0, q0, q1 := int(pix[at-2*across]), int(pix[at-across]), int(pix[at]), int(pix[at+across])
		if 4*distance(p0, q0)+distance(p1, q1) <= 2*limit+1 {
			switch {
			case simple:
				filter2(pix, at, across, p1, p0, q0, q1)
			case !isSmooth(pix, at, across, by.inside):
			case distance(p1, p0) > by.sharp || distance(q1, q0) > by.sharp:
				filter2(pix, at, across, p1, p0, q0, q1)
			case outer:
				filter6(pix, at, across, p1, p0, q0, q1)
			default:
				filter4(pix, at, across, p1, p0, q0, q1)
			}
		}
		at += along
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

// isSmooth reports whether the pixels on each side of an edge are similar.
func isSmooth(pix []byte, at, across, inside int) bool {
	for i := range 3 {
		if distance(int(pix[at+i*across]), int(pix[at+(i+1)*across])) > inside ||
			distance(int(pix[at-(i+1)*across]), int(pix[at-(i+2)*across])) > inside {
			return false
		}
	}
	return true
}

func clipSigned(v int) int { return min(max(v, -128), 127) }
func clipSmall(v int) int  { return min(max(v, -16), 15) }

// filter2 changes two pixels.
func filter2(pix []byte, at, across, p1, p0, q0, q1 int) {
	a := 3*(q0-p0) + clipSigned(p1-q1)
	pix[at-across], pix[at] = clip(p0+clipSmall((a+3)>>3)), clip(q0-clipSmall((a+4)>>3))
}

// filter4 changes four pixels.
func filter4(pix []byte, at, across, p1, p0, q0, q1 int) {
	a := 3 * (q0 - p0)
	a1, a2 := clipSmall((a+4)>>3), clipSmall((a+3)>>3)
	a3 := (a1 + 1) >> 1
	pix[at-2*across], pix[at-across] = clip(p1+a3), clip(p0+a2)
	pix[at], pix[at+across] = clip(q0-a1), clip(q1-a3)
}

// filter6 changes six pixels.
func filter6(pix []byte, at, across, p1, p0, q0, q1 int) {
	p2, q2 := int(pix[at-3*across]), int(pix[at+2*across])
	a := clipSigned(3*(q0-p0) + clipSigned(p1-q1))
	a1, a2, a3 := (27*a+63)>>7, (18*a+63)>>7, (9*a+63)>>7
	pix[at-3*across], pix[at-2*across], pix[at-across] = clip(p2+a3), clip(p1+a2), clip(p0+a1)
	pix[at], pix[at+across], pix[at+2*across] = clip(q0-a1), clip(q1-a2), clip(q2-a3)
}
