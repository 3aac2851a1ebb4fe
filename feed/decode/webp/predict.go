package webp

// reconstruct predicts a macroblock and adds its residual.
func (f *frame) reconstruct(x, y int) {
	b := &f.block
	luma := &f.planes[0]
	at := luma.begin + 16*y*luma.stride + 16*x
	if b.byBlocks {
		f.reconstructBlocks(luma, at, x, y)
	} else {
		luma.predict(at, 16, b.luma, x > 0, y > 0)
		for i := range 16 {
			f.addResidual(luma, at+i/4*4*luma.stride+i%4*4, i)
		}
	}
	for i := range 2 {
		p := &f.planes[1+i]
		at := p.begin + 8*y*p.stride + 8*x
		p.predict(at, 8, b.chroma, x > 0, y > 0)
		for j := range 4 {
			f.addResidual(p, at+j/2*4*p.stride+j%2*4, 16+4*i+j)
		}
	}
}

func (f *frame) addResidual(p *plane, at, block int) {
	if n := f.block.filled[block]; n > 0 {
		p.addBlock(at, &f.block.coefficients[block], n)
	}
}

// reconstructBlocks predicts luma block by block. The right column of blocks uses the pixels to
// the upper right of the macroblock in all rows.
func (f *frame) reconstructBlocks(p *plane, at, x, y int) {
	upper := p.pix[at-p.stride+16:][:4]
	if y > 0 && x == f.across-1 {
		for i := range upper {
			upper[i] = p.pix[at-p.stride+15]
		}
	}
	var right [4]byte
	copy(right[:], upper)
	for i, mode := range f.block.modes {
		to := at + i/4*4*p.stride + i%4*4
		next := p.pix[to-p.stride+4:][:4]
		if i%4 == 3 {
			next = right[:]
		}
		p.predictBlock(to, mode, next)
		f.addResidual(p, to, i)
	}
}

// predict predicts a macroblock's square from the row above and the column to the left.
func (p *plane) predict(at, side int, mode uint8, hasLeft, hasAbove bool) {
	above := p.pix[at-p.stride:][:side]
	switch mode {
	case vertical:
		for y := range side {
			copy(p.pix[at+y*p.stride:], above)
		}
	case horizontal:
		for y := range side {
			fill(p.pix[at+y*p.stride:][:side], p.pix[at+y*p.stride-1])
		}
	case motion:
		p.predictMotion(at, side)
	default:
		sum, n := 0, 0
		if hasAbove {
			for _, v := range above {
				sum += int(v)
			}
			n += side
		}
		if hasLeft {
			for y := range side {
				sum += int(p.pix[at+y*p.stride-1])
			}
			n += side
		}
		value := uint8(128)
		if n > 0 {
			value = uint8((sum + n/2) / n)
		}
		for y := range side {
			fill(p.pix[at+y*p.stride:][:side], value)
		}
	}
}

func fill(row []byte, v byte) {
	for i := range row {
		row[i] = v
	}
}

// predictMotion continues the gradients of the row above and the column to the left.
func (p *plane) predictMotion(at, side int) {
	above := p.pix[at-p.stride-1:][:side+1]
	for y := range side {
		row := p.pix[at+y*p.stride-1:][:side+1]
		by := int(row[0]) - int(above[0])
		for x := 1; x <= side; x++ {
			row[x] = clip(int(above[x]) + by)
		}
	}
}

