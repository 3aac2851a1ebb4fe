package predict

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// Worth is what another machine would bring a job.
type Worth struct {
	Speedup     stoker.Interval
	Utilization stoker.Interval // share of a step in which the device computes then
}

// Use is a job of which only one figure is known: the share of the time that its device
// computes.
type Use struct {
	Share  float64 // more than 0, at most 1
	InLoop bool    // loading and computing take turns
}

// saturated is the share from which on a device hardly stalls.
const saturated = 0.95

// AtMost returns the worth if the device never stalls.
func (u Use) AtMost() float64 { return 1 / u.Share }

// OnDevice returns the worth of a device that takes that share of the time to compute. What the
// job waits for does not change. If loading and computing take turns, or may, the saved time
// shortens the step.
func (u Use) OnDevice(takes stoker.Interval) Worth {
	beside := func(takes float64) float64 { return u.AtMost() / math.Max(u.AtMost(), takes) }
	inTurns := func(takes float64) float64 { return u.AtMost() / (u.AtMost() - 1 + takes) }
	point := beside
	if u.InLoop || u.Share >= saturated { // of a job that does not wait it is unknown how soon it would
		point = inTurns
	}
	fastest := math.Max(beside(takes.Low), inTurns(takes.Low))
	slowest := math.Min(beside(takes.High), inTurns(takes.High))
	w := Worth{Speedup: bounds.Enclose(slowest, point(takes.Point), fastest)}
	use := func(takes, speedup float64) float64 { return math.Min(1, takes*speedup*u.Share) }
	w.Utilization = bounds.Enclose(use(takes.Low, slowest), use(takes.Point, w.Speedup.Point), use(takes.High, fastest))
	return w
}

// WithInput returns what input so many times as fast is worth: more workers, cores or storage,
// whichever the job blocks on.
func (u Use) WithInput(times float64) Worth {
	beside := math.Min(times, u.AtMost())
	inTurns := u.AtMost() / (1 + (u.AtMost()-1)/times)
	w := Worth{Speedup: bounds.Enclose(math.Min(beside, inTurns), beside, math.Max(beside, inTurns))}
	if u.InLoop {
		w.Speedup.Point = inTurns
	}
	w.Utilization = bounds.Scale(w.Speedup, u.Share)
	return w
}

// Elsewhere forecasts a measured job with another setup: other cores, workers or storage, or a
// device on which all that is computed takes that share of the time.
func (b Baseline) Elsewhere(after Setup, takes stoker.Interval) Forecast {
	launch := bounds.Given(b.Launch)
	if !launch.Known() {
		launch = stoker.Exactly(0)
	}
	at := func(step, launch, takes float64) float64 {
		return math.Max(bounds.Least, math.Min(step, launch)+math.Max(0, step-launch)*takes)
	}
	after.Step = bounds.Enclose(at(b.Step.Low, launch.Low, takes.Low), at(b.Step.Point, launch.Point, takes.Point),
		at(b.Step.High, launch.High, takes.High))
	return b.forecast(after, true, nil)
}
