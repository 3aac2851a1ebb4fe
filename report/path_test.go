package report

import (
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// A path that is longer than the judged window is of other time as well, and is not shown.
func TestPathOfOtherTime(t *testing.T) {
	path := replay.CriticalTime{}
	path[replay.Host] = 2e9
	for end, parts := range map[float64]int{2: 1, 1: 0} {
		r := TraceReport{Plan: advise.Plan{Replay: &replay.Check{Path: path}}}
		r.Verdict = diagnose.Verdict{Costs: measure.Costs{Window: recording.Window{End: end}}}
		if got := PathOf(r); len(got) != parts {
			t.Errorf("a window of %g s: %v", end, got)
		}
	}
}
