package question

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// fieldReader reads a flag into the job and notes where the value comes from.
type fieldReader = func(d *job, flag string) error

// readGiven parses a flag's text and passes the value to set. It does nothing if the flag was not given.
func readGiven(flag string, text string, set func(v float64, printed string)) error {
	if text == "" {
		return nil
	}
	v, printed, err := units[flag].read(flag, text)
	if err != nil {
		return err
	}
	set(v, printed)
	return nil
}

// countOf returns a reader that sets a number of the setup.
func countOf(field func(*predict.Setup) *float64) fieldReader {
	return func(d *job, flag string) error {
		text := d.single(flag)
		if text == unknownWord {
			return nil
		}
		return readGiven(flag, text, func(v float64, printed string) {
			*field(&d.Setup) = v
			d.note(flag, printed, given)
		})
	}
}

// exactly returns a reader that sets a quantity without a usual value.
func exactly(field func(*predict.Setup) *stoker.Interval) fieldReader {
	return func(d *job, flag string) error {
		return readGiven(flag, d.Text(flag), func(v float64, printed string) {
			*field(&d.Setup) = stoker.Exactly(v)
			d.note(flag, printed, given)
		})
	}
}

// perRead returns a reader of what one read costs. It implies that samples are read one by one.
func perRead(field func(*predict.Setup) *stoker.Interval) fieldReader {
	return func(d *job, flag string) error {
		return readGiven(flag, d.Text(flag), func(v float64, _ string) {
			*field(&d.Setup) = stoker.Exactly(v)
			if d.PerFile == (stoker.Interval{}) {
				d.PerFile = stoker.Exactly(1)
			}
			d.note(flag, units[flag].show(v), given)
		})
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
			return readGiven(flag, text, func(v float64, printed string) {
				*value = stoker.Exactly(v)
				d.note(flag, printed, given)
			})
		case usual.Point > 0:
			show := units[flag].show
			*value = usual.Interval
			d.note(flag, fmt.Sprintf("%s (%s to %s)", show(usual.Point), show(usual.Low), show(usual.High)),
				usual.Source)
		}
		return nil
	}
}
