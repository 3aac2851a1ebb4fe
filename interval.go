package stoker

import (
	"encoding/json"
	"math"
)

// Interval is an estimate with its uncertainty: the truth is expected between Low and High;
// Point is the best single value.
type Interval struct{ Low, Point, High float64 }

// MarshalJSON writes low, point and high. Each is null if it is not a finite number; all three
// together become null.
func (i Interval) MarshalJSON() ([]byte, error) {
	low, point, high := finiteOrNull(i.Low), finiteOrNull(i.Point), finiteOrNull(i.High)
	if low == nil && point == nil && high == nil {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		Low   *float64 `json:"low"`
		Point *float64 `json:"point"`
		High  *float64 `json:"high"`
	}{low, point, high})
}

// finiteOrNull returns nil for NaN and infinity.
func finiteOrNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Exactly returns an interval without uncertainty.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Unknown returns the interval of a quantity that was not measured.
func Unknown() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// Known reports whether the interval holds numbers.
func (i Interval) Known() bool { return !math.IsNaN(i.Point) }

// Contains reports whether v is inside the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }
