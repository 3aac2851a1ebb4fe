package operators

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker/hardware"
)

// Dims is the shape of one operand; nil if it has no shape, or is a list of tensors.
type Dims []int64

// ParseShapes reads "[[32,3,224,224],[64,3,7,7],[]]" as the profiler wrote it. What
// cannot be read is left out: ok is false.
func ParseShapes(s string) (shapes []Dims, ok bool) {
	depth, number, digits := 0, int64(0), false
	var current Dims
	nested := false
	end := func() bool {
		if digits {
			current = append(current, number)
		}
		number, digits = 0, false
		return len(current) <= mostDims
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '[':
			depth++
			nested = nested || depth > 2
			if depth == 2 {
				current, nested = Dims{}, false
			}
		case c == ']':
			if !end() {
				return nil, false
			}
			if depth == 2 {
				if nested {
					current = nil
				}
				shapes = append(shapes, current)
			}
			depth--
		case c == ',' || c == ' ':
			if !end() {
				return nil, false
			}
		case c >= '0' && c <= '9':
			if number = 10*number + int64(c-'0'); number > mostElements {
				return nil, false
			}
			digits = true
		default:
			return nil, false
		}
		if depth < 0 || len(shapes) > mostOperands {
			return nil, false
		}
	}
	return shapes, depth == 0
}

// Bounds on what a foreign file may claim.
const (
	mostOperands = 1000
	mostDims     = 16
	mostElements = int64(1) << 40
)

// size is the number of elements.
func (d Dims) size() float64 {
	n := 1.0
	for _, v := range d {
		n *= float64(v)
	}
	return n
}

// types splits "[float,c10::Half,]".
func types(s string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ",")
}

// element is how many bytes an element of a recorded type has, and the precision
// whose peak its matrix products are held against; NaN and "" where unknown. Products of
// single-precision operands may run on Tensor Cores as TF32: the kernels tell.
func element(kind string) (bytes float64, p hardware.Precision) {
	switch kind = strings.TrimSpace(strings.TrimPrefix(kind, "const ")); kind {
	case "float":
		return 4, hardware.FP32
	case "c10::Half", "c10::BFloat16":
		return 2, hardware.FP16
	case "signed char":
		return 1, hardware.INT8
	case "double":
		return 8, ""
	}
	if strings.HasPrefix(kind, "c10::Float8") {
		return 1, hardware.FP8
	}
	return math.NaN(), ""
}
