// The generator of the vector kernels of feed/transform and feed/decode (rows):
//
//	go run . -kernels transform -out ../kernels_amd64.s -stubs ../kernels_stub_amd64.go -pkg transform
//	go run . -kernels rows -out ../../decode/rows_amd64.s -stubs ../../decode/rows_stub_amd64.go -pkg decode
//
// All of it is AVX2. Vectors of other widths were weighed: 512 bits are split in two
// on Zen 4 and lower the clock of older Intel processors, so that they do not pay for
// a second set of kernels.
//
// Kernels check nothing: their Go callers make sure of the bounds, with whole vectors
// behind the end of a row.
package main

import (
	"flag"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

var kernels = flag.String("kernels", "transform", "transform or rows")

func main() {
	flag.Parse()
	ConstraintExpr("amd64")
	switch *kernels {
	case "transform":
		for pairs := 1; pairs <= 3; pairs++ {
			sumGroups(pairs)
		}
		sumChunks()
		sumRows()
		narrowRows()
		narrowGroups()
		affine()
		stream()
		interleave()
	case "rows":
		weigh()
		convert()
		convertDoubled()
	}
	Generate()
}

// pointer loads an argument that is a pointer or a number of bytes.
func pointer(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// rows returns registers of four rows, a stride apart.
func rows(base, stride string) [4]GPVirtual {
	p, s := pointer(base), pointer(stride)
	list := [4]GPVirtual{p, GP64(), GP64(), GP64()}
	for i := 1; i < 4; i++ {
		LEAQ(Mem{Base: list[i-1], Index: s, Scale: 1}, list[i])
	}
	return list
}

// words, longs and bytes are constants that fill a register.
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
