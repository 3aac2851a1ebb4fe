package nsight

import "github.com/stoker-dev/stoker/recording"

// Options say how a file is read. The zero value is what one wants.
type Options struct {
	// Most is how many events are kept, 0: mostEvents. Of a file with more, those
	// around the middle of the device's work are read, and a warning says so.
	Most int

	// Progress, if it is not nil, is called now and then with the share of the file
	// that was read, from 0 to 1.
	Progress func(share float64)
}

// mostEvents bounds memory: an event takes 33 bytes on the host and 61 on the
// device, and the half again while it is sorted and judged.
const mostEvents = 1_200_000

// Trace is what one file holds. Times of the Timeline are nanoseconds since the
// first event that was kept.
type Trace struct {
	Timeline *recording.Timeline
	Facts    recording.Facts
	Steps    []recording.Step
	Series   []recording.Series // GPU metrics that were sampled
	Warnings []string           // sentences

	Zero   int64 // t = 0 on the file's own clock, ns; Unix time where Facts.Started is not 0
	Events int64 // rows of the tables of events
}

// ForeignError says that the file is a database that Nsight Systems did not write,
// or an export without the needed tables.
type ForeignError struct {
	Format string // its likely format, "an SQLite database without …"
	Hint   string // what to do
}

func (e *ForeignError) Error() string { return "it is " + e.Format }

// DamagedError says that the file cannot be read at all.
type DamagedError struct {
	Problem string
	Hint    string // what to do
}

func (e *DamagedError) Error() string { return e.Problem }

const exportAgain = "export it again: nsys export --type sqlite --output FILE.sqlite FILE.nsys-rep"
