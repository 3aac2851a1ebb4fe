package traced

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// hostOf is a timeline of one thread whose spans follow each other, milliseconds.
func hostOf(spans map[string]int64, order ...string) *recording.Timeline {
	t := &recording.Timeline{Threads: []recording.Thread{{PID: 1, ID: 1}}}
	for i, name := range order {
		t.Names = append(t.Names, name)
		h := &t.Host
		h.Name, h.Thread, h.Kind = append(h.Name, int32(i)), append(h.Thread, 0), append(h.Kind, recording.Op)
		h.Start, h.End = append(h.Start, t.End), append(h.End, t.End+1e6*spans[name])
		t.End += 1e6 * spans[name]
	}
	return t
}

// A file without work of a device tells where the model computes, and how long its loop is inside the loader.
func TestWhatTheHostTells(t *testing.T) {
	const conv, add = "aten::mkldnn_convolution", "aten::addmm"
	const loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
	for name, c := range map[string]struct {
		spans        map[string]int64
		work, inside string // parts of sentences; "" none
	}{
		"a CPU's convolutions":   {map[string]int64{conv: 500, add: 400, loader: 50}, "500 ms of 950 ms", ""},
		"a transform's":          {map[string]int64{conv: 100, add: 850, loader: 50}, "", ""},
		"a loader beside others": {map[string]int64{conv: 1, add: 259, loader: 740}, "", "740 ms of 1 s, for 1 batch"},
	} {
		c2 := &diagnose.Case{}
		fillHost(c2, &recording.Run{Timeline: hostOf(c.spans, conv, add, loader)})
		for _, said := range []struct {
			list []diagnose.Evidence
			want string
		}{{c2.CPUWork, c.work}, {c2.HostLoading, c.inside}} {
			if len(said.list) == 0 != (said.want == "") || said.want != "" && !strings.Contains(said.list[0].Text, said.want) {
				t.Errorf("%s: %+v, want %q", name, said.list, said.want)
			}
		}
	}
}

// A recorder that was asked for the device's calls and holds none is not told to ask for them.
func TestADeviceThatWasNotUsed(t *testing.T) {
	for _, runtime := range []bool{false, true} {
		run := &recording.Run{Timeline: hostOf(map[string]int64{"poll": 50}, "poll")}
		run.Timeline.Host.Kind[0] = recording.Annotation
		if runtime {
			run.Timeline.Host.Kind[0] = recording.Runtime
		}
		run.Facts.DeviceTraced = true
		c := &diagnose.Case{}
		if fillWithoutWork(c, run); strings.HasPrefix(c.Grounds.Record, "record while the program uses the device") == runtime {
			t.Errorf("%v: %q", runtime, c.Grounds.Record)
		}
	}
}

// What lies within an operator is not counted again.
func TestNestedOperatorsCountOnce(t *testing.T) {
	line := hostOf(map[string]int64{"aten::mkldnn_convolution": 100}, "aten::mkldnn_convolution")
	h := &line.Host
	h.Name, h.Thread, h.Kind = append(h.Name, 0), append(h.Thread, 0), append(h.Kind, recording.Op)
	h.Start, h.End = append(h.Start, 10e6), append(h.End, 90e6)
	if sum, most := sumSpans(line, recording.CPUSign); sum != 100e6 || most != "aten::mkldnn_convolution" {
		t.Errorf("%d of %q, want 100 ms", sum, most)
	}
}

// A timeline of TensorFlow lists the operators of all devices.
func TestATimelineOfTheCPU(t *testing.T) {
	c, run := &diagnose.Case{}, &recording.Run{Timeline: hostOf(map[string]int64{"a:MatMul": 3}, "a:MatMul")}
	run.Facts.StepsFrom = recording.OneRun
	if fillHost(c, run); len(c.CPUWork) != 1 {
		t.Errorf("%+v", c.CPUWork)
	}
}
