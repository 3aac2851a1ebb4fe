package recording_test

import (
	"testing"

	"stoker/recording"
)

func TestStepRange(t *testing.T) {
	for text, want := range map[string]string{
		"step 12": "step … 12", "iteration_3": "iteration_… 3", "Train Step #4": "Train Step #… 4", "train_step": "train_step… ", "batch": "batch… ", "epoch 1, iter 20": "epoch 1, iter … 20",
		"optimizer.step 3": "", "load batch 3": "", "footstep 3": "", "forward": "", "validation step 1": "", "step 1 of many": "",
	} {
		family, number, ok := recording.StepRange(text)
		if got := family + " " + number; ok != (want != "") || ok && got != want {
			t.Errorf("recording.StepRange(%q) = %q, %v", text, got, ok)
		}
	}
}
