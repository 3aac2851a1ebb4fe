package order

import (
	"math"
	"testing"
)

// checkUniform tests counts against equal expectations by chi-squared, as a
// standard normal (Wilson and Hilferty); 4.5 is passed by chance once in 150,000
// times, and the seeds are fixed. Too good a fit fails as well.
func checkUniform(t *testing.T, what string, counts []float64, freedom float64) {
	t.Helper()
	if z := deviation(counts, freedom); math.Abs(z) > 4.5 {
		t.Errorf("%s: chi-squared is %.1f standard deviations off", what, z)
	}
}

func deviation(counts []float64, freedom float64) float64 {
	var total, squares float64
	for _, c := range counts {
		total += c
	}
	expected := total / float64(len(counts))
	for _, c := range counts {
		squares += (c - expected) * (c - expected) / expected
	}
	v := 2 / (9 * freedom)
	return (math.Cbrt(squares/freedom) - (1 - v)) / math.Sqrt(v)
}

// Every number of samples up to 4096, by table and by network: a set of n values
// below n is a permutation.
func TestPermutationIsABijection(t *testing.T) {
	for n := 1; n <= 4096; n++ {
		checkBijection(t, NewPermutation(uint64(n), 1, n))
		checkBijection(t, newNetwork(NewDraws(uint64(n), 1, uint64(n), opRounds), n))
	}
	for _, n := range []int{tableSamples, tableSamples + 1, 99991, 1 << 17, 1<<17 + 1} {
		checkBijection(t, NewPermutation(3, 0, n))
	}
}

func checkBijection(t *testing.T, p *Permutation) {
	t.Helper()
	seen := make([]bool, p.samples)
	for i := range seen {
		at := p.At(i)
		if at < 0 || at >= p.samples || seen[at] {
			t.Fatalf("%d samples: position %d gives %d, out of range or for the second time", p.samples, i, at)
		}
		seen[at] = true
	}
}

// Of a large epoch, parts: no two positions of a contiguous and of a scattered
// hundred thousand have one sample.
func TestPermutationOfALargeEpoch(t *testing.T) {
	for _, n := range []int{1281167, 1<<33 + 1, maxSamples - 1, maxSamples} {
		p := NewPermutation(5, 2, n)
		seen := map[int]int{}
		for i := range 50000 {
			for _, position := range []int{n - 1 - i, i * (n / 100000)} {
				at := p.At(position)
				if at < 0 || at >= n {
					t.Fatalf("%d samples: position %d gives %d", n, position, at)
				}
				if other, twice := seen[at]; twice && other != position {
					t.Fatalf("%d samples: positions %d and %d both give %d", n, position, other, at)
				}
				seen[at] = position
			}
		}
	}
}

func TestPermutationOfNothing(t *testing.T) {
	for _, n := range []int{0, -1} {
		if p := NewPermutation(1, 1, n); len(p.table) != 0 {
			t.Errorf("%d samples have a table of %d", n, len(p.table))
		}
	}
}

func TestInOrder(t *testing.T) {
	if got := InOrder(1 << 30).At(12345); got != 12345 {
		t.Errorf("position 12345 gives %d", got)
	}
}

// All 24 orders of 4 samples are equally likely, and in 16 samples every place is
// for every sample. (The counts of a bag of permutations have (n-1)^2 degrees of
// freedom and a variance that is larger by n/(n-1).)
func TestSmallOrdersAreUniform(t *testing.T) {
	orders := make([]float64, 256)
	places := make([]float64, 256)
	for i := range uint64(20000) {
		p := NewPermutation(i/100, i%100, 4)
		orders[p.At(0)|p.At(1)<<2|p.At(2)<<4|p.At(3)<<6]++
		p = NewPermutation(i/100, i%100, 16)
		for position := range 16 {
			places[position<<4|p.At(position)] += 1
		}
	}
	possible := orders[:0]
	for _, n := range orders {
		if n > 0 {
			possible = append(possible, n)
		}
	}
	if len(possible) != 24 {
		t.Fatalf("%d of 24 orders", len(possible))
	}
	checkUniform(t, "orders of 4", possible, 23)
	if z := deviation(places, 225*16.0/15); math.Abs(z) > 4.5 {
		t.Errorf("places of 16: %.1f standard deviations off", z)
	}
}

// An order, small or large, must not depend on the position of a sample, on its neighbour, or
// on its position under the next epoch or seed. Each of these is tested by a table of 16 x 16
// cells whose margins are fixed by the permutation, thus with 225 degrees of freedom; once by
// the high bits, once by the low ones.
func TestOrdersLookRandom(t *testing.T) {
	for _, n := range []int{4096, tableSamples, tableSamples + 1, 1<<17 + 12345} {
		for seed := range uint64(2) {
			p, epoch, other := NewPermutation(seed, 7, n), NewPermutation(seed, 8, n), NewPermutation(seed+1, 7, n)
			var high, low [5][256]float64
			for i := range n {
				at := p.At(i)
				for what, beside := range [5]int{i, p.At((i + 1) % n), p.At((i + n/2) % n), epoch.At(i), other.At(i)} {
					high[what][at*16/n<<4|beside*16/n]++
					low[what][at%16<<4|beside%16]++
				}
			}
			for what, name := range []string{"position", "next position", "distant position", "next epoch", "next seed"} {
				for bits, counts := range map[string][]float64{"high": high[what][:], "low": low[what][:]} {
					if z := deviation(counts, 225); math.Abs(z) > 4.5 {
						t.Errorf("%d samples, seed %d, %s, %s bits: chi-squared is %.1f standard deviations off", n, seed, name, bits, z)
					}
				}
			}
		}
	}
}

// Two unrelated orders agree in one place on average, however many samples there
// are. 40 pairs: 40 agreements, give or take 6.
func TestOrdersAgreeByChanceOnly(t *testing.T) {
	for _, n := range []int{1000, tableSamples + 1} {
		agreements := 0
		for i := range uint64(8) {
			one := NewPermutation(0, i, n)
			for _, other := range []*Permutation{
				NewPermutation(0, i+1, n), NewPermutation(0, (i+1)<<8, n), NewPermutation(i+1, i, n), NewPermutation(1<<(i+32), i, n), InOrder(n),
			} {
				for position := range n {
					if one.At(position) == other.At(position) {
						agreements++
					}
				}
			}
		}
		if math.Abs(float64(agreements-40)) > 28 {
			t.Errorf("%d samples: 40 pairs of orders agree in %d places, about 40 are expected", n, agreements)
		}
	}
}

func BenchmarkPermutationAt(b *testing.B) {
	for _, n := range []int{tableSamples, 1281167, maxSamples} {
		p := NewPermutation(1, 1, n)
		b.Run("", func(b *testing.B) {
			sum, i := 0, 0
			for b.Loop() {
				sum += p.At(i % n)
				i++
			}
			_ = sum
		})
	}
}

func BenchmarkNewPermutation(b *testing.B) {
	for b.Loop() {
		NewPermutation(1, 1, tableSamples)
	}
}
