package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// symbolLoop uses table entries as described in feed/decode/inflate, tables.go. Their lowest
// six bits are a shift count. Only the lowest six bits of the number of bits left are used, so
// that an entry can be subtracted as a whole.
type symbolLoop struct {
	source, dst, symbol, space, buffer, left GPVirtual
}

// unpackRounds generates the loop of Unpacker.unpackRounds.
func unpackRounds() {
	begin("unpackRounds", "func(s *int, data *byte, to *byte, symbol *uint32, space *uint32)",
		"unpackRounds is Unpacker.unpackRounds. s is the first field of a span.")
	s, to := pointer("s"), pointer("to")
	l := symbolLoop{
		source: pointer("data"), dst: GP64(), symbol: pointer("symbol"), space: pointer("space"),
		buffer: GP64(), left: GP64(),
	}
	mostSource, mostDst := GP64(), GP64()
	field := func(i int) Mem { return Mem{Base: s, Disp: 8 * i} }
	MOVQ(l.source, mostSource)
	ADDQ(field(1), mostSource)
	ADDQ(field(0), l.source)
	MOVQ(to, l.dst)
	ADDQ(field(2), l.dst)
	MOVQ(to, mostDst)
	ADDQ(field(3), mostDst)
	MOVQ(field(4), l.buffer)
	MOVQ(field(5), l.left)
	outcome := GP64()
	XORL(outcome.As32(), outcome.As32())
	e := GP64()

	Label("round")
	CMPQ(l.source, mostSource)
	JGT(LabelRef("leave"))
	CMPQ(l.dst, mostDst)
	JGT(LabelRef("leave"))
	l.refill()
	for i := range 4 {
		l.look(l.symbol, 1<<11-1, e)
		TESTB(U8(0xc0), e.As8())
		JZ(LabelRef("other"))
		l.storeLiterals(e)
		l.drop(e)
		if i == 3 {
			JMP(LabelRef("round"))
		}
	}

	Label("other")
	l.drop(e)
	TESTL(U32(3<<12), e.As32())
	JNZ(LabelRef("special"))
	Label("length")
	length, distance, end := GP64(), GP64(), GP64()
	l.number(e, length)
	l.refill()
	l.look(l.space, 1<<9-1, e)
	l.drop(e)
	TESTL(U32(3<<12), e.As32())
	JNZ(LabelRef("far"))
	Label("distance")
	l.number(e, distance)
	from := GP64()
	MOVQ(l.dst, from)
	SUBQ(distance, from)
	CMPQ(from, to)
	JLT(LabelRef("damaged"))
	LEAQ(Mem{Base: l.dst, Index: length, Scale: 1}, end)
	l.copyMatch(from, distance, end)
	Label("copied")
	MOVQ(end, l.dst)
	JMP(LabelRef("round"))

	Label("special")
	BTL(Imm(12), e.As32())
	JCS(LabelRef("endOrNone"))
	l.lookFurther(l.symbol, 1<<12-1, e)
	TESTB(U8(0xc0), e.As8())
	JNZ(LabelRef("single"))
	TESTL(U32(3<<12), e.As32())
	JZ(LabelRef("length"))
	Label("endOrNone")
	BTL(Imm(13), e.As32())
	JCS(LabelRef("damaged"))
	MOVL(U32(1), outcome.As32())
	JMP(LabelRef("leave"))

	Label("single")
	SHRL(Imm(8), e.As32())
	MOVB(e.As8(), Mem{Base: l.dst})
	INCQ(l.dst)
	JMP(LabelRef("round"))

	Label("far")
	BTL(Imm(12), e.As32())
	JCS(LabelRef("damaged"))
	l.lookFurther(l.space, 1<<10-1, e)
	TESTL(U32(3<<12), e.As32())
	JZ(LabelRef("distance"))
	Label("damaged")
	MOVL(U32(2), outcome.As32())

	Label("leave")
	data := pointer("data")
	SUBQ(data, l.source)
	SUBQ(to, l.dst)
	ANDL(Imm(63), l.left.As32())
	MOVQ(l.source, field(0))
	MOVQ(l.dst, field(2))
	MOVQ(l.buffer, field(4))
	MOVQ(l.left, field(5))
	MOVQ(outcome, field(6))
	RET()
}

// refill makes at least 56 bits available. Bits above the counted ones have the values of the
// next refill.
func (l *symbolLoop) refill() {
	word := GP64()
	SHLXQ(l.left, Mem{Base: l.source}, word)
	ORQ(word, l.buffer)
	bytes := GP32()
	MOVL(l.left.As32(), bytes)
	NOTL(bytes)
	SHRL(Imm(3), bytes)
	ANDL(Imm(7), bytes)
	ADDQ(bytes.As64(), l.source)
	ORL(Imm(56), l.left.As32())
}