// predictBlock predicts a block of 4 x 4 (section 12.3). next are the pixels to the right of
// those above.
func (p *plane) predictBlock(at int, mode uint8, next []byte) {
	b := block{pix: p.pix[at:], stride: p.stride}
	for i := range 4 {
		b.edge[i] = int(p.pix[at+(3-i)*p.stride-1])
		b.edge[5+i] = int(p.pix[at-p.stride+i])
		b.edge[9+i] = int(next[i])
	}
	b.edge[4] = int(p.pix[at-p.stride-1])
	switch mode {
	case flat:
		b.predictFlat()
	case motion:
		p.predictMotion(at, 4)
	case vertical:
		for i := range 16 {
			b.set(i%4, i/4, b.mean3(5+i%4))
		}
	case horizontal:
		for y := range 3 {
			fill(b.pix[y*b.stride:][:4], b.mean3(3-y))
		}
		fill(b.pix[3*b.stride:][:4], b.first())
	case rightDown:
		for i := range 16 {
			b.set(i%4, i/4, b.mean3(4+i%4-i/4))
		}
	case leftDown:
		for i := range 15 {
			b.set(i%4, i/4, b.mean3(6+i%4+i/4))
		}
		b.set(3, 3, uint8((b.edge[11]+3*b.edge[12]+2)>>2))
	case verticalRight:
		b.predictVerticalRight()
	case verticalLeft:
		b.predictVerticalLeft()
	case horizontalDown:
		b.predictHorizontalDown()
	case horizontalUp:
		b.predictHorizontalUp()
	}
}

// block is a block of 4 x 4 pixels, with its edge from the lower left over the corner to the
// upper right.
type block struct {
	pix    []byte
	stride int
	edge   [13]int
}

func (b *block) set(x, y int, v uint8) { b.pix[y*b.stride+x] = v }

func (b *block) mean2(i int) uint8 { return uint8((b.edge[i] + b.edge[i+1] + 1) >> 1) }
func (b *block) mean3(i int) uint8 { return uint8((b.edge[i-1] + 2*b.edge[i] + b.edge[i+1] + 2) >> 2) }

// first is mean3 at the beginning of the edge, whose first value is repeated.
func (b *block) first() uint8 { return uint8((b.edge[1] + 3*b.edge[0] + 2) >> 2) }

func (b *block) predictFlat() {
	sum := 4
	for i := range 4 {
		sum += b.edge[i] + b.edge[5+i]
	}
	for y := range 4 {
		fill(b.pix[y*b.stride:][:4], uint8(sum>>3))
	}
}

func (b *block) predictVerticalRight() {
	b.set(0, 3, b.mean3(2))
	b.set(0, 2, b.mean3(3))
	for x := range 4 {
		b.set(x, 0, b.mean2(4+x))
		b.set(x, 1, b.mean3(4+x))
		if x < 3 {
			b.set(x+1, 2, b.mean2(4+x))
			b.set(x+1, 3, b.mean3(4+x))
		}
	}
}

func (b *block) predictVerticalLeft() {
	for x := range 4 {
		b.set(x, 0, b.mean2(5+x))
		b.set(x, 1, b.mean3(6+x))
		if x < 3 {
			b.set(x, 2, b.mean2(6+x))
			b.set(x, 3, b.mean3(7+x))
		}
	}
	b.set(3, 2, b.mean3(10))
	b.set(3, 3, b.mean3(11))
}

func (b *block) predictHorizontalDown() {
	b.set(2, 0, b.mean3(5))
	b.set(3, 0, b.mean3(6))
	for y := range 4 {
		b.set(0, y, b.mean2(3-y))
		b.set(1, y, b.mean3(4-y))
		if y < 3 {
			b.set(2, y+1, b.mean2(3-y))
			b.set(3, y+1, b.mean3(4-y))
		}
	}
}

func (b *block) predictHorizontalUp() {
	b.set(0, 0, b.mean2(2))
	b.set(1, 0, b.mean3(2))
	b.set(2, 0, b.mean2(1))
	b.set(0, 1, b.mean2(1))
	b.set(3, 0, b.mean3(1))
	b.set(1, 1, b.mean3(1))
	b.set(2, 1, b.mean2(0))
	b.set(0, 2, b.mean2(0))
	b.set(3, 1, b.first())
	b.set(1, 2, b.first())
	for _, at := range [...][2]int{{2, 2}, {3, 2}, {0, 3}, {1, 3}, {2, 3}, {3, 3}} {
		b.set(at[0], at[1], uint8(b.edge[0]))
	}
}
