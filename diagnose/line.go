package diagnose

import (
	"math"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/quantity"
	"github.com/stoker-dev/stoker/recording"
)

// SlowTransform is the finding that names a line.
const SlowTransform = "slow-transform"

// Line is a part of a loader's work that the program asks for on one line.
type Line struct {
	// Own is the program's own innermost line; without a file if only libraries were seen.
	Own recording.Place
	// Call is the library's function that does it; without a file if it is the line itself,
	// or native code called there.
	Call recording.Place
	// Data is the class of the data set if only libraries were seen; "" unknown.
	Data  string
	Kind  Kind
	Share stoker.Interval // of the time that is spent on preparing batches

	// Without is what it would be worth if it took no time.
	Without predict.Forecast
}

// Where is where to look: the program's own line where there is one.
func (l Line) Where() recording.Place {
	if l.Own.File != "" {
		return l.Own
	}
	return l.Call
}

// String says where the time goes.
func (l Line) String() string {
	switch {
	case l.Own.File == "" && l.Data != "":
		return "the data set " + l.Data + ", in " + l.Call.File + " " + l.Call.Function
	case l.Own.File == "":
		return l.Call.String()
	case l.Call.File == "":
		return l.Own.String()
	}
	return l.Own.String() + ", in " + l.Call.File + " " + l.Call.Function
}

// LinesSaid is how many lines a sentence names.
const LinesSaid = 3

// WholePercent is a share in whole per cent: looks tell no more.
func WholePercent(share float64) string { return quantity.Percent(math.Round(100*share) / 100) }
