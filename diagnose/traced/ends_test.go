package traced_test

import (
	"fmt"
	"testing"
)

// A file whose last launches have no work says so. One of a program that captures graphs does not: those launch nothing.
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
