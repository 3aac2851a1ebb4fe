package device

import "math"

// Terms are the coefficients of one end of a Curve, seconds.
type Terms struct{ Floor, Fixed, PerSample float64 }

// At returns the time of a step of batch samples, seconds.
func (t Terms) At(batch float64) float64 {
	device := t.Fixed + t.PerSample*batch
	if t.Floor == 0 {
		return device
	}
	a, b := t.Floor*t.Floor, device*device
	return sqrt4(a*a + b*b)
}

// ScaledBy multiplies the launches' time and the device's.
func (t Terms) ScaledBy(launch, device float64) Terms {
	return Terms{Floor: launch * t.Floor, Fixed: device * t.Fixed, PerSample: device * t.PerSample}
}

// deviceBound returns how much of the step time at a batch size is the device's: 1 if launches
// do not matter, 0 if only they do. It is the relative change of t(B) per relative change of the
// device's time.
func (t Terms) deviceBound(batch float64) float64 {
	if t.Floor == 0 {
		return 1
	}
	ratio := t.Floor / (t.Fixed + t.PerSample*batch)
	return 1 / (1 + ratio*ratio*ratio*ratio)
}

func combineTerms(a, b Terms, f func(a, b float64) float64) Terms {
	return Terms{Floor: f(a.Floor, b.Floor), Fixed: f(a.Fixed, b.Fixed), PerSample: f(a.PerSample, b.PerSample)}
}

func sqrt4(v float64) float64 { return math.Sqrt(math.Sqrt(v)) }

// RoundToThree has three digits.
func RoundToThree(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Round(v/unit) * unit
}
