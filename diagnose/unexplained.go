package diagnose

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
)

// unexplained is the share of the window in which nothing ran on the device and nothing
// that was measured says why.
func (c *Case) unexplained(class Class) float64 {
	switch {
	case math.IsNaN(c.Idle):
		return math.NaN()
	case class == ComputeOnCPU || class == NotTraining: // the device has nothing to do
		return 0
	case class == CPUBound && c.Own.known() || class.Starves() && !c.HasSteps: // all idle time is charged to it
		return 0
	case !math.IsNaN(c.Recorded): // a trace, of which every gap has a cause
		return max(0, c.Idle-named(c.Causes, 0))
	}
	p := c.Parts
	if math.IsNaN(p.Unnamed) {
		return max(0, c.Idle-stat.Or(c.Stall, 0))
	}
	return p.Unnamed
}

// named is the share of a window that causes give a name to, beyond the wait for input
// that is known already. What the launching thread does between launches that no
// profiler records is Python, and counts as named.
func named(causes []Cause, stall float64) (share float64) {
	for _, c := range causes {
		switch c.Cause {
		case idle.DataLoader.String():
			share += max(0, c.Share-stall)
		case idle.Unlinked.String():
		default:
			share += c.Share
		}
	}
	return share
}
