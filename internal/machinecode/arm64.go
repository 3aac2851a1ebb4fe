package machinecode

import "encoding/binary"

// ASIMD is NEON and floating point, as in ARMv8.0.
const ASIMD InstructionSet = "ASIMD"

// Fuses reports whether arm64 code has a fused multiply-add (FMADD, FMSUB, FNMADD, FNMSUB),
// which rounds only once. The Go compiler emits one for x*y+z unless the product is converted:
// float64(x*y)+z.
func (f Function) Fuses() bool {
	for at := 0; at+4 <= len(f.Code); at += 4 {
		if binary.LittleEndian.Uint32(f.Code[at:])>>24 == 0x1f {
			return true
		}
	}
	return false
}

// encoding is a group of instructions: those with the bits value under mask. Groups follow the
// Architecture Reference Manual, C4.1. Only instructions of ARMv8.0 are known: one of a later
// extension is an error, even if it belongs to a known group.
type encoding struct {
	mask, value uint32
	set         InstructionSet
	known       func(word uint32) bool // selects the known ones of the group, nil for all
}

// a64 lists the groups that kernels use; atomics, for example, are missing.
var a64 = []encoding{
	{0xffffffff, 0x00000000, "", nil}, // UDF, between functions

	// Data processing, immediate.
	{0x1f000000, 0x10000000, "", nil}, // ADR
	{0x1f800000, 0x11000000, "", nil}, // ADD, SUB
	{0x1f000000, 0x12000000, "", nil}, // AND and others, MOV
	{0x1f000000, 0x13000000, "", nil}, // bit fields, EXTR

	// Branches.
	{0xff000010, 0x54000000, "", nil}, // B.cond
	{0x7c000000, 0x14000000, "", nil}, // B, BL
	{0x7c000000, 0x34000000, "", nil}, // CBZ, TBZ
	{0xff9ffc1f, 0xd61f0000, "", nil}, // BR, BLR, RET
	{0xffffffff, 0xd503201f, "", nil}, // NOP

	// Data processing, registers.
	{0x1f000000, 0x0a000000, "", nil},                                         // AND and others
	{0x1f200000, 0x0b000000, "", nil},                                         // ADD, SUB
	{0x1fe00000, 0x0b200000, "", nil},                                         // the same, extended
	{0x1fe00800, 0x1a800000, "", nil},                                         // CSEL
	{0x1fe00410, 0x1a400000, "", nil},                                         // CCMP
	{0x7fe0f000, 0x1ac02000, "", nil},                                         // LSL, LSR, ASR, ROR
	{0x7fffe000, 0x5ac00000, "", func(w uint32) bool { return w>>10&7 <= 5 }}, // RBIT, REV, CLZ, CLS
	{0x7fe00000, 0x1b000000, "", nil},                                         // MADD, MSUB

	// Loads and stores: a bit says whether of vectors.
	{0x3e000000, 0x28000000, "", func(w uint32) bool { return w>>22&1 == 1 || w>>30 != 1 }}, // LDP, STP
	{0x3e000000, 0x2c000000, ASIMD, nil},
	{0x3f000000, 0x39000000, "", nil}, // LDR, STR with an offset
	{0x3f000000, 0x3d000000, ASIMD, nil},
	{0x3f200000, 0x38000000, "", nil}, // with a short one
	{0x3f200000, 0x3c000000, ASIMD, nil},
	{0x3f200c00, 0x38200800, "", nil}, // with a register
	{0x3f200c00, 0x3c200800, ASIMD, nil},
	{0xbfbf0000, 0x0c000000, ASIMD, nil}, // LD1 to LD4, ST1 to ST4
	{0xbfa00000, 0x0c800000, ASIMD, nil},
	{0xbf9f0000, 0x0d000000, ASIMD, nil},
	{0xbf800000, 0x0d800000, ASIMD, nil},

	// Vectors.
	{0x9f200400, 0x0e200400, ASIMD, threeSame},
	// three of different widths, without PMULL
	{0x9f200c00, 0x0e200000, ASIMD, func(w uint32) bool { return w>>12&15 != 14 }},
	{0x9f3e0c00, 0x0e200800, ASIMD, twoOperands},
	// across lanes, without half precision
	{0x9f3e0c00, 0x0e300800, ASIMD, func(w uint32) bool { return w>>29&1 == 1 || w>>14&7 != 3 }},
	{0x9f800400, 0x0f000400, ASIMD, func(w uint32) bool { return w>>19&15 != 0 || w>>11&1 == 0 }}, // shifts, MOVI
	{0x9f000400, 0x0f000000, ASIMD, byElement},
	{0xbf208c00, 0x0e000800, ASIMD, nil}, // ZIP, UZP, TRN
	{0xbfe08c00, 0x0e000000, ASIMD, nil}, // TBL, TBX
	{0xbfe08400, 0x2e000000, ASIMD, nil}, // EXT
	{0x9fe08400, 0x0e000400, ASIMD, nil}, // DUP, INS, UMOV
	{0xffe0fc00, 0x5e000400, ASIMD, nil}, // DUP of one
	// FMOV to and from a register of numbers
	{0x7f3efc00, 0x1e260000, ASIMD, func(w uint32) bool { return w>>22&3 == w>>31 }},
}

// threeSame excludes FMLAL, a half-precision instruction in the group.
func threeSame(w uint32) bool {
	switch opcode := w >> 11 & 31; w >> 29 & 1 {
	case 0:
		return opcode != 0x1d
	default:
		return opcode != 0x19
	}
}

// twoOperands excludes FRINT32, FRINT64 and BFCVTN.
func twoOperands(w uint32) bool {
	unsigned, large, opcode := w>>29&1 == 1, w>>23&1 == 1, w>>12&31
	return opcode != 0x1e && (opcode != 0x1f || unsigned && large) && (opcode != 0x16 || !large)
}

// byElement selects the multiplications by a lane, without half precision.
func byElement(w uint32) bool {
	opcode, large := w>>12&15, w>>23&1 == 1
	if w>>29&1 == 0 {
		return 0b0011_1101_1100_1100>>opcode&1 == 1 || large && 0b0000_0010_0010_0010>>opcode&1 == 1
	}
	return 0b0000_0100_0101_0101>>opcode&1 == 1 || large && opcode == 9
}

// instruction64 returns the set of an arm64 instruction, if it is known.
func instruction64(word uint32) (InstructionSet, bool) {
	for _, e := range a64 {
		if word&e.mask == e.value {
			return e.set, e.known == nil || e.known(word)
		}
	}
	return "", false
}
