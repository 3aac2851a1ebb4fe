package quantity

import (
	"fmt"
	"math"
	"strconv"

	"github.com/stoker-dev/stoker"
)

// All numbers in sentences and tables are formatted here, so that a quantity reads the same on
// every page. They have three significant digits, because measurements are not more precise.
// Unknown (NaN) and infinite values are "unknown". The String methods, in contrast, print all
// digits.

// Digits rounds to n significant digits; NaN for NaN and infinity.
func Digits(v float64, n int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.NaN()
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	return r
}

// Limits of what can be a measurement: smaller values count as 0, larger ones as unknown.
const (
	leastPrinted = 0.0005
	mostPrinted  = 1e21
)

// roundShown rounds a number for printing: to three digits, and to 0 if it is smaller than least.
func roundShown(v, least float64) float64 {
	switch {
	case math.Abs(v) < least:
		return 0
	case math.Abs(v) > mostPrinted:
		return math.NaN()
	}
	return Digits(v, 3)
}

// AboutBytes prints bytes, "110 KB".
func AboutBytes(v float64) string { return Bytes(roundShown(v, leastPrinted)).String() }

// AboutRate prints bytes per second, "6.5 GB/s".
func AboutRate(v float64) string { return Rate(roundShown(v, leastPrinted)).String() }

// AboutSeconds prints a time, "11.7 ms". A time below the resolution of clocks is 0.
func AboutSeconds(v float64) string { return Seconds(roundShown(v, 0.5e-9)).String() }

// AboutFLOPs prints floating-point operations per second, "312 TFLOP/s".
func AboutFLOPs(v float64) string { return FLOPRate(roundShown(v, leastPrinted)).String() }

// AboutWatts prints a power, "210 W".
func AboutWatts(v float64) string { return Watts(roundShown(v, leastPrinted)).String() }

// AboutSamples prints a throughput, "911 samples/s", "2,540 samples/s".
func AboutSamples(v float64) string {
	if n := About(v); n != "unknown" {
		return n + " samples/s"
	}
	return "unknown"
}

// AboutDollars prints an amount of money, "$2.33"; less than a cent is "<$0.01".
func AboutDollars(v float64) string {
	switch {
	case math.IsNaN(roundShown(v, 0)):
		return "unknown"
	case v > 0 && v < 0.005:
		return "<$0.01"
	case math.Abs(v) >= 1000:
		return "$" + About(v)
	}
	return "$" + strconv.FormatFloat(math.Round(100*v)/100, 'f', 2, 64)
}

// About prints a number without a unit, with at most three decimals and separated thousands.
func About(v float64) string {
	if v = roundShown(v, leastPrinted); math.IsNaN(v) {
		return "unknown"
	}
	if math.Abs(v) < 1000 {
		return strconv.FormatFloat(math.Round(1000*v)/1000, 'f', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// AboutMany prints large numbers in short form: "10 k", "2.05 G".
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

// Percent prints a share of a whole with one decimal, "95 %", "3.1 %"; more than the whole with
// three digits.
func Percent(v float64) string {
	switch {
	case math.IsNaN(roundShown(v, 0)):
		return "unknown"
	case v >= 0.9995 && v < 1-1e-9: // less than all is not 100 %
		return "99.9 %"
	case v > 1e-9 && v < 0.0005: // and more than nothing is not 0 %
		return "<0.1 %"
	case v >= 1:
		return strconv.FormatFloat(Digits(100*v, 3), 'f', -1, 64) + " %"
	case math.Abs(v) < leastPrinted: // including negative values
		return "0 %"
	}
	return strconv.FormatFloat(math.Round(1000*v)/10, 'f', -1, 64) + " %"
}

// leastCores is the least number of cores that is not printed as zero.
const leastCores = 0.005

// AboutCores prints a number of cores, "1.6"; less than one with two decimals.
func AboutCores(v float64) string {
	switch v = roundShown(v, leastCores); {
	case math.IsNaN(v):
		return "unknown"
	case v < 0.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return About(v)
}

// Hundred converts shares of a whole to whole per cents that add up to 100. The remainder after
// rounding down goes to the shares that lost most.
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

// AboutRatio prints a ratio, "1.25x".
func AboutRatio(v float64) string {
	if text := ratio(v); text != "unknown" {
		return text + "x"
	}
	return "unknown"
}

// ratio prints a ratio with two decimals, larger ones with three digits.
func ratio(v float64) string {
	if v = roundShown(v, 0.005); math.Abs(v) < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return About(v)
}

// Factor prints a speed-up with its interval, "1.25x (1.10 to 1.40)".
func Factor(i stoker.Interval) string {
	if !i.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%s (%s to %s)", AboutRatio(i.Point), ratio(i.Low), ratio(i.High))
}

// Ranged prints the ends of an interval, "1.2 ms to 2.8 ms"; one value if both look the same.
func Ranged(i stoker.Interval, text func(float64) string) string {
	low, high := text(i.Low), text(i.High)
	switch {
	case !i.Known():
		return "unknown"
	case low == high || math.IsNaN(i.High):
		return text(i.Point)
	}
	return low + " to " + high
}

// Around prints an interval with its point, "2 ms (1.2 ms to 2.8 ms)", or only the known end.
func Around(i stoker.Interval, text func(float64) string) string {
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

// Ending returns one for the number 1 and many for any other: the endings of a noun or a verb.
func Ending[N int | float64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Many prints a number of things, "1 step", "12 steps"; the plural of the noun must end in s.
func Many(n int, noun string) string { return fmt.Sprintf("%d %s%s", n, noun, Ending(n, "", "s")) }
