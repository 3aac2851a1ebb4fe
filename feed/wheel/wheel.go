// Package wheel computes sums of products exactly as Pillow's wheel for this architecture does.
//
// The wheel for arm64 is built by a compiler that fuses x*y+z: it rounds the sum, but not the
// product. The wheel for x86-64 rounds both. The last bit decides a pixel now and then, so
// Pillow's own bytes differ between the two. The places where the wheel fuses were read from
// its machine code (Pillow 13.0.0, manylinux_2_28_aarch64: FMADD, FMSUB and FNMSUB in
// _imaging). All of them call this package.
//
// Go's compiler may fuse on arm64 as well. So all other code of feed converts a
// product that is part of a sum, float64(x*y)+z, and TestNothingFuses of cmd/stoker names the
// functions that may fuse.
package wheel

import (
	"math"
	"runtime"
)

// Fuses reports whether the wheel rounds x*y+z only once.
const Fuses = runtime.GOARCH == "arm64"

// NaNIsZero reports whether C converts NaN to 0. On x86-64 NaN becomes the smallest int, which
// is outside of every picture.
const NaNIsZero = runtime.GOARCH == "arm64"

// Sum returns x*y + z.
func Sum(x, y, z float64) float64 {
	if Fuses {
		return math.FMA(x, y, z)
	}
	return float64(x*y) + z
}

// Sum32 returns x*y + z in single precision.
func Sum32(x, y, z float32) float32 {
	if Fuses {
		return RoundOnce(x, y, z)
	}
	return float32(x*y) + z
}

// SumsOfBytes reports whether double precision holds x*d + a without rounding for every
// difference d of two bytes and every byte a. If so, rounding that to single precision gives
// Sum32 on a wheel that fuses. The product is a multiple of 2^(e-23), with e the exponent of x,
// and the sum is below 2^9 or 2^(e+10): from e = -21 on, they span at most 53 bits.
func SumsOfBytes(x float32) bool {
	size := math.Abs(float64(x))
	return x == 0 || size >= 1.0/(1<<21) && size <= 1<<20
}

// RoundOnce returns x*y + z in single precision, rounded once, on every architecture. The
// product is exact in double precision. If the sum is not, its last bit is made odd, so that
// rounding again sees on which side the exact sum was.
func RoundOnce(x, y, z float32) float32 {
	product, addend := float64(x)*float64(y), float64(z)
	sum := product + addend
	less := sum - product
	rest := (product - (sum - less)) + (addend - less)
	bits := math.Float64bits(sum)
	if rest == 0 || bits&1 == 1 || math.IsNaN(rest) {
		return float32(sum)
	}
	if (rest > 0) == (sum > 0) {
		return float32(math.Float64frombits(bits + 1))
	}
	return float32(math.Float64frombits(bits - 1))
}
