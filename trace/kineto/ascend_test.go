package kineto

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// ascendEvents are two steps as Ascend's exporter writes them: an operator of PyTorch's, a launch by
// CANN, its kernel, a record of an event, a collective with a part of it, and sums of all that. What
// the rows are stands behind them.
func ascendEvents() []string {
	const program = 2731529
	cann, hardware, exchange, sums := program<<10|7<<5|31, program<<10|13<<5|1, program<<10|20<<5|1, program<<10|29<<5|1
	var out []string
	for s := range 2 {
		at := func(us float64) string { return fmt.Sprintf(`"%d.%03d"`, 1780747943000000+10000*s+int(us), 125) }
		put := func(pid, tid int, name, from string, dur float64, rest string) {
			out = append(out, fmt.Sprintf(`{"ph": "X", "name": %q, "pid": %d, "tid": %d, "ts": %s, "dur": %g%s}`, name, pid, tid, from, dur, rest))
		}
		id := 10 * (s + 1)
		put(program, program, fmt.Sprintf("ProfilerStep#%d", s), at(0), 9990, `, "cat": "cpu_op", "args": {}`)
		put(program, program, "aten::mm", at(100), 20, `, "cat": "cpu_op", "args": {}`)
		put(cann, program, "Node@launch", at(105), 6, fmt.Sprintf(`, "args": {"connection_id": %d, "level": "node"}`, id))
		put(cann, program, "Runtime@KernelLaunch", at(106), 4, fmt.Sprintf(`, "args": {"connection_id": %d}`, id+1))
		put(hardware, 62, "aclnnMatmul_MatMulV2", at(200), 92.6, fmt.Sprintf(`, "args": {"Task Type": "MIX_AIC", "connection_id": %d}`, id))
		put(hardware, 62, "EVENT_RECORD", at(293), 0.02, `, "args": {"Task Type": "EVENT_RECORD"}`)
		put(exchange, 3, "hcom_allReduce__123_0", at(300), 50, `, "args": {}`)
		put(exchange, 4, "Notify_Wait", at(300), 40, `, "args": {}`)
		put(sums, 2, "Computing", at(200), 92.6, `, "args": {}`)
	}
	for pid, name := range map[int]string{cann: "CANN", hardware: "Ascend Hardware", exchange: "Communication", sums: "Overlap Analysis"} {
		out = append(out, fmt.Sprintf(`{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "args": {"name": %q}}`, pid, name))
	}
	return out
}

// Rows without a category are what their process says, and a thread has one number.
func TestAscend(t *testing.T) {
	out, err := Read(context.Background(), strings.NewReader("["+strings.Join(ascendEvents(), ",\n")+"]"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, h, names := &out.Timeline.Device, &out.Timeline.Host, out.Timeline.Names
	if len(d.Start) != 4 || len(out.Timeline.Threads) != 1 || len(out.Steps) != 2 || len(out.Timeline.Devices) != 1 {
		t.Fatalf("%d pieces of work, %d threads, %d steps, devices %+v", len(d.Start), len(out.Timeline.Threads), len(out.Steps), out.Timeline.Devices)
	}
	if call := d.Call[0]; call < 0 || names[h.Name[call]] != "Node@launch" || d.Kind[0] != recording.Kernel || d.End[0]-d.Start[0] != 92_600 {
		t.Errorf("a kernel of %d ns is linked to %d", d.End[0]-d.Start[0], call)
	}
	if d.Kind[1] != recording.Collective || d.Stream[1] == d.Stream[0] {
		t.Errorf("a collective is a %v on stream %d", d.Kind[1], d.Stream[1])
	}
	if on := out.Timeline.Devices[0]; on.Index != 1 || on.PID != 2731529 {
		t.Errorf("device %+v", on)
	}
	if out.Facts.Model == nil || out.Facts.Model.Device != "npu:1" {
		t.Errorf("model %+v", out.Facts.Model)
	}
	if got := d.Start[0]; got != 200_000 { // times in quotes
		t.Errorf("the first kernel starts at %d ns", got)
	}
}

// Without Ascend's rows such events are nobody's, as before.
func TestEventsWithoutACategory(t *testing.T) {
	_, err := Read(context.Background(), strings.NewReader(`[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": "5", "dur": 1}]`), Options{})
	if err == nil || !strings.Contains(err.Error(), "without events of PyTorch") {
		t.Error(err)
	}
}

// Intel's rows are Kineto's, with other calls and names of copies.
func TestXPU(t *testing.T) {
	text := `[{"ph": "X", "cat": "xpu_runtime", "name": "urEnqueueUSMMemcpy", "pid": 7, "tid": 7, "ts": 10, "dur": 2, "args": {"correlation": 1}},
		{"ph": "X", "cat": "gpu_memcpy", "name": "zeCommandListAppendMemoryCopy(M2D)", "pid": 0, "tid": 0, "ts": 20, "dur": 60, "args": {"correlation": 1, "device": 0, "bytes": 4096, "sycl queue": 64}},
		{"ph": "X", "cat": "xpu_runtime", "name": "urEnqueueKernelLaunch", "pid": 7, "tid": 7, "ts": 30, "dur": 2, "args": {"correlation": 2}},
		{"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": 0, "tid": 0, "ts": 90, "dur": 9, "args": {"correlation": 2, "device": 0, "l0 queue": "0x000055d08b8fc138"}}]`
	out, err := Read(context.Background(), strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, names := &out.Timeline.Device, out.Timeline.Names
	for i, want := range []string{"urEnqueueUSMMemcpy", "urEnqueueKernelLaunch"} {
		if call := d.Call[i]; call < 0 || names[out.Timeline.Host.Name[call]] != want {
			t.Errorf("work %d is linked to call %d, want %s", i, call, want)
		}
	}
	if !recording.ToDevice(names[d.Name[0]]) || d.Bytes[0] != 4096 || out.Facts.Model.Device != "xpu:0" {
		t.Errorf("%s of %d bytes on %+v", names[d.Name[0]], d.Bytes[0], out.Facts.Model)
	}
	for name, is := range map[string]func(string) bool{
		"urQueueFinish": recording.WaitsForDevice, "zeEventHostSynchronize": recording.WaitsForDevice,
		"urUSMDeviceAlloc": recording.AllocatesMemory, "zeMemFree": recording.AllocatesMemory,
		"urEnqueueUSMMemcpy": recording.CopiesMemory, "zeCommandListAppendMemoryCopy": recording.CopiesMemory,
		"AscendCL@aclrtMemcpyAsync": recording.CopiesMemory, "Runtime@DevMalloc": recording.AllocatesMemory,
		"Node@launch": recording.LaunchesWork, "zeCommandListAppendLaunchKernel": recording.LaunchesWork,
	} {
		if !is(name) {
			t.Errorf("%s is not known for what it does", name)
		}
	}
}
