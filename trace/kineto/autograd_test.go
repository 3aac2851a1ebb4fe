package kineto

import (
	"context"
	"strings"
	"testing"
)

// The old profiler's operators of the host are read where they are all that there was. Beside what it says of a
// device they are not: that has no kernels.
func TestOldProfilersHost(t *testing.T) {
	const host = `{"name": "aten::conv2d", "ph": "X", "ts": 10, "dur": 20.5, "tid": 1, "pid": "CPU functions", "args": {}}`
	const device = `{"name": "aten::conv2d", "ph": "X", "ts": 11, "dur": 30, "tid": 0, "pid": "CUDA functions", "args": {}}`
	out, err := Read(context.Background(), strings.NewReader("["+host+"]"), Options{})
	if err != nil || len(out.Timeline.Host.Start) != 1 || out.Timeline.Host.End[0]-out.Timeline.Host.Start[0] != 20500 {
		t.Fatalf("%v, %+v", err, out)
	}
	for _, w := range out.Warnings {
		if strings.Contains(w, "unknown categories") {
			t.Error(w)
		}
	}
	if _, err := Read(context.Background(), strings.NewReader("["+host+","+device+"]"), Options{}); err == nil {
		t.Error("a device's half without kernels was read")
	}
}
