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
	if waits := out.Timeline.Awaits; len(waits) != 2 || waits[0] != [2]int64{d.Start[1], d.Start[1] + 40_000} {
		t.Errorf("waits for other ranks: %v, the collective begins at %d", waits, d.Start[1])
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

// olderAscend is a step as exporters of 2023 and 2024 write it: two digits behind the program's process, collectives
// under HCCL, most tasks of type "Other", flows beyond 64 bits that begin within a call, and no number of the call.
func olderAscend() string {
	const program = 437675
	var out []string
	put := func(pid, tid int, cat, name string, from, dur float64, args string) {
		out = append(out, fmt.Sprintf(`{"ph": "X", "name": %q, "pid": %d, "tid": %d, "ts": "%.3f", "dur": %g%s, "args": {%s}}`, name, pid, tid, 1.7e9+from, dur, cat, args))
	}
	flow := func(ph string, pid, tid int, at float64) {
		out = append(out, fmt.Sprintf(`{"ph": %q, "name": "HostToDevice", "cat": "HostToDevice", "id": "40004631069296951295", "pid": %d, "tid": %d, "ts": "%.3f"}`, ph, pid, tid, 1.7e9+at))
	}
	const op, other = `, "cat": "cpu_op"`, `"Task Type": "Other"`
	put(program, program, op, "ProfilerStep#1", 0, 900, "")
	put(program, 439084, `, "cat": "dequeue"`, "Dequeue@Conv2D", 100, 40, "")
	put(program*100+2, 439084, "", "AscendCL@aclopCompileAndExecute", 105, 30, "")
	flow("s", program*100+2, 439084, 120)
	flow("f", 800, 3, 200)
	put(800, 3, "", "Conv2D12", 200, 50, other)
	for i := range 4 {
		at := 300 + 20*float64(i)
		put(800, 4, "", "NOTIFY_WAIT", at, 5, other)
		put(800, 4, "", "MEMCPY_ASYNC", at+5, 5, other)
		put(800, 4, "", "REDUCE_ASYNC_V2", at+10, 5, other)
		put(800, 11, "", "Other", at, 15, other)
	}
	put(864, 0, "", "hcom_allReduce__538_0_1", 300, 80, `"count": 4097000`)
	put(800, 3, "", "MEMCPY_ASYNC", 400, 5, other)
	for pid, name := range map[int]string{program: "Python", program*100 + 2: "CANN", 800: "Ascend Hardware", 864: "HCCL"} {
		out = append(out, fmt.Sprintf(`{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "args": {"name": %q}}`, pid, name))
	}
	return "[" + strings.Join(out, ",\n") + "]"
}

// Older exporters' collectives are collectives, their parts and waits are no work, and calls are the program's.
func TestOlderAscend(t *testing.T) {
	for _, general := range []bool{false, true} {
		out, err := Read(context.Background(), strings.NewReader(olderAscend()), Options{General: general})
		if err != nil {
			t.Fatal(err)
		}
		d, h, names := &out.Timeline.Device, &out.Timeline.Host, out.Timeline.Names
		var got []string
		for i := range d.Start {
			got = append(got, fmt.Sprintf("%s %v", names[d.Name[i]], d.Kind[i]))
		}
		want := fmt.Sprint([]string{
			fmt.Sprintf("Conv2D12 %v", recording.Kernel), fmt.Sprintf("hcom_allReduce__538_0_1 %v", recording.Collective),
			fmt.Sprintf("MEMCPY_ASYNC %v", recording.Copy),
		})
		if fmt.Sprint(got) != want {
			t.Errorf("work %v, want %s", got, want)
			continue
		}
		if call := d.Call[0]; call < 0 || names[h.Name[call]] != "AscendCL@aclopCompileAndExecute" {
			t.Errorf("the kernel is linked to %d", call)
		}
		for _, th := range out.Timeline.Threads {
			if th.PID != 437675 {
				t.Errorf("a thread of process %d", th.PID)
			}
		}
		if len(out.Steps) != 1 || out.Facts.Model == nil || !strings.HasPrefix(out.Facts.Model.Device, "npu:") {
			t.Errorf("steps %+v of %+v", out.Steps, out.Facts.Model)
		}
	}
}

// msprof is an iteration as msprof writes it: a kernel, a collective of two planes that wait, move and wait again, and
// a kernel. whole adds the collective as a whole, under a number that tells no device.
func msprof(whole bool) string {
	var out []string
	put := func(pid, tid int, task, name string, from, dur float64) {
		out = append(out, fmt.Sprintf(`{"ph": "X", "name": %q, "pid": %d, "tid": %d, "ts": %.2f, "dur": %g, "args": {"Task Type": %q}}`, name, pid, tid, from, dur, task))
	}
	label := func(kind string, pid, tid int, name string) {
		out = append(out, fmt.Sprintf(`{"ph": "M", "name": %q, "pid": %d, "tid": %d, "args": {"name": %q}}`, kind, pid, tid, name))
	}
	label("process_name", 3, 0, "Ascend Hardware")
	put(3, 2, "AI_CORE", "Default/network/fc1-Dense/MatMul-op1", 1000, 100)
	for _, stream := range []int{12, 13} {
		put(3, stream, "NOTIFY_WAIT", "NOTIFY_WAIT", 1105, 400)
		put(3, stream, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 1510, 50)
		put(3, stream, "NOTIFY_WAIT", "NOTIFY_WAIT", 1561, 139)
	}
	put(3, 2, "AI_CORE", "Default/optimizer-Momentum/ApplyMomentum-op2", 1710, 90)
	if whole {
		label("process_name", 1003611, 0, "HCCL")
		label("thread_name", 1003611, 70000, "Communication Kernel")
		label("thread_name", 1003611, 1, "Plane 1")
		put(1003611, 70000, "", "Default/AllReduce-op534_0", 1105, 595)
		put(1003611, 1, "", "Notify_Wait", 1105, 400)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// A wait for another rank is part of a collective, whether the file holds that as a whole or by its parts alone.
func TestWaitsOfCollectivesAreTheirs(t *testing.T) {
	for _, whole := range []bool{false, true} {
		out, err := Read(context.Background(), strings.NewReader(msprof(whole)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &out.Timeline.Device
		if len(d.Start) != 3 || len(out.Timeline.Devices) != 1 || out.Timeline.Devices[0].Index != 3 {
			t.Fatalf("whole %t: %d pieces of work on %+v", whole, len(d.Start), out.Timeline.Devices)
		}
		if length := d.End[1] - d.Start[1]; d.Kind[1] != recording.Collective || length != 595_000 {
			t.Errorf("whole %t: a %v of %d ns", whole, d.Kind[1], length)
		}
		if s := out.Facts.Software; s.Framework != recording.CANN || s.Recorder != recording.Msprof {
			t.Errorf("whole %t: software %+v", whole, s)
		}
	}
}
