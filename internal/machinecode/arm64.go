package machinecode

import "encoding/binary"

// Fuses reports whether code of arm64 has a multiplication that is rounded only together
// with an addition (FMADD, FMSUB, FNMADD, FNMSUB). The Go compiler makes them of x*y+z
// where the product is not converted: float64(x*y)+z.
func (f Function) Fuses() bool {
	for at := 0; at+4 <= len(f.Code); at += 4 {
		if binary.LittleEndian.Uint32(f.Code[at:])>>24 == 0x1f {
			return true
		}
	}
	return false
}
