package picture

import (
	"fmt"
	"math"
	"slices"
)

// arguments are the arguments of one op. The first error is kept in err; values read after it
// have no meaning.
type arguments struct {
	op   int
	name string
	list []any
	err  error
}

// RefusalError says which part of a program is not supported to Pillow's byte. Pillow has to do
// it.
type RefusalError struct {
	Op   int    // its position among the ops, from 0; -1: the source
	Text string // the rejected case
}

func (r *RefusalError) Error() string {
	if r.Op < 0 {
		return "source: " + r.Text
	}
	return fmt.Sprintf("op %d: %s", r.Op, r.Text)
}

// refuse records that the op is valid, but not supported to the byte.
func (a *arguments) refuse(format string, values ...any) {
	if a.err == nil {
		a.err = &RefusalError{a.op, a.name + ": " + fmt.Sprintf(format, values...)}
	}
}

func (a *arguments) refuseArgument(i int, want string) {
	if a.err == nil {
		a.err = fmt.Errorf("read program: op %d, %s: argument %d is %.60s: %s is expected", a.op, a.name, i+1,
			fmt.Sprint(a.list[i]), want)
	}
}

// hasValue reports whether an argument is given and not null.
func (a *arguments) hasValue(i int) bool { return i < len(a.list) && a.list[i] != nil }

// readWholeNumber returns a whole number from low to high.
func (a *arguments) readWholeNumber(i, low, high int) int {
	v := a.readNumber(i)
	if v != math.Trunc(v) || v < float64(low) || v > float64(high) {
		a.refuseArgument(i, fmt.Sprintf("a whole number from %d to %d", low, high))
		return low
	}
	return int(v)
}

// readNumber returns a number that fits into single precision, which Pillow's C functions take.
func (a *arguments) readNumber(i int) float64 {
	v, ok := a.list[i].(float64)
	if !ok || math.Abs(v) > math.MaxFloat32 {
		a.refuseArgument(i, "a number")
		return 0
	}
	return v
}

// numberList returns a list of n numbers; n < 0 means any length.
func (a *arguments) numberList(i, n int) []float64 {
	list, ok := a.list[i].([]any)
	if !ok || n >= 0 && len(list) != n {
		a.refuseArgument(i, fmt.Sprintf("a list of %d numbers", n))
		return make([]float64, max(n, 0))
	}
	inner := arguments{op: a.op, name: a.name, list: list}
	out := make([]float64, len(list))
	for j := range list {
		out[j] = inner.readNumber(j)
	}
	if inner.err != nil {
		a.refuseArgument(i, "a list of numbers")
	}
	return out
}

// byteList returns n whole numbers from 0 to 255.
func (a *arguments) byteList(i, n int) []uint8 {
	out := make([]uint8, n)
	for j, v := range a.numberList(i, n) {
		if v != math.Trunc(v) || v < 0 || v > 255 {
			a.refuseArgument(i, fmt.Sprintf("a list of %d whole numbers from 0 to 255", n))
			break
		}
		out[j] = uint8(v)
	}
	return out
}

// fillColour returns a colour of the mode, a number per band; 0 if none is given.
func (a *arguments) fillColour(i int, mode string) (fill [3]uint8) {
	if a.hasValue(i) {
		copy(fill[:], a.byteList(i, bands[mode]))
	}
	return fill
}

// oneOfTexts returns a text, which must be one of the supported ones.
func (a *arguments) oneOfTexts(i int, texts ...string) string {
	v, ok := a.list[i].(string)
	switch {
	case !ok:
		a.refuseArgument(i, "a text")
	case !slices.Contains(texts, v):
		a.refuse("%.40q", v)
	}
	return v
}
