package question

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/internal/hint"
	"github.com/stoker-dev/stoker/predict/device"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/quantity"
)

// anchor is a measured step, from which the forecast scales to the question.
type anchor struct {
	device.Measured
	gpu hardware.GPU
}

// readMeasured reads the measured step of --measured or --like. It fills in what the question
// leaves open, since both are the same program.
func (q *Question) readMeasured() (*anchor, error) {
	if q.Text("measured") == "" && q.Text("like") == "" {
		return nil, nil //nolint:nilnil // no measured step was given
	}
	if err := q.checkMeasured(); err != nil {
		return nil, err
	}
	m, flag, err := q.measuredStep()
	if err != nil {
		return nil, err
	}
	a := &anchor{Measured: m}
	if m.GPU != "" {
		var known bool // if its kind is not named, none is assumed
		if a.gpu, known = q.Table.FindGPU(m.GPU); !known {
			return nil, UnknownName(flag+": gpu", m.GPU, q.Table.GPUNames())
		}
	}
	q.takeOver(a)
	return a, nil
}

func (q *Question) checkMeasured() error {
	switch {
	case q.Text("measured") != "" && q.Text("like") != "":
		return errors.New("--measured and --like both name a measured step: give one")
	case q.Text("step") != "":
		return errors.New("--step says what a step takes, --measured and --like what to carry over: give one")
	case !q.describes():
		return hint.Attach(errors.New("--measured and --like need the network, since its FLOP and bytes carry the "+
			"step over: --model, or --params and --flops"), "--model resnet50")
	}
	return nil
}

// measuredStep parses --measured, or opens the recording of --like.
func (q *Question) measuredStep() (m device.Measured, flag string, err error) {
	if q.Text("measured") != "" {
		if m, err = device.ParseMeasured(q.Text("measured")); err != nil {
			return m, "measured", hint.Attach(
				fmt.Errorf("--measured %w", err), "--measured '"+device.MeasuredExample+"'",
			)
		}
		return q.withoutWaits(m)
	}
	run, err := q.Open(q.Text("like"))
	if err != nil {
		return m, "like", fmt.Errorf("--like: %w", err)
	}
	if m, err = measure.MeasuredIn(run); err != nil {
		return m, "like", fmt.Errorf("--like %s: %w", q.Text("like"), err)
	}
	m.Text = q.Text("like") + ", " + m.Text
	return m, "like", nil
}

// withoutWaits shortens a measured step to the time of its device, if --util says for which share the device computed.
func (q *Question) withoutWaits(m device.Measured) (device.Measured, string, error) {
	if q.Text("util") == "" {
		return m, "measured", nil
	}
	share, err := quantity.ParseShare(q.Text("util"))
	if err != nil || !(share > 0) {
		return m, "measured", fmt.Errorf("--util %q: expected the share of the time for which the GPU computed, such as 40%%",
			q.Text("util"))
	}
	by := float64(share)
	m.Step = stoker.Interval{Low: by * m.Step.Low, Point: by * m.Step.Point, High: by * m.Step.High}
	m.Text += ", computing " + share.String() + " of the time"
	return m, "measured", nil
}

// takeOver copies GPU, precision, software and sizes from the measured step to flags that were not given.
func (q *Question) takeOver(a *anchor) {
	for _, open := range []struct {
		flag, text string
		known      bool
	}{
		{"gpu", a.GPU, a.GPU != ""},
		{"precision", string(a.Precision), a.Precision != device.AnyPrecision},
		{"software", string(a.Software), a.Software != device.AnySoftware},
		{"batch", fmt.Sprintf("%.0f", a.Batch), true},
		{"tokens", fmt.Sprintf("%.0f", a.Tokens), a.Tokens > 0},
		{"side", fmt.Sprintf("%.0f", a.Side), a.Side > 0},
	} {
		if open.known {
			q.fill(open.flag, open.text)
		}
	}
}

// carry scales the measured step to every batch that is asked for, and sets the step time from it.
func (d *job) carry(a *anchor) error {
	if a == nil {
		return nil
	}
	batches := []float64{d.Batch}
	for _, axis := range d.axes {
		if axis.Name == "batch" {
			batches = axis.Values
		}
	}
	expected := d.expectedOf(a)
	if a.Step.Point > muchSlower*expected.Point && d.Text("measured") != "" {
		d.Say("--measured: a step of %s is %s times as long as expected (%s). If the job waited for input, say how "+
			"busy its GPU was, such as --util 40%%: until then the device may be as fast as usual",
			quantity.AboutSeconds(a.Step.Point), quantity.About(a.Step.Point/expected.Point),
			quantity.Around(expected, quantity.AboutSeconds))
		a.Step = stoker.Interval{
			Low: expected.Point, Point: math.Sqrt(expected.Point * a.Step.Point), High: a.Step.High,
		}
	}
	from := a.AsAnchor(d.Load, a.gpu)
	curve, err := d.Load.Anchored(from, batches...)
	if err != nil {
		return err
	}
	d.Curve = curve
	value := quantity.AboutSeconds(a.Step.Point) + " per step"
	if a.Emulated {
		value += " on an emulated device"
	}
	if expected.Known() { // shown next to it, so that a slip is seen
		value += fmt.Sprintf(", and %s would be expected", quantity.Around(expected, quantity.AboutSeconds))
	}
	d.note("measured", value, a.Text)
	return nil
}

// muchSlower is how much longer than expected a step is that may have waited: training programs of
// one class differ less (predict/RESULTS.md: 0.75 to 1.33).
const muchSlower = 1.5

// expectedOf returns the step time that published figures give for the measured job.
func (d *job) expectedOf(a *anchor) stoker.Interval {
	curve, err := a.AsAnchor(d.Load, a.gpu).Load.StepCurve()
	if err != nil {
		return stoker.Unknown()
	}
	return curve.At(a.Batch)
}
