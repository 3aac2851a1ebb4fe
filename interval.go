package stoker

import "math"

// Interval is an estimate with its doubt. Low and High bound where the truth is
// expected; Point is the best single value.
type Interval struct {
	Low   float64 `json:"low"`
	Point float64 `json:"point"`
	High  float64 `json:"high"`
}

// Exactly is an interval without doubt.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Unknown is the interval of a quantity that nobody measured.
func Unknown() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// Known reports whether the interval holds numbers.
func (i Interval) Known() bool { return !math.IsNaN(i.Point) }

// Contains reports whether v lies inside the interval, bounds included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }
