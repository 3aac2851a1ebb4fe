package quantity

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
)

func TestWords(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		text func(float64) string
		v    float64
		want string
	}{
		{About, 0, "0"},
		{About, 7.94, "7.94"},
		{About, 999.4, "999"},
		{About, 999.6, "1,000"},
		{About, 21_849, "21,800"},
		{About, 1.2e6, "1,200,000"},
		{About, -100_000, "-100,000"},
		{About, -1000, "-1,000"},
		{About, nan, "unknown"},
		{About, inf, "unknown"},
		{AboutMany, 10_000, "10 k"},
		{AboutMany, 2.0499e9, "2.05 G"},
		{AboutMany, 12, "12"},
		{AboutMany, inf, "unknown"},
		{AboutMany, nan, "unknown"},
		{AboutBytes, 110_149, "110 KB"},
		{AboutBytes, nan, "unknown"},
		{AboutRate, 6.504e9, "6.5 GB/s"},
		{AboutRate, nan, "unknown"},
		{AboutSeconds, 0.011744, "11.7 ms"},
		{AboutSeconds, 0, "0 s"},
		{AboutSeconds, 1e-18, "0 s"},
		{AboutSeconds, 45.61e-6, "45.6 µs"},
		{AboutSeconds, nan, "unknown"},
		{AboutSeconds, inf, "unknown"},
		{AboutFLOPs, 312.4e12, "312 TFLOP/s"},
		{AboutFLOPs, nan, "unknown"},
		{Percent, 0, "0 %"},
		{Percent, 0.95, "95 %"},
		{Percent, 0.0312, "3.1 %"},
		{Percent, 0.0004, "<0.1 %"},
		{Percent, 1e-12, "0 %"},
		{Percent, 0.9999, "99.9 %"},
		{Percent, 1, "100 %"},
		{Percent, 1 - 1e-12, "100 %"},
		{Percent, 1.0623, "106 %"},
		{Percent, -0.031, "-3.1 %"},
		{Percent, nan, "unknown"},
		{Percent, inf, "unknown"},
		{AboutRatio, 1.254, "1.25x"},
		{AboutCores, 0.25, "0.25"},
		{AboutCores, 0.996, "1.0"},
		{AboutCores, 1.63, "1.6"},
		{AboutCores, nan, "unknown"},
		{AboutRatio, nan, "unknown"},
	} {
		if got := c.text(c.v); got != c.want {
			t.Errorf("%v reads %q, want %q", c.v, got, c.want)
		}
	}
}

func TestHundred(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   []int
	}{
		{[]float64{1, 0, 0}, []int{100, 0, 0}},
		{[]float64{1. / 3, 1. / 3, 1. / 3}, []int{34, 33, 33}},
		{[]float64{0.015, 0.005, 0.98}, []int{2, 0, 98}},
		{[]float64{0.996, 0.004}, []int{100, 0}},
		{[]float64{0.29, 0.71}, []int{29, 71}}, // 100*0.29 is less than 29
	} {
		if got := Hundred(c.shares...); !slices.Equal(got, c.want) {
			t.Errorf("%v are %v per cent, want %v", c.shares, got, c.want)
		}
	}
}

func TestIntervalsInWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Ranged(stoker.Interval{Low: 1.2e-3, Point: 2e-3, High: 2.8e-3}, AboutSeconds), "1.2 ms to 2.8 ms"},
		{Ranged(stoker.Exactly(2e-3), AboutSeconds), "2 ms"},
		{Ranged(stoker.Unknown(), AboutSeconds), "unknown"},
		{Ranged(stoker.Interval{Low: 1, Point: 2, High: math.NaN()}, About), "2"},
		{Around(stoker.Interval{Low: 1.2e-3, Point: 2e-3, High: 2.8e-3}, AboutSeconds), "2 ms (1.2 ms to 2.8 ms)"},
		{Around(stoker.Exactly(2e-3), AboutSeconds), "2 ms"},
		{Around(stoker.Unknown(), AboutSeconds), "unknown"},
		{Factor(stoker.Interval{Low: 1.1, Point: 1.25, High: 1.4}), "1.25x (1.10 to 1.40)"},
		{Factor(stoker.Unknown()), "unknown"},
		{Ending(1, "", "s") + Ending(2, "", "s") + Ending(0.0, " was", "s were"), "ss were"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// No number, however small, large or unknown, is printed in more digits than are known, in
// a programmer's notation or in more room than a column has.
func TestNumbersOfAnySizeAreShort(t *testing.T) {
	texts := map[string]func(float64) string{
		"About": About, "AboutMany": AboutMany, "AboutBytes": AboutBytes, "AboutRate": AboutRate, "AboutSeconds": AboutSeconds, "AboutFLOPs": AboutFLOPs,
		"Percent": Percent, "AboutCores": AboutCores, "AboutWatts": AboutWatts, "AboutDollars": AboutDollars, "AboutSamples": AboutSamples, "Times": AboutRatio,
	}
	sizes := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 5e-324, 1.16e-300, 1.16e-10, 4.9e-4, 0.123456789, 12.3456789, 123456.789, 1.23456789e9, 1.16e15, 1.16e21, 1.16e300}
	for name, text := range texts {
		for _, v := range sizes {
			for _, v := range []float64{v, -v} {
				got := text(v)
				if len(got) > 40 || strings.ContainsAny(got, "\n") || regexp.MustCompile(`NaN|Inf|\d[eE][-+]?\d|0\.0000|\.\d{5}|^-0\b( |$)`).MatchString(got) {
					t.Errorf("%s(%g) = %q", name, v, got)
				}
			}
		}
	}
}
