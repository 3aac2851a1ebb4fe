package judge

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/internal/stat"
)

// measureUnexplained is the share of the window in which nothing ran on the device and nothing
// that was measured says why.
func measureUnexplained(c *diagnose.Case, class diagnose.Class) float64 {
	switch {
	case math.IsNaN(c.Idle):
		return math.NaN()
	// the device has nothing to do
	case class == diagnose.ComputeOnCPU || class == diagnose.WaitsOutside || class == diagnose.NotTraining:
		return 0
	case class == diagnose.CPUBound && c.OwnCodeDelaysDevice.CanBeAsked() || class.Starves() && !c.HasSteps:
		return 0 // all idle time is charged to it
	case !math.IsNaN(c.WorksRecorded): // a trace, of which every gap has a cause
		return max(0, c.Idle-sumNamed(c.Causes, 0))
	}
	p := c.Parts
	if math.IsNaN(p.Unnamed) {
		return max(0, c.Idle-stat.Or(c.Stall, 0))
	}
	return p.Unnamed
}

// sumNamed is the share of a window that causes give a name to, beyond the wait for input
// that is known already. What the launching thread does between launches that no
// profiler records is Python, and counts as named.
func sumNamed(causes []diagnose.Cause, stall float64) (share float64) {
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
