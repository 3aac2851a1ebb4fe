package machinecode

import (
	"encoding/binary"
	"testing"
)

// TestSetsOfArm64: what ARMv8.0 has is known, what came later is not. Words and names are binutils'.
func TestSetsOfArm64(t *testing.T) {
	for _, c := range []struct {
		word uint32
		text string
		set  InstructionSet
	}{
		{0xd65f03c0, "ret", ""},
		{0xf9401807, "ldr x7, [x0, #48]", ""},
		{0xdac00ca5, "rev x5, x5", ""},
		{0xcb2a00e7, "sub x7, x7, w10, uxtb", ""},
		{0x54fff982, "b.cs", ""},
		{0x4e22d420, "fadd v0.4s, v1.4s, v2.4s", ASIMD},
		{0x4e22cc20, "fmla v0.4s, v1.4s, v2.4s", ASIMD},
		{0x4fa21020, "fmla v0.4s, v1.4s, v2.s[1]", ASIMD},
		{0x4f72d020, "sqrdmulh v0.8h, v1.8h, v2.h[3]", ASIMD},
		{0x6f720020, "mla v0.8h, v1.8h, v2.h[3]", ASIMD},
		{0x6f722020, "umlal2 v0.4s, v1.8h, v2.h[3]", ASIMD},
		{0x4e020020, "tbl v0.16b, {v1.16b}, v2.16b", ASIMD},
		{0x4e422820, "trn1 v0.8h, v1.8h, v2.8h", ASIMD},
		{0x6e021820, "ext v0.16b, v1.16b, v2.16b, #3", ASIMD},
		{0x4e216820, "fcvtn2 v0.8h, v1.4s", ASIMD},
		{0x6ea1f820, "fsqrt v0.4s, v1.4s", ASIMD},
		{0x4e71b820, "addv h0, v1.8h", ASIMD},
		{0x4f000400, "movi v0.4s, #0", ASIMD},
		{0x4f159c20, "sqrshrn2 v0.8h, v1.4s, #11", ASIMD},
		{0x0e624020, "addhn v0.4h, v1.4s, v2.4s", ASIMD},
		{0x5e180401, "mov d1, v0.d[1]", ASIMD},
		{0x9e660006, "fmov x6, d0", ASIMD},
		{0x1e260006, "fmov w6, s0", ASIMD},
		{0x4c9f4001, "st3 {v1.16b-v3.16b}, [x0], #48", ASIMD},
		{0xad400001, "ldp q1, q0, [x0]", ASIMD},
	} {
		if n, set, ok := decode("arm64", binary.LittleEndian.AppendUint32(nil, c.word)); n != 4 || set != c.set || !ok {
			t.Errorf("%s (%08x): %d bytes of %q, known %t; expected 4 of %q", c.text, c.word, n, set, ok, c.set)
		}
	}
	for word, text := range map[uint32]string{
		0x4e829420: "sdot v0.4s, v1.16b, v2.16b",
		0x4fa2e020: "sdot v0.4s, v1.16b, v2.4b[1]",
		0x4e829c20: "usdot v0.4s, v1.16b, v2.16b",
		0x6e428420: "sqrdmlah v0.8h, v1.8h, v2.8h",
		0x6f52d020: "sqrdmlah v0.8h, v1.8h, v2.h[1]",
		0x4e421420: "fadd v0.8h, v1.8h, v2.8h",
		0x4f121020: "fmla v0.8h, v1.8h, v2.h[1]",
		0x4f129020: "fmul v0.8h, v1.8h, v2.h[1]",
		0x4e22ec20: "fmlal v0.4s, v1.4h, v2.4h",
		0x6e22cc20: "fmlal2 v0.4s, v1.4h, v2.4h",
		0x6e82cc20: "fcmla v0.4s, v1.4s, v2.4s, #90",
		0x4e21e820: "frint32z v0.4s, v1.4s",
		0x0ea16820: "bfcvtn v0.4h, v1.4s",
		0x4e30f820: "fmaxv h0, v1.8h",
		0x4f03fe00: "fmov v0.8h, #1.0",
		0x0ee2e020: "pmull v0.1q, v1.1d, v2.1d",
		0x4e284820: "aese v0.16b, v1.16b",
		0x5e024020: "sha256h q0, q1, v2.4s",
		0x1ac24020: "crc32b w0, w1, w2",
		0xf8200041: "ldadd x0, x1, [x2]",
		0xc8a07c41: "cas x0, x1, [x2]",
		0xf8200420: "ldraa x0, [x1]",
		0xd503233f: "paciasp",
		0x69000440: "stgp x0, x1, [x2]",
		0x04215020: "addvl x0, x1, #1",
		0x2518e3e0: "ptrue p0.b",
	} {
		if _, set, ok := decode("arm64", binary.LittleEndian.AppendUint32(nil, word)); ok {
			t.Errorf("%s (%08x) is of %q, but ARMv8.0 has it not", text, word, set)
		}
	}
	if _, _, ok := decode("arm64", []byte{0xc0, 3, 0x5f}); ok {
		t.Error("three bytes are an instruction")
	}
}
