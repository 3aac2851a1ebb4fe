package wheel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRoundOnce compares RoundOnce with exact sums, with terms of all magnitudes, including
// sums close to the middle of two numbers.
func TestRoundOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() float32 {
		return float32(math.Ldexp(1+float64(r.IntN(1<<23))/(1<<23), r.IntN(70)-35)) * float32(1-2*r.IntN(2))
	}
	twice := 0
	check := func(x, y, z float32) {
		exact := new(big.Float).SetPrec(300).SetFloat64(float64(x))
		exact.Mul(exact, big.NewFloat(float64(y))).Add(exact, big.NewFloat(float64(z)))
		want, _ := exact.Float32()
		if got := RoundOnce(x, y, z); got != want {
			t.Fatalf("%b*%b + %b is %b, expected %b", x, y, z, got, want)
		}
		if float32(float64(x)*float64(y)+float64(z)) != want {
			twice++
		}
	}
	for range 200_000 {
		check(number(), number(), number())
		// A product that is all but half of the addend's last bit.
		z, k := number(), math.Ldexp(float64(r.IntN(9)-4), -23)
		half := math.Ldexp(1, int(math.Floor(math.Log2(math.Abs(float64(z)))))-24)
		check(float32(1+k), float32(half*(1-k)), z)
	}
	if twice == 0 {
		t.Error("no sum was drawn that double precision alone rounds wrongly: the test shows nothing")
	}
}

// TestSumMatchesWheel: 3*(1/3) + -1 tells whether the product is rounded.
func TestSumMatchesWheel(t *testing.T) {
	third, third32 := 1.0/3, float32(1.0)/3
	want, want32 := 0.0, float32(0)
	if Fuses {
		want, want32 = -0x1p-54, 0x1p-25
	}
	if got := Sum(3, third, -1); got != want {
		t.Errorf("Sum: %b, expected %b", got, want)
	}
	if got := Sum32(3, third32, -1); got != want32 {
		t.Errorf("Sum32: %b, expected %b", got, want32)
	}
}

// TestSumsOfBytes: where SumsOfBytes says so, double precision alone gives what a fused sum in
// single precision does, for every byte and difference of bytes.
func TestSumsOfBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for e := -21; e <= 19; e++ {
		x := float32(math.Ldexp(1+float64(r.IntN(1<<23)|1)/(1<<23), e)) * float32(1-2*r.IntN(2))
		if !SumsOfBytes(x) {
			t.Errorf("not of %b", x)
		}
		for d := -255; d <= 255; d++ {
			for a := range 256 {
				if got, want := float32(float64(float64(x)*float64(d))+float64(a)), RoundOnce(x, float32(d), float32(a)); got != want {
					t.Fatalf("%b*%d + %d is %b, expected %b", x, d, a, got, want)
				}
			}
		}
	}
	for _, x := range []float32{1.0 / (1 << 22), -1e-20, 1 << 21, float32(math.Inf(1)), float32(math.NaN())} {
		if SumsOfBytes(x) {
			t.Errorf("of %b", x)
		}
	}
}
