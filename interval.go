package stoker

import (
	"encoding/json"
	"math"
)

// Interval is an estimate with its doubt. Low and High bound where the truth is
// expected; Point is the best single value.
type Interval struct{ Low, Point, High float64 }

// MarshalJSON writes low, point and high, each null where JSON has no number for it, or null for all three.
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

func finiteOrNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Exactly is an interval without doubt.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Unknown is the interval of a quantity that nobody measured.
func Unknown() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// Known reports whether the interval holds numbers.
func (i Interval) Known() bool { return !math.IsNaN(i.Point) }

// Contains reports whether v lies inside the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }
