// Command asm writes the vector kernels of feed/transform, feed/decode and feed/picture; the
// go:generate lines of feed/kernels call it.
//
// All kernels use AVX2. Other widths were considered: 512 bits are split in two on Zen 4 and
// lower the clock of older Intel processors, so a second set of kernels does not pay.
//
// Kernels check nothing. Their Go callers check the bounds, including whole vectors after the
// end of a row.
package main

import (
	"flag"
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	kernels := flag.String("kernels", "", "idct, rows, transform, picture, png or inflate")
	flag.Parse()
	ConstraintExpr("amd64")
	switch *kernels {
	case "idct":
		inverseDCT()
	case "rows":
		weigh()
		convert()
		convertDoubled()
		part()
	case "transform":
		for pairs := 1; pairs <= 3; pairs++ {
			sumGroups(pairs)
		}
		for _, beside := range []int{4, 2, 1} {
			sumChunks(beside)
		}
		sumRows()
		affine()
		stream()
		interleave()
	case "picture":
		warp()
		enhance()
	case "png":
		unfilter()
	case "inflate":
		unpackRounds()
		adlerSums()
	}
	pass.Compile = pass.Concat(pass.Compile, pass.FunctionPass(refuseHighRegisters))
	Generate()
}

// refuseHighRegisters returns an error if a function uses vector registers above 15. Only
// AVX-512 instructions can use those. Without this check, avo uses them when it runs out of
// registers, and still calls the instruction AVX2.
func refuseHighRegisters(function *ir.Function) error {
	for _, i := range function.Instructions() {
		for _, r := range i.Registers() {
			if p := ToPhysical(r); p != nil && p.Kind() == KindVector && p.PhysicalIndex() > 15 {
				return fmt.Errorf("%s: more than 16 vectors are alive at %s: spill one", function.Name, i.Opcode)
			}
		}
	}
	return nil
}

// begin starts a kernel whose pointers do not escape.
func begin(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

// advance increments pointers.
func advance(bytes uint64, pointers ...GPVirtual) {
	for _, p := range pointers {
		ADDQ(Imm(bytes), p)
	}
}

// closeLoop jumps back to a loop's label until nothing of n is left; then the kernel returns.
func closeLoop(label string, n GPVirtual, step uint64) {
	SUBQ(Imm(step), n)
	JNZ(LabelRef(label))
	VZEROUPPER()
	RET()
}

// pointer loads an argument that is a pointer or an int.
func pointer(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// rows returns registers that point to four rows, a stride apart.
func rows(base, stride string) [4]GPVirtual {
	p, s := pointer(base), pointer(stride)
	list := [4]GPVirtual{p, GP64(), GP64(), GP64()}
	for i := 1; i < 4; i++ {
		LEAQ(Mem{Base: list[i-1], Index: s, Scale: 1}, list[i])
	}
	return list
}

// words, longs and bytes return constants that fill a register.
func words(name string, v uint16) Mem {
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 16 {
		DATA(2*i, U16(v))
	}
	return m
}

func longs(name string, v ...uint32) Mem {
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 8 {
		DATA(4*i, U32(v[i%len(v)]))
	}
	return m
}

// single returns a constant of single-precision numbers that fill a register.
func single(name string, v ...float32) Mem {
	bits := make([]uint32, len(v))
	for i := range v {
		bits[i] = math.Float32bits(v[i])
	}
	return longs(name, bits...)
}

func bytes(name string, v ...uint8) Mem {
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 32 {
		DATA(i, U8(v[i%len(v)]))
	}
	return m
}

func constant(m Mem) VecVirtual {
	y := YMM()
	VMOVDQU(m, y)
	return y
}
