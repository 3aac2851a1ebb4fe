package stoker

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Numbers in sentences and tables are printed here and nowhere else, so that one
// quantity reads the same on every page. They are of three digits: more would claim
// what nobody knows. What is unknown (NaN) or infinite reads "unknown". A quantity's
// String, by contrast, prints all that it holds.

// Digits rounds to so many significant digits; what is not finite is unknown.
func Digits(v float64, n int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.NaN()
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	return r
}

// AboutBytes prints bytes, "110 KB".
func AboutBytes(v float64) string { return Bytes(Digits(v, 3)).String() }

// AboutRate prints bytes per second, "6.5 GB/s".
func AboutRate(v float64) string { return Rate(Digits(v, 3)).String() }

// AboutSeconds prints a time, "11.7 ms". What is less than any clock tells is 0.
func AboutSeconds(v float64) string {
	if math.Abs(v) < 0.5e-9 {
		v = 0
	}
	return Seconds(Digits(v, 3)).String()
}

// AboutFLOPs prints floating-point operations per second, "312 TFLOP/s".
func AboutFLOPs(v float64) string { return FLOPRate(Digits(v, 3)).String() }

// About prints a number without a unit; thousands are separated.
func About(v float64) string {
	if v = Digits(v, 3); math.IsNaN(v) {
		return "unknown"
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if math.Abs(v) < 1000 {
		return text
	}
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// AboutMany prints large numbers short: "10 k", "2.05 G".
func AboutMany(v float64) string {
	for _, p := range []struct {
		factor float64
		name   string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= p.factor && !math.IsInf(v, 1) {
			return About(v/p.factor) + p.name
		}
	}
	return About(v)
}

// Percent prints a share of a whole to a tenth, "95 %", "3.1 %"; more than the whole in
// three digits.
func Percent(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "unknown"
	case v >= 0.9995 && v < 1-1e-9: // what is not all is not called 100 %
		return "99.9 %"
	case v > 1e-9 && v < 0.0005: // nor is what is little called nothing
		return "<0.1 %"
	}
	if v >= 1 {
		return strconv.FormatFloat(Digits(100*v, 3), 'f', -1, 64) + " %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(100*v, 'f', 1, 64), ".0") + " %"
}

// AboutCores prints a number of cores, "1.6"; fewer than one to a hundredth.
func AboutCores(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	if v < 0.995 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// Hundred makes whole per cent of shares of a whole, which add up to 100: what rounding
// down leaves goes to those that lost most by it.
func Hundred(shares ...float64) []int {
	whole, lost, left := make([]int, len(shares)), make([]float64, len(shares)), 100
	for i, s := range shares {
		whole[i] = int(100 * s)
		lost[i] = 100*s - float64(whole[i])
		left -= whole[i]
	}
	for ; left > 0; left-- {
		most := 0
		for i := range lost {
			if lost[i] > lost[most] {
				most = i
			}
		}
		whole[most], lost[most] = whole[most]+1, -1
	}
	return whole
}

// times prints a ratio, "1.25x".
func times(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "unknown"
	}
	return fmt.Sprintf("%.2fx", v)
}

// Factor prints what a change is worth, "1.25x (1.10 to 1.40)".
func Factor(i Interval) string {
	if !i.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%s (%.2f to %.2f)", times(i.Point), i.Low, i.High)
}

// Ranged prints an interval by its ends, "1.2 ms to 2.8 ms"; one value where they read
// the same.
func Ranged(i Interval, text func(float64) string) string {
	low, high := text(i.Low), text(i.High)
	switch {
	case !i.Known():
		return "unknown"
	case low == high || math.IsNaN(i.High):
		return text(i.Point)
	}
	return low + " to " + high
}

// Around prints an interval by its point, "2 ms (1.2 ms to 2.8 ms)", or the end of it that
// is known.
func Around(i Interval, text func(float64) string) string {
	low, high := text(i.Low), text(i.High)
	switch {
	case !i.Known() && !math.IsNaN(i.High):
		return "at most " + high
	case !i.Known() && i.Low > 0:
		return "at least " + low
	case !i.Known():
		return "unknown"
	case low == high:
		return text(i.Point)
	}
	return fmt.Sprintf("%s (%s to %s)", text(i.Point), low, high)
}

// Ending is what a noun and its verb end in: the first for one, the second for any other
// number.
func Ending[N int | float64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
