package webp

// mostExact is the sum of a block's coefficients up to which libwebp's 16-bit vectors agree
// with plain C: both passes multiply a sum by at most 1.31.
const mostExact = 18_000

func sumOf(block *[16]int16) (sum int) {
	for _, v := range block {
		sum += max(int(v), -int(v))
	}
	return sum
}

// spread computes the first coefficients of the luma blocks (section 14.3).
func (b *macroblock) spread(in *[16]int16) {
	var m [16]int
	for i := range 4 {
		a0, a1 := int(in[i])+int(in[12+i]), int(in[4+i])+int(in[8+i])
		a2, a3 := int(in[4+i])-int(in[8+i]), int(in[i])-int(in[12+i])
		m[i], m[8+i], m[4+i], m[12+i] = a0+a1, a0-a1, a3+a2, a3-a2
	}
	for i := range 4 {
		dc := m[4*i] + 3
		a0, a1 := dc+m[4*i+3], m[4*i+1]+m[4*i+2]
		a2, a3 := m[4*i+1]-m[4*i+2], dc-m[4*i+3]
		for j, v := range [4]int{a0 + a1, a3 + a2, a0 - a1, a3 - a2} {
			b.coefficients[4*i+j][0] = int16(v >> 3)
		}
	}
}

func times1(v int) int { return v*20091>>16 + v }
func times2(v int) int { return v * 35468 >> 16 }

// addBlock adds the inverse transform of a block's coefficients to its pixels (section 14.4).
func (p *plane) addBlock(at int, block *[16]int16, filled uint8) {
	if filled == 1 {
		p.addFlat(at, (int(block[0])+4)>>3)
		return
	}
	var m [16]int
	for i := range 4 {
		a, b := int(block[i])+int(block[8+i]), int(block[i])-int(block[8+i])
		c := times2(int(block[4+i])) - times1(int(block[12+i]))
		d := times1(int(block[4+i])) + times2(int(block[12+i]))
		m[4*i], m[4*i+1], m[4*i+2], m[4*i+3] = a+d, b+c, b-c, a-d
	}
	for y := range 4 {
		dc := m[y] + 4
		a, b := dc+m[8+y], dc-m[8+y]
		c := times2(m[4+y]) - times1(m[12+y])
		d := times1(m[4+y]) + times2(m[12+y])
		row := p.pix[at+y*p.stride:][:4]
		row[0] = clip(int(row[0]) + (a+d)>>3)
		row[1] = clip(int(row[1]) + (b+c)>>3)
		row[2] = clip(int(row[2]) + (b-c)>>3)
		row[3] = clip(int(row[3]) + (a-d)>>3)
	}
}

func (p *plane) addFlat(at, dc int) {
	for y := range 4 {
		row := p.pix[at+y*p.stride:][:4]
		for x := range row {
			row[x] = clip(int(row[x]) + dc)
		}
	}
}

func clip(v int) uint8 {
	if uint(v) <= 255 {
		return uint8(v)
	}
	if v < 0 {
		return 0
	}
	return 255
}
