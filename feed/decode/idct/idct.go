// Package idct is the inverse DCT of libjpeg-turbo (ISLOW), with the result of its routine for
// this architecture. It transforms two blocks at once from coefficients to samples of a plane.
//
// The results also agree for coefficients that no encoder writes: products with the
// quantisation table and sums of two inputs wrap at 16 bits, and the first pass saturates to 16
// bits with AVX2 but wraps with NEON. transformWild implements all of that. If no number is
// large, transformBlock gives the same bytes in less time.
package idct

import (
	"runtime"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// Assembly says whether the routines in assembly are used. Tests switch them off.
var Assembly = kernels.Run(kernels.InverseDCT)

// wraps is true if the first pass is NEON's (jidctint-neon.c: vrshrn_n_s32).
const wraps = runtime.GOARCH == "arm64"

// PairQuant is the quantisation of two blocks: row r of the first block's table is at 16*r,
// that of the second at 16*r+8.
type PairQuant [128]int16

// SetTables sets the tables of the first and the second block.
func (q *PairQuant) SetTables(a, b *[64]uint16) {
	for i := range 64 {
		q[i>>3*16+i&7], q[i>>3*16+8+i&7] = int16(a[i]), int16(b[i])
	}
}

// TransformPair transforms two consecutive blocks (64 coefficients each, in natural order) to 8
// rows of 8 samples each, at a and at b, with rows stride apart. It leaves the blocks zero,
// ready for the next ones. a and b must have 7*stride+8 bytes.
func TransformPair(blocks *[128]int16, q *PairQuant, a, b []byte, stride int) {
	_, _ = a[7*stride+7], b[7*stride+7]
	if Assembly && transformApart(blocks, q, &a[0], &b[0], stride) {
		return
	}
	transformPlain(blocks, q, a, b, stride)
}

// TransformBeside is TransformPair for two adjacent blocks: a holds both.
func TransformBeside(blocks *[128]int16, q *PairQuant, a []byte, stride int) {
	_ = a[7*stride+15]
	if Assembly && transformTogether(blocks, q, a, stride) {
		return
	}
	transformPlain(blocks, q, a, a[8:], stride)
}

func transformPlain(blocks *[128]int16, q *PairQuant, a, b []byte, stride int) {
	transformBlock((*[64]int16)(blocks[:64]), (*[120]int16)(q[:120]), a, stride)
	transformBlock((*[64]int16)(blocks[64:]), (*[120]int16)(q[8:]), b, stride)
	clear(blocks[:])
}

// The constants of jidctint.c, 13 fractional bits.
const (
	f0298 = 2446
	f0390 = 3196
	f0541 = 4433
	f0765 = 6270
	f0899 = 7373
	f1175 = 9633
	f1501 = 12299
	f1847 = 15137
	f1961 = 16069
	f2053 = 16819
	f2562 = 20995
	f3072 = 25172
)

// transformBlock transforms one block. The rows of its quantisation table are 16 apart.
func transformBlock(c *[64]int16, q *[120]int16, out []byte, stride int) {
	var w [64]int32  // after the first pass
	var large uint32 // a bit above 15 is set if a number was outside of -1<<14 to 1<<14
	note := func(v int32) { large |= uint32(v + 1<<14) }
	for x := range 8 {
		i0, i1 := int32(c[x])*int32(q[x]), int32(c[8+x])*int32(q[16+x])
		i2, i3 := int32(c[16+x])*int32(q[32+x]), int32(c[24+x])*int32(q[48+x])
		i4, i5 := int32(c[32+x])*int32(q[64+x]), int32(c[40+x])*int32(q[80+x])
		i6, i7 := int32(c[48+x])*int32(q[96+x]), int32(c[56+x])*int32(q[112+x])
		note(i0)
		if i1|i2|i3|i4|i5|i6|i7 == 0 {
			i0 <<= 2
			note(i0)
			w[x], w[8+x], w[16+x], w[24+x], w[32+x], w[40+x], w[48+x], w[56+x] = i0, i0, i0, i0, i0, i0, i0, i0
			continue
		}
		note(i1)
		note(i2)
		note(i3)
		note(i4)
		note(i5)
		note(i6)
		note(i7)
		e0, e1, e2, e3, o0, o1, o2, o3 := halves(1<<10, i0, i1, i2, i3, i4, i5, i6, i7)
		i0, i7 = (e0+o3)>>11, (e0-o3)>>11
		i1, i6 = (e1+o2)>>11, (e1-o2)>>11
		i2, i5 = (e2+o1)>>11, (e2-o1)>>11
		i3, i4 = (e3+o0)>>11, (e3-o0)>>11
		note(i0)
		note(i1)
		note(i2)
		note(i3)
		note(i4)
		note(i5)
		note(i6)
		note(i7)
		w[x], w[8+x], w[16+x], w[24+x] = i0, i1, i2, i3
		w[32+x], w[40+x], w[48+x], w[56+x] = i4, i5, i6, i7
	}
	if large >= 1<<15 { // a sum of two might wrap
		transformWild(c, q, out, stride)
		return
	}
	for y := range 8 {
		r := (*[8]int32)(w[8*y:])
		e0, e1, e2, e3, o0, o1, o2, o3 := halves(1<<17+128<<18, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])
		o := (*[8]byte)(out[y*stride:])
		o[0], o[7] = clampByte((e0+o3)>>18), clampByte((e0-o3)>>18)
		o[1], o[6] = clampByte((e1+o2)>>18), clampByte((e1-o2)>>18)
		o[2], o[5] = clampByte((e2+o1)>>18), clampByte((e2-o1)>>18)
		o[3], o[4] = clampByte((e3+o0)>>18), clampByte((e3-o0)>>18)
	}
}

