package measure

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/hardware"
	"github.com/stoker-dev/stoker/recording"
)

// runOf is a recording of a trainer on a GPU.
func runOf(t *testing.T, name string) *recording.Run {
	t.Helper()
	run, err := recording.Open("../../testdata/cases/" + name + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A recording's step is what is left without its waits: of a run that waits for
// its workers much less than its step (36 ms of device, 60 ms of loading, 3 ms of
// launching).
func TestMeasuredInARecording(t *testing.T) {
	run := runOf(t, "labelled-too-few-workers")
	m, err := MeasuredIn(run)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Step.Contains(0.039) && !m.Step.Contains(0.036) || m.Step.High > 0.045 || !(m.Batch >= 1) {
		t.Errorf("a step of %v at batch %v; its device takes 36 ms", m.Step, m.Batch)
	}
	if !strings.Contains(m.Text, "emulated") || !m.Emulated {
		t.Errorf("%q does not say that the device is emulated", m.Text)
	}
	run.Facts.Model = &recording.ModelFacts{DType: "torch.bfloat16"}
	if m, err = MeasuredIn(run); err != nil || m.Precision != hardware.BF16 {
		t.Errorf("parameters of bfloat16: %q, %v", m.Precision, err)
	}
	run.Facts.Model.Device = "cpu"
	if _, err = MeasuredIn(run); err == nil || !strings.Contains(err.Error(), "on the CPU") {
		t.Errorf("a model on the CPU: %v", err)
	}
	run.Facts.GPUs = nil
	if _, err = MeasuredIn(run); err == nil || !strings.Contains(err.Error(), "no GPU") {
		t.Errorf("without a GPU: %v", err)
	}
	if _, err = MeasuredIn(&recording.Run{}); err == nil || !strings.Contains(err.Error(), "no steady steps") {
		t.Errorf("without steps: %v", err)
	}
}

// A recording is of the GPU that its trainer runs on.
func TestMeasuredOnItsDevice(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{
		GPUs:      []recording.GPU{{Index: 0, Name: "Tesla T4"}, {Index: 1, Name: "NVIDIA A10"}},
		Processes: []recording.Process{{PID: 7, Device: 1}},
	}}
	if a, b := deviceOf(run, 7).Name, deviceOf(run, 8).Name; a != "NVIDIA A10" || b != "Tesla T4" {
		t.Errorf("%s, %s", a, b)
	}
}
