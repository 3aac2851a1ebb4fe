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

// If only the checkpoints of a loop were recorded, the verdict has neither steps nor epochs.
func TestOnlyCheckpointsWereSeen(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{
		Exit: &recording.ExitStatus{At: 40},
		GPUs: []recording.GPU{{}}, Processes: []recording.Process{{PID: 7, Role: recording.RoleTrainer, Hooked: true}},
	}}
	busy := recording.Series{Signal: recording.GPUUtilisation, Subject: "gpu/0"}
	for at := 0.0; at < 40; at += 0.5 {
		busy.T, busy.V = append(busy.T, at), append(busy.V, map[bool]float64{true: 0.5}[at > 4 && at < 36.2])
	}
	run.Series = append(run.Series, busy)
	for n := range 10 {
		for _, file := range []float64{0, 0.41} { // a checkpoint is two files
			run.Steps = append(run.Steps, recording.Step{
				PID: 7, Loader: recording.OwnLoop, N: 2 * n, Start: 9 + 3*float64(n) + file, Period: 0.4, Phase: recording.Checkpoint,
				Wait: math.NaN(), Samples: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(),
			})
		}
	}
	v := judge.Judge(run)
	saves, rest := v.Ledger.Find(diagnose.RowCheckpoint), v.Ledger.Find(diagnose.RowUnknown)
	if saves.Count != 10 || math.Abs(saves.Seconds-8.1) > 0.01 || !(rest.Seconds > 20) || v.Ledger.Find(diagnose.RowEdge).Seconds > 0 {
		t.Errorf("%+v", v.Ledger.Rows)
	}
	if said := strings.Join(v.Warnings, "\n"); strings.Contains(said, "seen, too few") {
		t.Error(said)
	}
}
