package question

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// fieldReader reads a flag into the job and notes where the value comes from.
type fieldReader = func(d *job, flag string) error

// countOf returns a reader that sets a number of the setup.
func countOf(field func(*predict.Setup) *float64) fieldReader {
	return func(d *job, flag string) error {
		if text := d.single(flag); text == "" || text == unknownWord {
			return nil
		}
		v, printed, err := d.value(flag)
		if err != nil {
			return err
		}
		*field(&d.Setup) = v
		d.note(flag, printed, given)
		return nil
	}
}

// exactly returns a reader that sets a quantity without a usual value.
func exactly(field func(*predict.Setup) *stoker.Interval) fieldReader {
	return func(d *job, flag string) error {
		if d.Text(flag) == "" {
			return nil
		}
		return d.readExactly(flag, field(&d.Setup))
	}
}

// readExactly reads a flag as a quantity without a spread.
func (d *job) readExactly(flag string, to *stoker.Interval) error {
	v, printed, err := d.value(flag)
	if err != nil {
		return err
	}
	*to = stoker.Exactly(v)
	d.note(flag, printed, given)
	return nil
}

// perRead returns a reader of what one read costs. It implies that samples are read one by one.
func perRead(field func(*predict.Setup) *stoker.Interval) fieldReader {
	return func(d *job, flag string) error {
		if d.Text(flag) == "" {
			return nil
		}
		v, _, err := d.value(flag)
		if err != nil {
			return err
		}
		*field(&d.Setup) = stoker.Exactly(v)
		if d.PerFile == (stoker.Interval{}) {
			d.PerFile = stoker.Exactly(1)
		}
		d.note(flag, flagValues[flag].unit.show(v), given)
		return nil
	}
}

// usually returns a reader that sets a quantity exactly as given, or to the usual value of the kind of data.
func usually(field func(*job) (*stoker.Interval, predict.Amount)) fieldReader {
	return func(d *job, flag string) error {
		value, usual := field(d)
		switch text := d.single(flag); {
		case text == unknownWord:
			*value = stoker.Unknown()
		case text != "":
			return d.readExactly(flag, value)
		case usual.Point > 0:
			show := flagValues[flag].unit.show
			*value = usual.Interval
			d.note(flag, fmt.Sprintf("%s (%s to %s)", show(usual.Point), show(usual.Low), show(usual.High)),
				usual.Source)
		}
		return nil
	}
}
