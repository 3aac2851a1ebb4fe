// Package stat holds the few statistics that more than one package needs. It
// knows nothing of runs or steps.
package stat

import (
	"math"
	"sort"
	"strconv"
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

// Finite reports whether a number is known, and not infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// PositiveOrNaN takes what is not more than 0 as unknown.
func PositiveOrNaN(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

// Known is nil for what JSON cannot say: NaN, which is unknown, and infinity.
func Known(v float64) *float64 {
	if !Finite(v) {
		return nil
	}
	return &v
}

// Text is a number as programs read it; what is unknown or infinite is empty.
func Text(v float64) string {
	if !Finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
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

// CV is the coefficient of variation: standard deviation over mean.
func CV(x []float64) float64 {
	mean := Mean(x)
	if len(x) < 2 || mean == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum/float64(len(x)-1)) / mean
}
