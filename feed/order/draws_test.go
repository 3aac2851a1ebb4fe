package order

import "testing"

// The known answers of Random123, tests/kat_vectors, "philox4x32 10".
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			counter: [4]uint32{ones, ones, ones, ones},
			key:     [2]uint32{ones, ones},
			want:    [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			counter: [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			key:     [2]uint32{0xa4093822, 0x299f31d0},
			want:    [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := philox(c.counter, c.key); got != c.want {
			t.Errorf("philox(%08x, %08x) = %08x, want %08x", c.counter, c.key, got, c.want)
		}
	}
}

// The layout in the comment of Draws, spelt out once more.
func TestDrawsLayout(t *testing.T) {
	const seed, epoch, sample, operation = 0x1111111122222222, 0x33333333, 0x555544444444, 0x6666
	d := NewDraws(seed, epoch, sample, operation)
	for block := range uint32(3) {
		w := philox([4]uint32{0x44444444, 0x66665555, 0x33333333, block}, [2]uint32{0x22222222, 0x11111111})
		for _, want := range []uint64{uint64(w[1])<<32 | uint64(w[0]), uint64(w[3])<<32 | uint64(w[2])} {
			if got := d.nextWord(); got != want {
				t.Errorf("block %d: %016x, want %016x", block, got, want)
			}
		}
	}
}

// Neighbouring streams share nothing: all first draws of a small box of (seed,
// epoch, sample, operation) differ, and each of their bits is set in half of them.
func TestDrawsStreamsAreUnrelated(t *testing.T) {
	seen := map[uint64]bool{}
	var set [64]int
	for i := range uint64(1 << 16) {
		d := NewDraws(i&15, i>>4&15, i>>8&15, uint32(i>>12))
		x := d.nextWord()
		seen[x] = true
		for bit := range set {
			set[bit] += int(x >> bit & 1)
		}
	}
	if len(seen) != 1<<16 {
		t.Errorf("%d different draws of %d streams", len(seen), 1<<16)
	}
	counts := make([]float64, 0, 128)
	for _, n := range set {
		counts = append(counts, float64(n), float64(1<<16-n))
	}
	checkUniform(t, "bits of first draws", counts, 64)
}

func TestBelowIsUniform(t *testing.T) {
	for _, n := range []int{2, 3, 10, 1000} {
		d := NewDraws(1, 2, 3, 4)
		counts := make([]float64, n)
		for range 100 * n {
			counts[d.Below(n)]++
		}
		checkUniform(t, "Below", counts, float64(n-1))
	}
	// 3 * 2^61 leaves a quarter of all draws over: without throwing them away, the
	// first third would come twice as often as the others.
	const n = 3 << 61
	d := NewDraws(1, 2, 3, 4)
	thirds := make([]float64, 3)
	for range 30000 {
		thirds[d.Below(n)/(n/3)]++
	}
	checkUniform(t, "Below(3 << 61)", thirds, 2)
}

func TestBelowOfNothing(t *testing.T) {
	d := NewDraws(0, 0, 0, 0)
	for _, n := range []int{1, 0, -5} {
		if got := d.Below(n); got != 0 {
			t.Errorf("Below(%d) = %d", n, got)
		}
	}
}

func TestFloat64IsUniform(t *testing.T) {
	d := NewDraws(9, 0, 0, 0)
	counts := make([]float64, 100)
	for range 100000 {
		counts[int(d.Float64()*100)]++ // an index of 100 would be a number of 1
	}
	checkUniform(t, "Float64", counts, 99)
}

func BenchmarkDraws(b *testing.B) {
	var sum float64
	for b.Loop() {
		d := NewDraws(1, 2, 3, 4)
		sum += d.Float64() + d.Float64()
	}
	_ = sum
}
