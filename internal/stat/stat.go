// Package stat holds the few statistics that several packages use. It does not depend on runs
// or steps.
package stat

import (
	"math"
	"sort"
	"strconv"
)

// Mean returns the arithmetic mean; NaN for an empty list.
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

// Quantile returns the q-quantile, 0 ≤ q ≤ 1, with linear interpolation; NaN for an empty list.
// It does not change x.
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

// Median returns the 0.5-quantile.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Or returns v, or otherwise if v is unknown (NaN).
func Or(v, otherwise float64) float64 {
	if math.IsNaN(v) {
		return otherwise
	}
	return v
}

// Finite reports whether a number is neither NaN nor infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// PositiveOrNaN returns v if it is positive, else NaN, which means unknown.
func PositiveOrNaN(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

// Known returns nil for numbers that JSON cannot represent: NaN, which means unknown, and
// infinity.
func Known(v float64) *float64 {
	if !Finite(v) {
		return nil
	}
	return &v
}

// Text formats a number for programs; "" if it is unknown or infinite.
func Text(v float64) string {
	if !Finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Value returns the value of a pointer; NaN (unknown) if it is nil.
func Value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// Ramp rises linearly from 0 at low to 1 at high; with low > high it falls. It returns 0 for
// NaN.
func Ramp(v, low, high float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(1, max(0, (v-low)/(high-low)))
}

// CV returns the coefficient of variation: standard deviation over mean.
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
