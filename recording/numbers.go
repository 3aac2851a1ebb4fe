package recording

import (
	"bytes"
	"math"
	"strconv"
)

// Measurements in seconds, bytes, cores or watts are at most mostNumber, and divisors at least
// leastNumber. A number outside was damaged or invented, and arithmetic with it ends in
// infinities.
const leastNumber, mostNumber = 1e-18, 1e18

// isAbsurd reports whether v cannot be a measurement.
func isAbsurd(v float64) bool { return math.Abs(v) > mostNumber }

// isNumber reports whether text is a JSON number. Package json takes three times as long.
func isNumber(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole := digits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	if text = text[whole:]; len(text) > 0 && text[0] == '.' {
		part := digits(text[1:])
		if part == 0 {
			return false
		}
		text = text[1+part:]
	}
	if len(text) > 1 && (text[0] == 'e' || text[0] == 'E') {
		if text = text[1:]; text[0] == '+' || text[0] == '-' {
			text = text[1:]
		}
		return len(text) > 0 && digits(text) == len(text)
	}
	return len(text) == 0
}

// leadingNumber returns a JSON number, and the text after it.
func leadingNumber(text []byte) (v float64, rest []byte, ok bool) {
	end := bytes.IndexAny(text, ",}")
	if end < 0 || !isNumber(text[:end]) {
		return 0, nil, false
	}
	v, err := strconv.ParseFloat(string(text[:end]), 64)
	return v, text[end:], err == nil
}

// digits returns the number of digits at the beginning of text.
func digits(text []byte) (n int) {
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

func appendNumber(b []byte, v float64) []byte {
	format := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// roundMicros rounds to microseconds: finer than any probe, and shorter in the file.
func roundMicros(t float64) float64 { return float64(int64(t*1e6+0.5)) / 1e6 }

func nanoseconds(seconds float64) int64 { return int64(math.Round(1e9 * seconds)) }

func toSeconds(ns int64) float64 { return float64(ns) / 1e9 }
