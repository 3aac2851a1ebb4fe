package recording

import (
	"fmt"
	"math"
	"reflect"
)

// What a recording measures in seconds, bytes, cores or watts lies within mostNumber, and
// what others are divided by above leastNumber. A number outside was damaged or made up,
// and arithmetic with it ends in infinities.
const leastNumber, mostNumber = 1e-18, 1e18

// absurd reports whether nothing that is measured can be v.
func absurd(v float64) bool { return math.Abs(v) > mostNumber }

// gate makes absurd numbers of a line unknown. One without a time that can be has no
// place in the run.
func (l *line) gate() error {
	if absurd(l.T) || absurd(l.Unix) {
		return fmt.Errorf("a time of %v s: expected seconds from the recording's begin", l.T)
	}
	unknown(reflect.ValueOf(l).Elem())
	for _, v := range []*float64{l.Period, l.DPeriod, l.Samples} {
		if v != nil && math.Abs(*v) < leastNumber && *v != 0 {
			*v = math.NaN()
		}
	}
	return nil
}

// unknown makes absurd numbers NaN, wherever they stand in v.
func unknown(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		if absurd(v.Float()) && v.CanSet() {
			v.SetFloat(math.NaN())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			unknown(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			unknown(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			unknown(v.Index(i))
		}
	default: // no other kind holds a number with a fraction, but a loader's settings
	}
}