func clampByte(v int32) byte {
	if uint32(v) > 255 {
		return byte(^v >> 31)
	}
	return byte(v)
}

// halves returns the even and the odd half of one pass over 8 inputs: result i is the sum of e
// and o of i and 3-i, result 7-i their difference. add is added to every result.
func halves(add, i0, i1, i2, i3, i4, i5, i6, i7 int32) (e0, e1, e2, e3, o0, o1, o2, o3 int32) {
	z := (i2 + i6) * f0541
	t2, t3 := z-i6*f1847, z+i2*f0765
	t0, t1 := (i0+i4)<<13+add, (i0-i4)<<13+add
	e0, e1, e2, e3 = t0+t3, t1+t2, t1-t2, t0-t3

	z1, z2, z3, z4 := (i7+i1)*f0899, (i5+i3)*f2562, i7+i3, i5+i1
	z5 := (z3 + z4) * f1175
	z3, z4 = z5-z3*f1961, z5-z4*f0390
	o0, o1, o2, o3 = i7*f0298-z1+z3, i5*f2053-z2+z4, i3*f3072-z2+z3, i1*f1501-z1+z4
	return
}

// transformWild is transformBlock for arbitrary coefficients.
func transformWild(c *[64]int16, q *[120]int16, out []byte, stride int) {
	var w [64]int16
	flat := !wraps // no vertical frequency: libjpeg-turbo's shortcut wraps where the full transform saturates
	for _, v := range c[8:] {
		flat = flat && v == 0
	}
	for x := range 8 {
		if flat {
			for y := range 8 {
				w[8*y+x] = c[x] * q[x] << 2
			}
			continue
		}
		var in [8]int16
		for y := range in {
			in[y] = c[8*y+x] * q[16*y+x]
		}
		for y, v := range wildPass(11, &in) {
			if w[8*y+x] = int16(v); !wraps {
				w[8*y+x] = saturate(v)
			}
		}
	}
	for y := range 8 {
		for x, v := range wildPass(18, (*[8]int16)(w[8*y:])) {
			out[y*stride+x] = byte(min(max(v, -128), 127) + 128)
		}
	}
}

// wildPass is one pass over 8 inputs, with results shifted right by shift bits and rounded.
func wildPass(shift uint, in *[8]int16) (out [8]int32) {
	wide := func(v int16) int32 { return int32(v) }
	round := int32(1) << (shift - 1)
	t0, t1 := wide(in[0]+in[4])<<13+round, wide(in[0]-in[4])<<13+round
	z2, z6 := wide(in[2]), wide(in[6])
	t2, t3 := z2*f0541+z6*(f0541-f1847), z2*(f0541+f0765)+z6*f0541
	even := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}

	y3, y4 := wide(in[7]+in[3]), wide(in[5]+in[1])
	z3, z4 := y3*(f1175-f1961)+y4*f1175, y3*f1175+y4*(f1175-f0390)
	s1, s3, s5, s7 := wide(in[1]), wide(in[3]), wide(in[5]), wide(in[7])
	odd := [4]int32{
		s1*(f1501-f0899) - s7*f0899 + z4,
		s3*(f3072-f2562) - s5*f2562 + z3,
		s5*(f2053-f2562) - s3*f2562 + z4,
		s7*(f0298-f0899) - s1*f0899 + z3,
	}
	for i := range even {
		out[i], out[7-i] = (even[i]+odd[i])>>shift, (even[i]-odd[i])>>shift
	}
	return out
}

func saturate(v int32) int16 { return int16(min(max(v, -32768), 32767)) }
