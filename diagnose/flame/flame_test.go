package flame

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// written is a tree as text: a line for each node with its time, indented.
func written(n *Node, deep int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", deep) + n.Name + " " + string(rune('0'+n.Time/10)) + "\n")
	for _, c := range n.Children {
		b.WriteString(written(c, deep+1))
	}
	return b.String()
}

// Frames stand around operators, calls that repeat are one node, what lies outside of the
// window does not count, and what outlasts its caller is cut.
func TestOf(t *testing.T) {
	tl := &recording.Timeline{
		Names:   []string{"ProfilerStep#1", "ProfilerStep#2", "train.py(1): forward", "aten::mm", "cudaLaunchKernel"},
		Threads: []recording.Thread{{PID: 1, ID: 7, Name: "python"}, {PID: 2, ID: 8}}, Devices: []recording.Device{{PID: 1}}, End: 100,
		Host: recording.Calls{
			Start: []int64{0, 10, 10, 15, 30, 40, 45}, End: []int64{40, 30, 90, 20, 40, 80, 90},
			Name: []int32{0, 3, 3, 4, 3, 1, 3}, Thread: []int32{0, 0, 1, 0, 0, 0, 0},
			Kind: []recording.CallKind{recording.Annotation, recording.Op, recording.Op, recording.Runtime, recording.Op, recording.Annotation, recording.Op},
		},
		Frames: recording.Frames{Start: []int64{0, 10}, End: []int64{60, 40}, Name: []int32{2, 2}, Thread: []int32{0, 0}},
	}
	gaps := &idle.Analysis{Processes: []idle.Process{{PID: 1}}}
	root := Of(&recording.Run{Timeline: tl}, gaps, &idle.Device{From: 0, To: 70})
	const want = `host threads 6
 thread 7 (python) 6
  train.py(1): forward 6
   ProfilerStep* 6
    train.py(1): forward 3
     aten::mm 3
      cudaLaunchKernel 0
    aten::mm 1
`
	if got := written(root, 0); got != want {
		t.Errorf("the tree is\n%swant\n%s", got, want)
	}
	if forward := root.Children[0].Children[0]; forward.Self() != 0 || forward.Children[0].Self() != 15 {
		t.Errorf("self: %d, %d", forward.Self(), forward.Children[0].Self())
	}
	if empty := Of(&recording.Run{Timeline: tl}, gaps, &idle.Device{Process: -1}); empty.Time != 0 {
		t.Errorf("of no process: %+v", empty)
	}
}
