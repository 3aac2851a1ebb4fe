package idle

import (
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// A marked range of a program without Python is no Python: only a recorder of any program can show one.
func TestRangesWithoutPython(t *testing.T) {
	for name, c := range map[string]struct {
		recorder, thread string
		want             Cause
	}{
		"PyTorch's profiler": {"", "trainer", Python},
		"Python":             {recording.NsightSystems, "python3.10", Python},
		"PyTorch":            {recording.NsightSystems, "pt_main_thread", Python},
		"before exec":        {recording.NsightSystems, "bash", Python},
		"C++":                {recording.NsightSystems, "solver", HostCode},
		"HIP":                {recording.Rocprof, "solver", HostCode},
	} {
		run := &recording.Run{Timeline: &recording.Timeline{
			Names: []string{"kernel", "cudaLaunchKernel", "solve"}, End: 3_000_000,
			Devices: []recording.Device{{PID: 1}}, Threads: []recording.Thread{{PID: 1, ID: 1, Name: c.thread}},
		}}
		run.Facts.Software.Recorder = c.recorder
		h, d := &run.Timeline.Host, &run.Timeline.Device
		add := func(kind recording.CallKind, name int32, from, to int64) {
			h.Start, h.End, h.Name = append(h.Start, from), append(h.End, to), append(h.Name, name)
			h.Thread, h.Kind = append(h.Thread, 0), append(h.Kind, kind)
			h.Shapes, h.Types = append(h.Shapes, -1), append(h.Types, -1)
		}
		work := func(call int32, from, to int64) {
			d.Start, d.End, d.Name = append(d.Start, from), append(d.End, to), append(d.Name, 0)
			d.Device, d.Stream, d.Kind = append(d.Device, 0), append(d.Stream, 7), append(d.Kind, recording.Kernel)
			d.Call, d.Bytes, d.Group = append(d.Call, call), append(d.Bytes, -1), append(d.Group, -1)
			d.Blocks, d.Threads = append(d.Blocks, 0), append(d.Threads, 0)
			d.PerSM, d.Occupancy = append(d.PerSM, 0), append(d.Occupancy, 0)
		}
		add(recording.Runtime, 1, 0, 4_000)
		add(recording.Annotation, 2, 20_000, 2_900_000)
		add(recording.Runtime, 1, 2_920_000, 2_924_000)
		work(0, 8_000, 12_000)
		work(2, 2_930_000, 2_960_000)
		if of := Analyse(run).Devices[0].Causes; of[c.want] < 2_000_000 {
			t.Errorf("%s: %v; want %s for the range", name, of, c.want)
		}
	}
}
