package traced_test

import (
	"fmt"
	"testing"
)

// A file whose last launches have no work says so, but for one of a program that captures graphs.
func TestTheLastLaunchesHaveNoWork(t *testing.T) {
	const said = "the last 100 of 200 launches"
	events := pass(1, 100, 0, 100, 90, "sgemm")
	for i := range 100 {
		id := 200 + i
		events = append(events, launched(id, "aten::mm", 10_000+20*float64(i), 15, "", 0, 0)[:2]...)
	}
	says(t, "cut off", screenOf(t, events), []string{said, "its end was cut off"})
	graphs := append([]string{span("cuda_runtime", "cudaStreamBeginCapture", 7, 9990, 5, `"correlation": 999`)}, events...)
	says(t, "captured", screenOf(t, graphs), nil, said)
}

// How long the recorder ran before the first event is said where that is most of its time.
func TestTheRecorderBeganLongBefore(t *testing.T) {
	for before, told := range map[float64]bool{2e6: true, 2e3: false} {
		events := append(pass(1, 100, 5e6+before, 100, 90, "sgemm"),
			span("Trace", "PyTorch Profiler (0)", 0, 5e6, before+2e4, ""))
		const said = "The recorder ran"
		if s := screenOf(t, events); told {
			says(t, fmt.Sprint(before), s, []string{said + " 2 s before the first event"})
		} else {
			says(t, fmt.Sprint(before), s, nil, said)
		}
	}
}

// A kernel of no known family that leads is named.
func TestTheLongestOfOtherKernelsIsNamed(t *testing.T) {
	s := screenOf(t, pass(1, 100, 0, 100, 95, "void read_feature_kernel<float>(array_d_t<float>*, float*)"))
	for _, e := range s.verdict.Evidence {
		if e.Signal == "trace.kernels" {
			says(t, e.Text, screen{all: e.Text}, []string{`other 100 % ("read_feature_kernel" 100 %)`})
			return
		}
	}
	t.Errorf("no word on kernels: %v", s.verdict.Evidence)
}

// A wait that reads no value may be removed. The advice is not to read less often.
func TestWaitsWithoutAValueAreTakenOut(t *testing.T) {
	var events []string
	for step := range 8 {
		at := 1000 * float64(step)
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step), 7, at, 1000, ""))
		events = append(events, pass(10*step+1, 5, at+300, 20, 100, "sgemm")...)
		events = append(events, span("cuda_runtime", "cudaDeviceSynchronize", 7, at+420, 405, ""))
	}
	s := screenOf(t, events)
	for _, f := range s.plan.Fixes {
		if f.Name == "sync_every" {
			if text, known := f.InWords(f.Changes[0]); !known || text != "take the waits for the device out of the step" {
				t.Errorf("%q", text)
			}
			says(t, "mind", screen{all: f.Mind}, []string{"needs the device's work done"}, "reads", "value")
			return
		}
	}
	t.Errorf("no fix of the waits: %s", s.all)
}
