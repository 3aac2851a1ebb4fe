package diagnose_test

import (
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// Who has the cores that loading lacks: recorded runs, with a quota or other programs
// that were not there.
func TestWhoHasTheCores(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		change func(*recording.Run)
		want   diagnose.Class
	}{
		"a small neighbour of a job that fills the cores": {"labelled-cpu-exhausted", growing(recording.MachineCPU, 0.4), diagnose.CPUExhausted},
		"a large one":                     {"labelled-cpu-exhausted", growing(recording.MachineCPU, 1.5), diagnose.Neighbour},
		"a quota, and loading sleeps":     {"neighbours-asleep", growing(recording.Throttled, 0.5), diagnose.TooFewWorkers},
		"a quota as well as neighbours":   {"neighbours-core", growing(recording.Throttled, 0.3), diagnose.CgroupThrottled},
		"a quota that holds nobody back":  {"neighbours-core", func(run *recording.Run) { run.Facts.Machine.Quota = 1.9 }, diagnose.Neighbour},
		"a quota, throttling not counted": {"throttled", without(recording.Throttled), diagnose.CgroupThrottled},
		"a neighbour that nobody waits for": {"neighbours-core", func(run *recording.Run) {
			growing(recording.MachineCPU, -0.35)(run)
			queueing(0.3)(run)
		}, diagnose.TooFewWorkers},
		"a neighbour, and nobody counts the queue": {"neighbours-core", without(recording.ThreadQueue), diagnose.Unknown},
		"sleeping beside many cores":               {"neighbours-asleep", func(run *recording.Run) { run.Facts.Machine.Allowed, run.Facts.Machine.CPUs = 64, 64 }, diagnose.TooFewWorkers},
	} {
		run, err := recording.Open("../testdata/cases/" + c.file + "/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		c.change(run)
		if v := judge.Judge(run); v.Class != c.want {
			t.Errorf("%s: %s, want %s: %v", name, v.Class, c.want, v.Scores[:3])
		}
	}
}

// growing makes a counter of the machine grow so much faster per second.
func growing(signal recording.Signal, by float64) func(*recording.Run) {
	return func(run *recording.Run) {
		series := run.Find(signal, "machine")
		for i, at := range series.T {
			series.V[i] += by * at
		}
	}
}

func without(signal recording.Signal) func(*recording.Run) {
	return func(run *recording.Run) {
		run.Series = slices.DeleteFunc(run.Series, func(s recording.Series) bool { return s.Signal == signal })
	}
}

// queueing makes threads wait so much less for a core.
func queueing(part float64) func(*recording.Run) {
	return func(run *recording.Run) {
		for _, series := range run.All(recording.ThreadQueue) {
			for i := range series.V {
				series.V[i] *= part
			}
		}
	}
}
