package traced_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// Before work that is long in the queue when the recording begins, the device is neither idle nor starting: it works
// on what was launched before. Before work that the host launches late it is idle.
func TestWorkFromBeforeTheRecording(t *testing.T) {
	for name, c := range map[string]struct {
		launched float64
		row      diagnose.RowName
	}{
		"queued": {3000, diagnose.RowEarlier}, "late": {94_900, diagnose.RowJudged},
		"blocking": {14_000, diagnose.RowEarlier}, // no context: the memory that it copies to was allocated in one
	} {
		held := 24.0
		if name == "blocking" {
			held = 81_200
		}
		events := []string{
			span("cpu_op", "aten::copy_", 7, c.launched-20, held+21, `"External id": 1`),
			span("cuda_runtime", "cudaMemcpyAsync", 7, c.launched, held, `"correlation": 1, "External id": 1`),
			span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 70, 95_100, 2,
				`"correlation": 1, "External id": 1, "device": 0, "stream": 7, "bytes": 64`),
			span("cpu_op", "aten::empty", 7, 10, 5, `"External id": 9999`),
		}
		if name == "queued" {
			events = append(events, span("cuda_runtime", "cudaStreamSynchronize", 7, 3030, 92_100, `"correlation": 9998`))
		}
		for i := range 1100 {
			at := 95_200 + 100*float64(i)
			events = append(events, launched(i+2, "aten::mul", at, 20, "void at::native::vectorized_elementwise_kernel<4>", at+30, 60)...)
		}
		s := screenOf(t, events)
		first := s.verdict.Ledger.Rows[0]
		if first.Name != c.row {
			t.Errorf("%s: the first row is %s of %.4f s", name, first.Name, first.Seconds)
		}
		if early := c.row == diagnose.RowEarlier; math.IsNaN(first.Idle) != early ||
			strings.Contains(s.all, "on launches from before the recording") != early {
			t.Errorf("%s: idle %f in\n%s", name, first.Idle, s.all)
		}
	}
}

// A host that has launched a hundred kernels before the first of them starts ran ahead of a device that was busy: that
// time is neither idle nor a wait. One that has launched a few of them tells nothing.
func TestAHostThatRanAhead(t *testing.T) {
	for count, early := range map[int]bool{150: true, 20: false} {
		var events []string
		for i := range count {
			from, start := 5000+20*float64(i), 11_500+60*float64(i)
			events = append(events, launched(i+1, "aten::mul", from, 15, "void at::native::vectorized_elementwise_kernel<4>", start, 59)...)
		}
		s := screenOf(t, append(events, span("cpu_op", "aten::empty", 7, 10, 5, `"External id": 9999`)))
		if got := s.verdict.Ledger.Rows[0].Name == diagnose.RowEarlier; got != early {
			t.Errorf("%d kernels: the first row is %s\n%s", count, s.verdict.Ledger.Rows[0].Name, s.all)
		}
		if early && !s.verdict.Class.Is(diagnose.GPUBound) {
			t.Errorf("%s: %s", s.verdict.Class, s.lead.Why)
		}
	}
}

// The row of the judged window holds what is judged: steps that are left out stand in another.
func TestJudgedRowIsTheWindow(t *testing.T) {
	var events []string
	for n, gap := range []float64{20_000, 1000, 1000, 1000, 1000} { // the first step has a long gap
		at := 30_000.0 * float64(n)
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", n+3), 7, at, 29_900, ""))
		for i := range 20 {
			from := at + gap + 400*float64(i)
			events = append(events, launched(100*n+i+1, "aten::mul", from, 50, "some_kernel", from+60, 200)...)
		}
	}
	s := screenOf(t, events)
	for _, row := range s.verdict.Ledger.Rows {
		if judged := row.Name == diagnose.RowJudged; judged && (row.Seconds > 0.1201 || row.Count != 4) {
			t.Errorf("the row has %.4f s and %d steps", row.Seconds, row.Count)
		} else if row.Name == diagnose.RowStartUp {
			t.Errorf("step 3 is the first in the file, and %.4f s are called its start-up", row.Seconds)
		}
	}
	if len(s.verdict.Ledger.Rows) < 2 {
		t.Errorf("rows: %+v", s.verdict.Ledger.Rows)
	}
}

// Who recorded the host is not told to, unless an older recorder of ROCm did, which links nothing.
func TestAHostThatWasRecorded(t *testing.T) {
	for call, told := range map[string]bool{"runSomething": false, "hipLaunchKernel": true} {
		var events []string
		for i := range 60 {
			at := 100 * float64(i)
			events = append(events,
				span("cpu_op", "aten::mul", 7, at, 20, `"External id": 1`),
				span("cuda_runtime", call, 7, at+5, 4, fmt.Sprintf(`"correlation": %d`, 10_000+i)),
				span("kernel", "some_kernel", 70, at+60, 30, fmt.Sprintf(`"correlation": %d, "device": 0, "stream": 7`, i)))
		}
		if s := screenOf(t, events); strings.Contains(s.lead.Next, "record the host") != told {
			t.Errorf("%s: %s\n%s", call, s.lead.Why, s.lead.Next)
		}
	}
}
