package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

func labelled(t *testing.T, name string) *recording.Run {
	t.Helper()
	run, err := openCase("../testdata/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Older recordings say that nothing was heard of steps, and hold them.
func TestStepsThatAreThere(t *testing.T) {
	run := labelled(t, "labelled-cpu-model")
	run.Facts.Absent = []recording.Absence{{What: "steps", Why: "nothing was heard from the hook"}, {What: "disks", Why: "no /proc"}}
	if text := strings.Join(judge.Judge(run).Warnings, "\n"); strings.Contains(text, "steps: nothing") || !strings.Contains(text, "disks: no /proc") {
		t.Errorf("warned: %s", text)
	}
	run = labelled(t, "labelled-not-training")
	if text := strings.Join(judge.Judge(run).Warnings, "\n"); !strings.Contains(text, "steps: process") {
		t.Errorf("warned: %s", text)
	}
}

// What could not be looked into is not said to have been seen.
func TestWhatWasNotSeen(t *testing.T) {
	evidence := func(run *recording.Run) (text string) {
		for _, e := range judge.Judge(run).Evidence {
			text += e.Text + "\n"
		}
		return text
	}
	run := labelled(t, "labelled-not-training")
	if text := evidence(run); !strings.Contains(text, "the inside of the program was not seen") || strings.Contains(text, "DataLoader") {
		t.Errorf("behind a silent hook: %s", text)
	}
	run.Facts.Absent = nil
	if text := evidence(run); !strings.Contains(text, "no DataLoader was iterated") {
		t.Errorf("with a hook that is heard: %s", text)
	}
	run = labelled(t, "labelled-cpu-model")
	run.Facts.GPUs = nil
	if text := evidence(run); !strings.Contains(text, "no GPU could be seen") {
		t.Errorf("without a GPU: %s", text)
	}
	run.Facts.GPUs = []recording.GPU{{Name: "a slice of an H100, which has no utilisation"}}
	if text := evidence(run); strings.Contains(text, "no GPU") || !strings.Contains(text, "could not be read") {
		t.Errorf("with a GPU that tells nothing: %s", text)
	}
}

// Steps that were seen, and are too few to judge, are no sign that nothing trains; nor is a
// first one that has not come to its end (kuangliu/pytorch-cifar on a loaded CPU).
func TestFewStepsAreNotNoTraining(t *testing.T) {
	run := labelled(t, "labelled-healthy")
	for _, n := range []int{0, 2} {
		few := *run
		few.Steps, few.Series, few.Facts.Model = run.Steps[:n], nil, nil
		v := judge.Judge(&few)
		if v.HasSteps || v.Class != diagnose.Unknown {
			t.Errorf("class %s of %d steps, want unknown", v.Class, n)
		}
		if len(v.Evidence) == 0 || !strings.Contains(v.Evidence[0].Text, "too few steps to judge") {
			t.Errorf("why, of %d steps: %v", n, v.Evidence)
		}
	}
}

// Many things of one kind that cannot be seen are one line, few are told with why.
func TestManyAbsencesAreOneLine(t *testing.T) {
	run := labelled(t, "labelled-healthy")
	run.Facts.Absent = nil
	for _, name := range []string{"clock", "PCIe width", "MIG mode", "SM activity"} {
		run.Facts.Absent = append(run.Facts.Absent, recording.Absence{What: "gpu", Why: name + ": this driver has no nvmlSuch"})
	}
	run.Facts.Absent = append(run.Facts.Absent, recording.Absence{What: "disks", Why: "no /proc"})
	all := strings.Join(judge.Judge(run).Warnings, "\n")
	if !strings.Contains(all, "gpu: not judged here: clock, PCIe width, MIG mode, SM activity (stoker doctor") || strings.Contains(all, "nvmlSuch") || strings.Count(all, "gpu:") != 1 || !strings.Contains(all, "disks: no /proc") {
		t.Error(all)
	}
}

// Nobody is told to compute on a GPU that the program does not see.
func TestNoGPUToComputeOn(t *testing.T) {
	run, err := recording.Open("../testdata/cases/heavy-getitem/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, gpus := range [][]recording.GPU{nil, {{Name: "NVIDIA A100-SXM4-80GB"}}} {
		run.Facts.GPUs = gpus
		v := judge.Judge(run)
		hidden := strings.Contains(v.Do(), "CUDA_VISIBLE_DEVICES")
		if v.Class != diagnose.ComputeOnCPU || hidden != (gpus == nil) || hidden == strings.HasPrefix(v.Do(), "model.to(") {
			t.Errorf("%d GPUs: %s: %s", len(gpus), v.Class, v.Do())
		}
	}
}
