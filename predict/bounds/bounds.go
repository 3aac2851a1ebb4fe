// Package bounds is arithmetic with estimates that have a low end, a point and a high
// end: of positive, independent quantities, and in three views.
//
// A View takes the same end of all of them: the optimist the low end of costs and the
// high end of rates, the pessimist the other ones. A model is solved once in each, and
// its answers enclose the truth (Enclose).
package bounds

import "github.com/stoker-dev/stoker"

// View picks an end of every interval: a model is solved once for the best case, once
// for the likely one, once for the worst.
type View int

// The three views.
const (
	Optimist View = iota
	Likely
	Pessimist
)

// PickCost picks from an interval of costs: the optimist takes the low end.
func (v View) PickCost(i stoker.Interval) float64 { return [...]float64{i.Low, i.Point, i.High}[v] }

// Gain picks from an interval of what saves time: the optimist takes the high end.
func (v View) Gain(i stoker.Interval) float64 { return [...]float64{i.High, i.Point, i.Low}[v] }

// independent is how far a view moves towards the end of one of several unknowns of similar
// size. Three independent unknowns add up to the square root of three, not to three.
const independent = 0.6

// TakePart picks from an interval of one of several independent costs.
func (v View) TakePart(i stoker.Interval) float64 {
	return i.Point + independent*(v.PickCost(i)-i.Point)
}

// OneOfSeveral narrows an interval to what each view takes of one of several unknowns.
func OneOfSeveral(i stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: Optimist.TakePart(i), Point: i.Point, High: Pessimist.TakePart(i)}
}

// Views are a quantity in each view; NaN is unknown.
type Views [3]float64

// CostViews returns a cost in each view: the optimist's is the lowest.
func CostViews(i stoker.Interval) Views {
	if !IsSet(i) {
		i = stoker.Unknown()
	}
	return Views{i.Low, i.Point, i.High}
}

// FactorViews returns the views of a cost factor that is 1 if it was not given.
func FactorViews(i stoker.Interval) Views {
	if !IsSet(i) {
		i = stoker.Exactly(1)
	}
	return CostViews(i)
}

// RateViews returns a rate in each view: the optimist's is the highest.
func RateViews(i stoker.Interval) Views {
	if !IsSet(i) {
		i = stoker.Unknown()
	}
	return Views{i.High, i.Point, i.Low}
}

// IsSet reports whether an interval was given and is known.
func IsSet(i stoker.Interval) bool { return i != (stoker.Interval{}) && i.Known() }

// Limits of plausible inputs. Within them nothing overflows.
const (
	Least     = 1e-18
	Most      = 1e24
	MostCount = 1e9
)

// Given returns an interval, unknown if it was not set.
func Given(i stoker.Interval) stoker.Interval {
	if !IsSet(i) {
		return stoker.Unknown()
	}
	return i
}

// InEachView returns what f gives in each view.
func InEachView(f func(View) float64) stoker.Interval {
	return Enclose(f(Optimist), f(Likely), f(Pessimist))
}

// Scale returns an interval times a number.
func Scale(i stoker.Interval, k float64) stoker.Interval {
	return stoker.Interval{Low: i.Low * k, Point: i.Point * k, High: i.High * k}
}

// Divide returns the ratio of two quantities.
func Divide(a, b stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: a.Low / b.High, Point: a.Point / b.Point, High: a.High / b.Low}
}

// Multiply returns the product of two quantities.
func Multiply(a, b stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: a.Low * b.Low, Point: a.Point * b.Point, High: a.High * b.High}
}

// Add returns the sum of two quantities.
func Add(a, b stoker.Interval) stoker.Interval {
	return stoker.Interval{Low: a.Low + b.Low, Point: a.Point + b.Point, High: a.High + b.High}
}

// Enclose makes an interval that contains its point. The three views change several costs at
// once, and may cross if one of them reaches a bound.
func Enclose(a, point, b float64) stoker.Interval {
	return stoker.Interval{Low: min(a, point, b), Point: point, High: max(a, point, b)}
}
