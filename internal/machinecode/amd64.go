package machinecode

import "slices"

// Instruction sets of amd64. AVX512 means any instruction with an EVEX prefix or a mask
// register, at any vector length. Every processor has SSE and SSE2, so these are not listed.
const (
	ADX        InstructionSet = "ADX"
	AES        InstructionSet = "AES"
	AVX        InstructionSet = "AVX"
	AVX2       InstructionSet = "AVX2"
	AVX512     InstructionSet = "AVX512"
	AVXVNNI    InstructionSet = "AVX-VNNI"
	BMI1       InstructionSet = "BMI1"
	BMI2       InstructionSet = "BMI2"
	CX16       InstructionSet = "CX16"
	F16C       InstructionSet = "F16C"
	FMA        InstructionSet = "FMA"
	GFNI       InstructionSet = "GFNI"
	LZCNT      InstructionSet = "LZCNT"
	MOVBE      InstructionSet = "MOVBE"
	PCLMULQDQ  InstructionSet = "PCLMULQDQ"
	POPCNT     InstructionSet = "POPCNT"
	RDRAND     InstructionSet = "RDRAND"
	RDTSCP     InstructionSet = "RDTSCP"
	SHA        InstructionSet = "SHA"
	SSE3       InstructionSet = "SSE3"
	SSE41      InstructionSet = "SSE4.1"
	SSE42      InstructionSet = "SSE4.2"
	SSSE3      InstructionSet = "SSSE3"
	VAES       InstructionSet = "VAES"
	VPCLMULQDQ InstructionSet = "VPCLMULQDQ"
	XSAVE      InstructionSet = "XSAVE"
)

// x86 decodes one instruction of 64-bit mode: its length and its set. Maps, prefixes and
// opcodes are those of Intel's manual, volume 2, appendix A.
type x86 struct {
	code []byte
	at   int

	short  bool // prefix 66: 16-bit operands, or the integer form
	repeat byte // prefix F3 or F2
	wide   bool // W: operands of 64 bits
	long   bool // L: vectors of 256 bits
	modrm  byte
}

// next returns the next byte.
func (x *x86) next() byte {
	x.at++
	if x.at > len(x.code) {
		return 0 // decode rejects an instruction longer than the code
	}
	return x.code[x.at-1]
}

// instruction decodes an instruction and reports whether the tables list it.
func (x *x86) instruction() (InstructionSet, bool) {
	op := x.next()
	for ; slices.Contains(prefixes, op); op = x.next() {
		switch op {
		case 0x66:
			x.short = true
		case 0xf2, 0xf3:
			x.repeat = op
		}
	}
	if op&0xf0 == 0x40 { // REX
		x.wide, op = op&8 != 0, x.next()
	}
	switch op {
	case 0x0f:
		return x.decodeEscaped()
	case 0xc5:
		p := x.next()
		x.setPrefix(p)
		return x.vex(1)
	case 0xc4:
		m, p := x.next()&31, x.next()
		x.setPrefix(p)
		x.wide = p&0x80 != 0
		return x.vex(m)
	case 0x62:
		m, _, _ := x.next()&7, x.next(), x.next()
		return AVX512, x.vectorOperands(m, x.next())
	}
	return "", x.oneByte(op)
}

var prefixes = []byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3}

// setPrefix decodes pp and L of a VEX prefix.
func (x *x86) setPrefix(p byte) {
	x.short, x.repeat, x.long = p&3 == 1, [4]byte{2: 0xf3, 3: 0xf2}[p&3], p&4 != 0
}

// operand skips ModRM, SIB and displacement.
func (x *x86) operand() {
	x.modrm = x.next()
	mod, rm := x.modrm>>6, x.modrm&7
	if mod == 3 {
		return
	}
	base := rm
	if rm == 4 {
		base = x.next() & 7
	}
	switch {
	case mod == 1:
		x.at++
	case mod == 2, base == 5: // relative to the instruction pointer, or without a base
		x.at += 4
	}
}

// inMemory reports whether the last operand is in memory; reg returns the field of ModRM that
// extends some opcodes.
func (x *x86) inMemory() bool { return x.modrm>>6 != 3 }
func (x *x86) reg() byte      { return x.modrm >> 3 & 7 }

// inRanges reports whether op is in one of the ranges, given as first, last, first ...
func inRanges(op byte, ranges ...byte) bool {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] <= op && op <= ranges[i+1] {
			return true
		}
	}
	return false
}

// oneByte skips the operands of an instruction of the first map, all of which any processor
// has.
func (x *x86) oneByte(op byte) bool {
	number := 4 // bytes of an immediate of operand size, up to 32 bits
	if x.short && !x.wide {
		number = 2
	}
	switch {
	case op < 0x40:
		switch op & 7 {
		case 0, 1, 2, 3:
			x.operand()
		case 4:
			x.at++
		case 5:
			x.at += number
		default:
			return false
		}
	case inRanges(op, 0x50, 0x5f, 0x90, 0x99, 0x9b, 0x9f, 0xa4, 0xa7, 0xaa, 0xaf, 0xc3, 0xc3, 0xc9, 0xc9, 0xcc, 0xcc,
		0xf4, 0xf5, 0xf8, 0xfd):
	case inRanges(op, 0x63, 0x63, 0x84, 0x8f, 0xd0, 0xd3, 0xd8, 0xdf, 0xfe, 0xff):
		x.operand()
	case inRanges(op, 0x6b, 0x6b, 0x80, 0x80, 0x83, 0x83, 0xc0, 0xc1, 0xc6, 0xc6):
		x.operand()
		x.at++
	case inRanges(op, 0x69, 0x69, 0x81, 0x81, 0xc7, 0xc7):
		x.operand()
		x.at += number
	case inRanges(op, 0x6a, 0x6a, 0x70, 0x7f, 0xa8, 0xa8, 0xb0, 0xb7, 0xcd, 0xcd, 0xeb, 0xeb, 0xe0, 0xe3):
		x.at++
	case inRanges(op, 0x68, 0x68, 0xa9, 0xa9):
		x.at += number
	case inRanges(op, 0xe8, 0xe9):
		x.at += 4
	case inRanges(op, 0xb8, 0xbf):
		if x.at += number; x.wide {
			x.at += 4
		}
	case op == 0xc2:
		x.at += 2
	case op == 0xf6 || op == 0xf7:
		if x.operand(); x.reg() > 1 {
			break // only TEST has an immediate
		}
		if x.at++; op == 0xf7 {
			x.at += number - 1
		}
	default:
		return false
	}
	return true
}

// decodeEscaped decodes an instruction that begins with 0F and has no VEX prefix.
func (x *x86) decodeEscaped() (InstructionSet, bool) {
	switch op := x.next(); op {
	case 0x38:
		op = x.next()
		x.operand()
		return x.map38(op)
	case 0x3a:
		op = x.next()
		x.operand()
		x.at++
		return map3A(op)
	default:
		return x.map0F(op)
	}
}

func (x *x86) map0F(op byte) (InstructionSet, bool) {
	switch {
	// SYSCALL, UD2, RDTSC, EMMS, CPUID, BSWAP
	case inRanges(op, 0x05, 0x05, 0x0b, 0x0b, 0x31, 0x31, 0x77, 0x77, 0xa2, 0xa2, 0xc8, 0xcf):
		return "", true
	case inRanges(op, 0x80, 0x8f):
		x.at += 4
		return "", true
	}
	x.operand()
	switch {
	case op == 0x01:
		set, known := map[byte]InstructionSet{0xd0: XSAVE, 0xf9: RDTSCP}[x.modrm]
		return set, known
	case inRanges(op, 0x70, 0x73, 0xa4, 0xa4, 0xac, 0xac, 0xba, 0xba, 0xc2, 0xc2, 0xc4, 0xc6):
		x.at++
		return "", true
	case inRanges(op, 0xd0, 0xd0, 0x7c, 0x7d), op == 0xf0 && x.repeat == 0xf2, inRanges(op, 0x12, 0x12, 0x16, 0x16) &&
		x.repeat != 0 && !x.short:
		return SSE3, true
	case inRanges(op, 0xb8, 0xb8, 0xbc, 0xbd) && x.repeat == 0xf3:
		return map[byte]InstructionSet{0xb8: POPCNT, 0xbc: BMI1, 0xbd: LZCNT}[op], true
	case op == 0xc7:
		switch {
		case x.inMemory() && x.reg() == 1 && x.wide:
			return CX16, true
		case !x.inMemory() && x.reg() >= 6:
			return RDRAND, true
		}
		return "", x.reg() == 1
	}
	return "", inRanges(op, 0x0d, 0x0d, 0x10, 0x18, 0x1e, 0x1f, 0x28, 0x2f, 0x40, 0x6f, 0x74, 0x76, 0x7e, 0x7f,
		0x90, 0x9f, 0xa3, 0xa3, 0xa5, 0xa5, 0xab, 0xab, 0xad, 0xb7, 0xbb, 0xc1, 0xc3, 0xc3, 0xd1, 0xef, 0xf1, 0xfe)
}

func (x *x86) map38(op byte) (InstructionSet, bool) {
	switch {
	case inRanges(op, 0x00, 0x0b, 0x1c, 0x1e):
		return SSSE3, true
	case op == 0x37:
		return SSE42, true
	case inRanges(op, 0x10, 0x10, 0x14, 0x15, 0x17, 0x17, 0x20, 0x25, 0x28, 0x2b, 0x30, 0x41):
		return SSE41, true
	case inRanges(op, 0xc8, 0xcd):
		return SHA, true
	case op == 0xcf:
		return GFNI, true
	case inRanges(op, 0xdb, 0xdf):
		return AES, true
	case inRanges(op, 0xf0, 0xf1):
		if x.repeat == 0xf2 {
			return SSE42, true
		}
		return MOVBE, true
	case op == 0xf6:
		return ADX, true
	}
	return "", false
}

func map3A(op byte) (InstructionSet, bool) {
	switch {
	case op == 0x0f:
		return SSSE3, true
	case inRanges(op, 0x08, 0x0e, 0x14, 0x17, 0x20, 0x22, 0x40, 0x42):
		return SSE41, true
	case op == 0x44:
		return PCLMULQDQ, true
	case inRanges(op, 0x60, 0x63):
		return SSE42, true
	case op == 0xcc:
		return SHA, true
	case inRanges(op, 0xce, 0xcf):
		return GFNI, true
	case op == 0xdf:
		return AES, true
	}
	return "", false
}

// vectorOperands skips what follows the opcode of an instruction with VEX or EVEX.
func (x *x86) vectorOperands(m, op byte) bool {
	if m == 1 && op == 0x77 {
		return true
	}
	x.operand()
	if m == 3 || m == 1 && inRanges(op, 0x70, 0x73, 0xc2, 0xc2, 0xc4, 0xc6) {
		x.at++
	}
	return 1 <= m && m <= 3
}

// vex decodes the rest of an instruction with a VEX prefix.
func (x *x86) vex(m byte) (InstructionSet, bool) {
	op := x.next()
	if !x.vectorOperands(m, op) {
		return "", false
	}
	switch m {
	case 1:
		return x.vex0F(op)
	case 2:
		return x.vex38(op)
	}
	return x.vex3A(op)
}

// whole returns the set of an operation on integer vectors.
func (x *x86) whole() (InstructionSet, bool) {
	if x.long {
		return AVX2, true
	}
	return AVX, true
}

func (x *x86) vex0F(op byte) (InstructionSet, bool) {
	switch {
	case inRanges(op, 0x41, 0x4b, 0x90, 0x93, 0x98, 0x99): // masks
		return AVX512, true
	case inRanges(op, 0x60, 0x6d, 0x70, 0x76, 0xd1, 0xd5, 0xd7, 0xe5, 0xe8, 0xef, 0xf1, 0xfe):
		return x.whole()
	}
	return AVX, inRanges(op, 0x10, 0x17, 0x28, 0x2f, 0x50, 0x5f, 0x6e, 0x6f, 0x77, 0x77, 0x7c, 0x7f, 0xc2, 0xc2, 0xc4,
		0xc6, 0xd0, 0xd0, 0xd6, 0xd6, 0xe6, 0xe7, 0xf0, 0xf0)
}

func (x *x86) vex38(op byte) (InstructionSet, bool) {
	switch {
	case inRanges(op, 0x00, 0x0b, 0x1c, 0x1e, 0x20, 0x25, 0x28, 0x2b, 0x30, 0x35, 0x37, 0x41):
		return x.whole()
	case inRanges(op, 0x0c, 0x0f, 0x17, 0x17, 0x1a, 0x1a, 0x2c, 0x2f):
		return AVX, true
	case op == 0x13:
		return F16C, true
	case inRanges(op, 0x18, 0x19):
		if x.inMemory() {
			return AVX, true
		}
		return AVX2, true
	case inRanges(op, 0x16, 0x16, 0x36, 0x36, 0x45, 0x47, 0x58, 0x5a, 0x78, 0x79, 0x8c, 0x8c, 0x8e, 0x8e, 0x90, 0x93):
		return AVX2, true
	case inRanges(op, 0x50, 0x53):
		return AVXVNNI, true
	case inRanges(op, 0x96, 0x9f, 0xa6, 0xaf, 0xb6, 0xbf):
		return FMA, true
	case op == 0xcf:
		return GFNI, true
	case inRanges(op, 0xdb, 0xdf):
		if x.long {
			return VAES, true
		}
		return AES, true
	}
	return x.isBMI(op)
}

// isBMI recognises BMI1 and BMI2, whose operands are not vectors.
func (x *x86) isBMI(op byte) (InstructionSet, bool) {
	plain := !x.short && x.repeat == 0
	switch {
	case inRanges(op, 0xf2, 0xf3) && plain, op == 0xf7 && plain:
		return BMI1, true
	case op == 0xf5 && !x.short, op == 0xf6 && x.repeat == 0xf2, op == 0xf7:
		return BMI2, true
	}
	return "", false
}

func (x *x86) vex3A(op byte) (InstructionSet, bool) {
	switch {
	case inRanges(op, 0x0e, 0x0f, 0x42, 0x42, 0x4c, 0x4c):
		return x.whole()
	case inRanges(op, 0x00, 0x02, 0x38, 0x39, 0x46, 0x46):
		return AVX2, true
	case inRanges(op, 0x04, 0x06, 0x08, 0x0d, 0x14, 0x19, 0x20, 0x22, 0x40, 0x41, 0x4a, 0x4b, 0x60, 0x63):
		return AVX, true
	case op == 0x1d:
		return F16C, true
	case inRanges(op, 0x30, 0x33): // masks
		return AVX512, true
	case op == 0x44:
		if x.long {
			return VPCLMULQDQ, true
		}
		return PCLMULQDQ, true
	case inRanges(op, 0xce, 0xcf):
		return GFNI, true
	case op == 0xdf:
		return AES, true
	case op == 0xf0:
		return BMI2, true
	}
	return "", false
}
