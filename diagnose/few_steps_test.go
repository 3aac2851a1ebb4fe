package diagnose_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// Of a run with too few steps the page says how many there were, and how many it wants.
func TestTooFewStepsAreCounted(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{Model: &recording.ModelFacts{Device: "cpu", Steps: 4}}}
	at := 19.0
	for i, period := range []float64{8.2, 6.2, 3.5, 5.1} {
		run.Steps = append(run.Steps, recording.Step{
			PID: 7, Loader: recording.OwnLoop, N: i, Start: at, Period: period, Phase: recording.Train, Optimized: 1,
			Wait: math.NaN(), Samples: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
		at += period
	}
	v := judge.Judge(run)
	if said := strings.Join(v.Warnings, "\n"); v.HasSteps || !strings.Contains(said, "4 optimizer steps were seen, too few") || !strings.Contains(said, "wants 20") {
		t.Errorf("%s, %v\n%s", v.Class, v.HasSteps, said)
	}
	for _, e := range v.Evidence {
		if strings.Contains(e.Text, "DataLoader") {
			t.Error(e.Text)
		}
	}
}

// A recording that is cut before its steps tells nothing of a program, and says so first.
func TestACutRecordingIsNoProgramThatDoesNotTrain(t *testing.T) {
	for cut, class := range map[string]diagnose.Class{"": diagnose.NotTraining, "the recording is cut at byte 901, 3 s after it began": diagnose.Unknown} {
		run := &recording.Run{Cut: cut}
		v := judge.Judge(run)
		if v.Class != class || cut != "" && (len(v.Doubts) != 1 || !strings.Contains(v.Do(), "take the whole file")) {
			t.Errorf("%q: %s, doubts %q, next %q", cut, v.Class, v.Doubts, v.Do())
		}
	}
}
