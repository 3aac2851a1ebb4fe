package report

import (
	"math"
	"strconv"

	"stoker"
)

// AxisTitle names a setting that a sweep varies, with its unit.
func AxisTitle(name string) string {
	switch name {
	case "batch":
		return "batch (samples per step and GPU)"
	case "workers":
		return "workers (per GPU)"
	case "cores":
		return "cores (of the machine)"
	case "sample":
		return "sample (stored bytes)"
	case "storage":
		return "storage (bytes per second)"
	case "prepare":
		return "prepare (core time per sample)"
	case "gpus":
		return "GPUs (sharing the machine)"
	case "cached":
		return "cached (share of the data set in memory)"
	}
	return name
}

// AxisValue prints a value of an axis with its unit, three digits; counts in full.
func AxisValue(name string, v float64) string {
	switch name {
	case "sample":
		return Size(v)
	case "storage":
		return Speed(v)
	case "prepare":
		return Duration(v)
	case "cached":
		return Share(v)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Estimates have three digits: more would claim what nobody knows.

// Size prints bytes, "110 KB".
func Size(v float64) string { return stoker.Bytes(three(v)).String() }

// Speed prints bytes per second, "6.5 GB/s".
func Speed(v float64) string { return stoker.Rate(three(v)).String() }

// Duration prints seconds, "11.7 ms".
func Duration(v float64) string { return stoker.Seconds(three(v)).String() }

// FLOPS prints floating-point operations per second, "312 TFLOP/s".
func FLOPS(v float64) string { return stoker.FLOPRate(three(v)).String() }

// Share prints a share of a whole, "95 %".
func Share(v float64) string {
	if !finite(v) {
		return "unknown"
	}
	return strconv.FormatFloat(three(100*v), 'f', -1, 64) + " %"
}

// Amount prints a number without a unit; thousands are separated.
func Amount(v float64) string {
	if !finite(v) {
		return "unknown"
	}
	text := strconv.FormatFloat(three(v), 'f', -1, 64)
	if math.Abs(v) < 1000 {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Metric prints large numbers short: "10 k", "2.05 G".
func Metric(v float64) string {
	for _, p := range []struct {
		factor float64
		name   string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if finite(v) && v >= p.factor {
			return Amount(v/p.factor) + p.name
		}
	}
	return Amount(v)
}

// three rounds to three digits; a quantity that is not known stays so.
func three(v float64) float64 {
	if !finite(v) {
		return math.NaN()
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return r
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
