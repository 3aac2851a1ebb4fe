package kineto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// rocprofOf is a file of rocprof, of before rocprofv3: a copy and a kernel within a range, and calls of HSA.
func rocprofOf(devices int) string {
	out := []string{"{}"}
	name := func(pid int, name string) {
		out = append(out, fmt.Sprintf(`{"args":{"name":%q},"ph":"M","pid":%d,"name":"process_name"}`, name, pid))
	}
	put := func(pid, tid int, name string, from, to int) {
		out = append(out, fmt.Sprintf(`{"ph":"X","name":%q,"pid":"%d","tid":"%d","ts":"%d","dur":"%d","args":{"Name":%[1]q}}`,
			name, pid, tid, from, to-from))
	}
	flow := func(id, pid, tid, at int) {
		out = append(out,
			fmt.Sprintf(`{"ts":%d,"ph":"s","cat":"DataFlow","id":%d,"pid":2,"tid":77,"name":"dep"}`, at, id),
			fmt.Sprintf(`{"ts":%d,"ph":"t","cat":"DataFlow","id":%d,"pid":%d,"tid":%d,"name":"dep"}`, at, id, pid, tid))
	}
	name(0, "Markers and Ranges")
	name(1, "COPY")
	name(2, "CPU HIP API")
	name(3, "CPU HSA API")
	for d := range devices {
		name(6+d, fmt.Sprintf("GPU%d", d))
	}
	put(0, 77, "loop", 100, 400)
	put(2, 77, "hipMemcpy", 110, 180)
	put(3, 77, "hsa_signal_wait", 120, 170)
	put(1, 0, "CopyHostToDevice", 130, 175)
	put(2, 77, "hipLaunchKernel", 190, 200)
	put(6, 2, "axpy(int, float*)", 198, 300)
	flow(0, 1, 0, 130)
	flow(97, 6, 2, 198)
	return `{"traceEvents":[` + strings.Join(out, "\n,") +
		`],"otherData":{"Agent1.DeviceType":"CPU","Agent1.Name":"EPYC","Agent2.DeviceType":"GPU","Agent2.Name":"gfx906",` +
		`"Agent2.MarketingName":"Vega20","Agent2.ComputeUnit":"64"}}`
}

// A file of rocprof is read, and its work linked by flows whose numbers begin with 0.
func TestRocprof(t *testing.T) {
	out, err := Read(context.Background(), strings.NewReader(rocprofOf(1)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, h, names := &out.Timeline.Device, &out.Timeline.Host, out.Timeline.Names
	if len(d.Start) != 2 || d.Kind[0] != recording.Copy || d.Kind[1] != recording.Kernel || len(h.Start) != 3 {
		t.Fatalf("%+v, %+v", d, h)
	}
	for i, want := range []string{"hipMemcpy", "hipLaunchKernel"} {
		if call := d.Call[i]; call < 0 || names[h.Name[call]] != want {
			t.Errorf("work %d is not of %s: call %d", i, want, call)
		}
	}
	software := recording.Software{Framework: "HIP", Recorder: recording.Rocprof}
	if len(out.Timeline.Threads) != 1 || out.Facts.Software != software {
		t.Errorf("%+v, %+v", out.Timeline.Threads, out.Facts.Software)
	}
	if g := out.Facts.GPUs; len(g) != 1 || g[0].Name != "AMD Vega20" || g[0].SMs != 64 {
		t.Errorf("%+v", g)
	}
	var foreign *ForeignError
	if _, err := Read(context.Background(), strings.NewReader(rocprofOf(2)), Options{}); !errors.As(err, &foreign) {
		t.Errorf("copies of two devices: %v", err)
	}
}

// A timeline of Horovod is named, also one that its program left open.
func TestHorovodIsNamed(t *testing.T) {
	const file = `[
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "HorovodBroadcast_dense_kernel_0"}},
{"ph": "B", "name": "NEGOTIATE_BROADCAST", "ts": 1, "pid": 1},
{"ph": "X", "name": "2", "ts": 2, "pid": 1, "dur": 0},
`
	_, err := Read(context.Background(), strings.NewReader(file), Options{})
	if err == nil || !strings.Contains(err.Error(), "Horovod") {
		t.Error(err)
	}
}
