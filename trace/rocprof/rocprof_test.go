package rocprof

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// made is a small file as rocprofv3 --sys-trace writes it: three steps in a roctx range, each with a
// copy of 1 MiB, a kernel of 5 ms that is launched 10 us before, and a wait.
func made() string {
	var kernels, copies, calls, marks, messages []string
	for s := range int64(3) {
		at, id := 1_000_000_000+10_000_000*s, 10*s+1
		span := func(from, to, kind, operation, id int64, rest string) string {
			return fmt.Sprintf(`{"size": 48, "kind": %d, "operation": %d, "thread_id": 77, "correlation_id": {"internal": %d, "external": 0},
				"start_timestamp": %d, "end_timestamp": %d%s}`, kind, operation, id, at+from, at+to, rest)
		}
		marks = append(marks, span(0, 9_900_000, 2, 1, id, ""))
		messages = append(messages, fmt.Sprintf(`{"key": %d, "value": "step %d"}`, id, s))
		calls = append(calls, span(4_000_000, 4_100_000, 1, 1, id+1, ""), span(4_200_000, 4_205_000, 1, 0, id+2, ""), span(4_300_000, 9_215_000, 1, 2, id+3, ""))
		copies = append(copies, span(4_010_000, 4_090_000, 4, 2, id+1, `, "bytes": 1048576, "src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 9}, "stream_id": {"handle": 3}`))
		kernels = append(kernels, span(4_210_000, 9_210_000, 3, 2, id+2, `, "dispatch_info": {"agent_id": {"handle": 9}, "queue_id": {"handle": 2}, "kernel_id": 5,
			"workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 2, "z": 1}}, "stream_id": {"handle": 3}`))
	}
	list := func(parts []string) string { return "[" + strings.Join(parts, ", ") + "]" }
	return `{"rocprofiler-sdk-tool": [{"metadata": {"pid": 42, "command": ["./a"], "config": {}},
		"agents": [{"id": {"handle": 1}, "type": 1, "name": "EPYC"},
			{"id": {"handle": 9}, "type": 2, "gpu_index": 1, "name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304, "mem_banks": [{"size_in_bytes": 206141652992}]}],
		"counters": [],
		"strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync", "hipDeviceSynchronize"]},
			{"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]}, {"kind": "KERNEL_DISPATCH", "operations": []},
			{"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"]}], "marker_api": ` + list(messages) + `},
		"kernel_symbols": [{"kernel_id": 5, "kernel_name": "_Z4stepPf.kd", "formatted_kernel_name": "step(float*)"}],
		"callback_records": {"counter_collection": [{"a": [1, {"b": null}]}]},
		"buffer_records": {"kernel_dispatch": ` + list(kernels) + `, "hip_api": ` + list(calls) + `, "hsa_api": [{"kind": 0}],
			"marker_api": ` + list(marks) + `, "memory_copy": ` + list(copies) + `}}]}`
}

func read(t *testing.T, text string) *Trace {
	t.Helper()
	out, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What the file says stands in the Timeline.
func TestRead(t *testing.T) {
	if !IsStart([]byte(made()[:100])) || IsStart([]byte(`{"traceEvents": []}`)) {
		t.Error("the file is told by its first member")
	}
	out := read(t, made())
	d, names := &out.Timeline.Device, out.Timeline.Names
	if len(d.Start) != 6 || len(out.Steps) != 3 || len(out.Warnings) != 0 || len(out.Facts.Damage) != 0 {
		t.Fatalf("%d pieces of work, steps %v, %q", len(d.Start), out.Steps, out.Warnings)
	}
	if name := names[d.Name[0]]; d.Kind[0] != recording.Copy || name != "Memcpy HtoD (Host -> Device)" || d.Bytes[0] != 1<<20 {
		t.Errorf("a copy %s of %d bytes", name, d.Bytes[0])
	}
	if names[d.Name[1]] != "step(float*)" || d.End[1]-d.Start[1] != 5_000_000 || d.Blocks[1] != 8 || d.Threads[1] != 256 || d.Stream[1] != 3 {
		t.Errorf("a kernel %s of %d ns, %d blocks", names[d.Name[1]], d.End[1]-d.Start[1], d.Blocks[1])
	}
	for i, want := range []string{"hipMemcpyAsync", "hipLaunchKernel"} {
		if call := d.Call[i]; call < 0 || names[out.Timeline.Host.Name[call]] != want {
			t.Errorf("work %d is linked to call %d, want %s", i, call, want)
		}
	}
	if g := out.Facts.GPUs; len(g) != 1 || g[0].Name != "AMD Instinct MI300X" || g[0].Index != 1 || g[0].SMs != 304 {
		t.Errorf("GPUs %+v", g)
	}
	if p := out.Facts.Processes; len(p) != 1 || p[0].PID != 42 || p[0].LaunchThread != 77 || p[0].Device != 1 {
		t.Errorf("processes %+v", p)
	}
	if out.Facts.Software.Framework != noFramework || out.Steps[1].N != 1 {
		t.Errorf("framework %q, step %+v", out.Facts.Software.Framework, out.Steps[1])
	}
}

// A file that ends early gives what lies before its end, else a sentence.
func TestEveryCut(t *testing.T) {
	text, most := made(), 0
	for cut := 1; cut < len(text)-4; cut += 13 {
		out, err := Read(context.Background(), strings.NewReader(text[:cut]))
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
		case err != nil:
			t.Fatalf("cut at %d: %T %v", cut, err, err)
		case len(out.Facts.Damage) == 0:
			t.Fatalf("cut at %d, and nothing is said", cut)
		default:
			most = max(most, len(out.Timeline.Device.Start))
		}
	}
	if most < 5 {
		t.Errorf("at most %d pieces of work were read", most)
	}
}

// Records with an impossible time are left out, and that is said.
func TestImpossibleTimes(t *testing.T) {
	text := strings.Replace(made(), `"start_timestamp": 1004210000, "end_timestamp": 1009210000`, `"start_timestamp": 1004210000, "end_timestamp": 4210000`, 1)
	out := read(t, text)
	if len(out.Timeline.Device.Start) != 5 || len(out.Facts.Damage) != 1 || !(out.Facts.WorkLost > 0.1) {
		t.Errorf("%d pieces of work, %q", len(out.Timeline.Device.Start), out.Facts.Damage)
	}
}

// FuzzRead: whatever a file holds, it is read or refused with a sentence.
func FuzzRead(f *testing.F) {
	f.Add(made())
	f.Add(made()[:2000])
	f.Add(`{"rocprofiler-sdk-tool": {"a": [}`)
	f.Add(`{"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [{"start_timestamp": 5, "end_timestamp": 9, "dispatch_info": {"workgroup_size": {"x": 18446744073709551615, "y": 3}}}]}}]}`)
	f.Add(`{"x": ` + strings.Repeat("[", 2000))
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Read(context.Background(), strings.NewReader(text))
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
		case err != nil:
			t.Fatalf("%T: %v", err, err)
		default:
			w := &out.Timeline.Device
			for i := range w.Start {
				if w.End[i] < w.Start[i] || w.Start[i] < 0 || int(w.Call[i]) >= len(out.Timeline.Host.Start) {
					t.Fatalf("work %d: %d to %d, call %d", i, w.Start[i], w.End[i], w.Call[i])
				}
			}
		}
	})
}