func (l *symbolLoop) look(table GPVirtual, mask uint32, e GPVirtual) {
	index := GP64()
	MOVL(l.buffer.As32(), index.As32())
	ANDL(U32(mask), index.As32())
	MOVL(Mem{Base: table, Index: index, Scale: 4}, e.As32())
}

// lookFurther decodes a code that is longer than the first lookup.
func (l *symbolLoop) lookFurther(table GPVirtual, mask uint32, e GPVirtual) {
	index, more := GP64(), GP64()
	MOVL(e.As32(), more.As32())
	SHRL(Imm(8), more.As32())
	ANDL(Imm(15), more.As32())
	BZHIQ(more, l.buffer, index)
	SHRL(Imm(16), e.As32())
	ADDL(e.As32(), index.As32())
	ANDL(U32(mask), index.As32())
	MOVL(Mem{Base: table, Index: index, Scale: 4}, e.As32())
	l.drop(e)
}

func (l *symbolLoop) drop(e GPVirtual) {
	SHRXQ(e, l.buffer, l.buffer)
	SUBL(e.As32(), l.left.As32())
}

func (l *symbolLoop) storeLiterals(e GPVirtual) {
	three, count := GP32(), GP32()
	MOVL(e.As32(), three)
	SHRL(Imm(8), three)
	MOVL(three, Mem{Base: l.dst})
	MOVBLZX(e.As8(), count)
	SHRL(Imm(6), count)
	ADDQ(count.As64(), l.dst)
}

// number adds the bits after the code to an entry's value.
func (l *symbolLoop) number(e, n GPVirtual) {
	more := GP64()
	MOVL(e.As32(), more.As32())
	SHRL(Imm(8), more.As32())
	BZHIQ(more, l.buffer, n)
	SHRXQ(more, l.buffer, l.buffer)
	SUBL(more.As32(), l.left.As32())
	SHRL(Imm(16), e.As32())
	ADDQ(e, n)
}

// copyMatch copies up to end, and writes up to 15 bytes beyond it.
func (l *symbolLoop) copyMatch(from, distance, end GPVirtual) {
	words := XMM()
	CMPQ(distance, Imm(16))
	JLT(LabelRef("near"))
	Label("sixteen")
	VMOVDQU(Mem{Base: from}, words)
	VMOVDQU(words, Mem{Base: l.dst})
	ADDQ(Imm(16), from)
	ADDQ(Imm(16), l.dst)
	CMPQ(l.dst, end)
	JLT(LabelRef("sixteen"))
	JMP(LabelRef("copied"))

	Label("near")
	CMPQ(distance, Imm(1))
	JEQ(LabelRef("run"))
	// After loading a word, only as many bytes are right as lie between source and destination.
	step, word := GP64(), GP64()
	MOVL(U32(8), step.As32())
	CMPQ(distance, step)
	CMOVQLT(distance, step)
	Label("word")
	MOVQ(Mem{Base: from}, word)
	MOVQ(word, Mem{Base: l.dst})
	ADDQ(step, from)
	ADDQ(step, l.dst)
	CMPQ(l.dst, end)
	JLT(LabelRef("word"))
	JMP(LabelRef("copied"))

	Label("run")
	VPBROADCASTB(Mem{Base: from}, words)
	Label("repeat")
	VMOVDQU(words, Mem{Base: l.dst})
	ADDQ(Imm(16), l.dst)
	CMPQ(l.dst, end)
	JLT(LabelRef("repeat"))
}

// adlerSums computes what Adler-32 needs for blocks of 32 bytes: their sum, the sums of what
// came before each block, and sums of bytes weighted by their distance from the end of the
// block.
func adlerSums() {
	begin("adlerSums", "func(sums *uint32, data *byte, n int)",
		"adlerSums writes three times eight parts of sums of n bytes, a multiple of 32 and no more than 32768.")
	sums, data, n := pointer("sums"), pointer("data"), pointer("n")
	var distances []uint8
	for i := range 32 {
		distances = append(distances, uint8(32-i))
	}
	weights, ones := constant(bytes("distances", distances...)), constant(words("ones", 1))
	zero, plain, before, weighed := YMM(), YMM(), YMM(), YMM()
	for _, v := range []VecVirtual{zero, plain, before, weighed} {
		VPXOR(v, v, v)
	}
	Label("blocks")
	block, part := YMM(), YMM()
	VMOVDQU(Mem{Base: data}, block)
	VPADDD(plain, before, before)
	VPSADBW(zero, block, part)
	VPADDD(part, plain, plain)
	VPMADDUBSW(weights, block, block)
	VPMADDWD(ones, block, block)
	VPADDD(block, weighed, weighed)
	advance(32, data)
	SUBQ(Imm(32), n)
	JNZ(LabelRef("blocks"))
	for i, v := range []VecVirtual{plain, before, weighed} {
		VMOVDQU(v, Mem{Base: sums, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}
