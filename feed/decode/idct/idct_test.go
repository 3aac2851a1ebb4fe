package idct

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestIDCT compares the three versions with each other, on blocks as encoders
// write them and on wild ones, and the first kind with the cosine transform itself.
func TestIDCT(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	const stride = 24
	for i := range 20000 {
		var blocks [128]int16
		var tables [2][64]uint16
		wild := i%2 == 1
		for k := range blocks {
			tables[k/64][k%64] = uint16(1 + r.IntN(20))
			if wild {
				tables[k/64][k%64] = uint16(r.Uint32())
			}
		}
		for range r.IntN(30) {
			k := r.IntN(128)
			if r.IntN(3) == 0 {
				k &^= 0x38 // the first row, or nothing but it: the shortcut
			}
			blocks[k] = int16(r.IntN(81) - 40)
			if wild {
				blocks[k] = int16(r.Uint32())
			}
		}
		quant := new(PairQuant)
		quant.SetTables(&tables[0], &tables[1])
		before := blocks
		var want, plain, apart, beside [2][8 * stride]byte
		transformWild((*[64]int16)(blocks[:64]), (*[120]int16)(quant[:120]), want[0][:], stride)
		transformWild((*[64]int16)(blocks[64:]), (*[120]int16)(quant[8:]), want[1][:], stride)
		transformPlain(&blocks, quant, plain[0][:], plain[1][:], stride)
		if plain != want {
			t.Fatalf("transformBlock differs from transformWild for %v and %v", before, tables)
		}
		blocks = before
		TransformPair(&blocks, quant, apart[0][:], apart[1][:], stride)
		if apart != want || blocks != [128]int16{} {
			t.Fatalf("TransformPair differs from transformWild for %v and %v", before, tables)
		}
		blocks = before
		TransformBeside(&blocks, quant, beside[0][:], stride)
		for y := range 8 {
			for x := range 8 {
				if beside[0][y*stride+x] != want[0][y*stride+x] || beside[0][y*stride+8+x] != want[1][y*stride+x] {
					t.Fatalf("TransformBeside differs from transformWild for %v and %v", before, tables)
				}
			}
		}
		if !wild && i < 2000 {
			nearCosines(t, before[:64], &tables[0], want[0][:], stride)
		}
	}
}

// nearCosines allows the rounding of whole numbers.
func nearCosines(t *testing.T, c []int16, q *[64]uint16, got []byte, stride int) {
	t.Helper()
	scale := func(k int) float64 {
		if k == 0 {
			return math.Sqrt2 / 4
		}
		return 0.5
	}
	for y := range 8 {
		for x := range 8 {
			sum := 128.0
			for v := range 8 {
				for u := range 8 {
					if f := float64(c[8*v+u]) * float64(q[8*v+u]); f != 0 {
						sum += f * scale(u) * scale(v) * math.Cos(float64((2*x+1)*u)*math.Pi/16) * math.Cos(float64((2*y+1)*v)*math.Pi/16)
					}
				}
			}
			if want := min(max(sum, 0), 255); math.Abs(float64(got[y*stride+x])-want) > 1 {
				t.Fatalf("sample %d,%d is %d, the cosines say %.2f", x, y, got[y*stride+x], want)
			}
		}
	}
}
