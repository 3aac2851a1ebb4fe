// Package stat holds the few statistics that more than one package needs. It
// knows nothing of runs or steps.
package stat

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Mean is the arithmetic mean; NaN of nothing.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Quantile is the q-quantile, 0 ≤ q ≤ 1, with linear interpolation; NaN of
// nothing. x is left as it is.
func Quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sorted := append([]float64(nil), x...)
	sort.Float64s(sorted)
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// Median is the 0.5-quantile.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Or is v, or otherwise where v is unknown (NaN).
func Or(v, otherwise float64) float64 {
	if math.IsNaN(v) {
		return otherwise
	}
	return v
}

// Known is nil for what JSON cannot say: NaN, which is unknown, and infinity.
func Known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Value is what a pointer points to, unknown (NaN) where it is nil.
func Value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// Ramp rises from 0 at low to 1 at high; with low > high it falls. An unknown
// value (NaN) gives 0.
func Ramp(v, low, high float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(1, max(0, (v-low)/(high-low)))
}

// BlockMeans draws bootstrap means of x by resampling whole blocks of length
// block, so that neighbouring values that depend on each other stay together
// (moving block bootstrap, Künsch 1989). The same seed gives the same draws.
func BlockMeans(x []float64, block, draws int, seed uint64) []float64 {
	n := len(x)
	if n == 0 {
		return nil
	}
	block = min(max(block, 1), n)
	sums := make([]float64, n+1)
	for i, v := range x {
		sums[i+1] = sums[i] + v
	}
	source := rand.New(rand.NewPCG(seed, 0x5704e3))
	blocks := (n + block - 1) / block
	means := make([]float64, draws)
	for d := range means {
		total := 0.0
		for range blocks {
			at := source.IntN(n - block + 1)
			total += sums[at+block] - sums[at]
		}
		means[d] = total / float64(blocks*block)
	}
	return means
}
