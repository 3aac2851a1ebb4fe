package report

import (
	"github.com/stoker-dev/stoker/recording"
)

// DescribeClock says which clock measured the parts of a step.
func DescribeClock(clock string) string {
	if clock == recording.HostClock {
		return "of a step, on the host's clock"
	}
	return "of a step, on the device's own clock"
}
