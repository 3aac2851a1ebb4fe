package judge

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// A program that was started with an empty CUDA_VISIBLE_DEVICES is not told to call
// model.to("cuda"), although the machine has a GPU.
func TestHiddenGPUsAreShownFirst(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		run, err := recording.Open("../../testdata/cases/heavy-getitem/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		run.Facts.GPUs = []recording.GPU{{Name: "NVIDIA A100"}}
		for i := range run.Facts.Processes {
			run.Facts.Processes[i].HidesGPUs = hidden
		}
		v := Judge(run)
		if v.Class != diagnose.ComputeOnCPU {
			t.Fatal(v.Class)
		}
		if told := strings.Contains(v.Do(), "CUDA_VISIBLE_DEVICES names none"); told != hidden {
			t.Errorf("hidden %v: %q", hidden, v.Do())
		}
		if refused := v.Grounds.Refuse(stoker.ComputeOn) != ""; refused != hidden {
			t.Errorf("hidden %v: refused %v", hidden, refused)
		}
	}
}
