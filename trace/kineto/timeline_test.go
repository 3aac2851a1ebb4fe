package kineto

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// timelineOf is a timeline of TensorFlow 1: an input, and a product whose kernel starts some microseconds after its
// operator. All work is there twice.
func timelineOf(delay int) string {
	var out []string
	names := []string{
		"Allocators", "/job:localhost/replica:0/task:0/device:CPU:0 Compute",
		"/job:localhost/replica:0/task:0/device:GPU:0 Compute", "/device:GPU:0/stream:13 Compute",
		"/device:GPU:0/stream:all Compute", "/device:GPU:0/memcpy Compute", "/device:GPU:0/stream:14 Compute",
	}
	for pid, name := range names {
		out = append(out, fmt.Sprintf(`{"name":"process_name","ph":"M","pid":%d,"args":{"name":%q}}`, pid, name))
	}
	put := func(pid int, op, node string, from, dur int) {
		out = append(out, fmt.Sprintf(
			`{"ph":"X","cat":"Op","name":%q,"pid":%d,"tid":0,"ts":%d,"dur":%d,"args":{"name":%q,"op":%q}}`,
			op, pid, 1523831423420774+from, dur, node, op))
	}
	put(1, "IteratorGetNext", "IteratorGetNext", 0, 900)
	for _, pid := range []int{5, 6} {
		put(pid, "MEMCPYHtoD", "edge_84_IteratorGetNext", 910, 5)
	}
	put(2, "MatMul", "model/MatMul", 1000, delay+10)
	for _, pid := range []int{3, 4} {
		put(pid, "MatMul", "model/MatMul", 1000+delay, 50)
	}
	return `{"traceEvents": [` + strings.Join(out, ",\n") + "]}"
}

// A timeline's operators and work are told by the names of their processes, work that is there twice counts once, and
// a run with the first product of a program is none to judge.
func TestTimelineOfTensorFlow(t *testing.T) {
	for delay, phase := range map[int]recording.Phase{20: recording.Train, 200_000: recording.WarmUp} {
		out, err := Read(context.Background(), strings.NewReader(timelineOf(delay)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, h, name := &out.Timeline.Device, &out.Timeline.Host, out.Timeline.Names
		if len(d.Start) != 2 || len(h.Start) != 2 || d.Kind[0] != recording.Copy || d.Kind[1] != recording.Kernel {
			t.Fatalf("%+v, %+v", d, h)
		}
		for i, want := range []string{"IteratorGetNext:IteratorGetNext", "model/MatMul:MatMul"} {
			if call := d.Call[i]; call < 0 || name[h.Name[call]] != want {
				t.Errorf("work %d is not of %s: call %d", i, want, call)
			}
		}
		if out.Facts.Software.Framework != recording.TensorFlowGraphs || len(out.Steps) != 1 || out.Steps[0].Phase != phase {
			t.Errorf("%q, %+v, want %v", out.Facts.Software.Framework, out.Steps, phase)
		}
		if len(out.Timeline.Threads) != 2 || out.Timeline.Threads[0].PID != out.Timeline.Threads[1].PID {
			t.Errorf("%+v", out.Timeline.Threads)
		}
	}
}
