package kineto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
)

// parsed reads events, given as the elements of traceEvents, by both readers.
func parsed(t *testing.T, events ...string) *Trace {
	t.Helper()
	return parsedFile(t, `{"traceEvents": [`+strings.Join(events, ",\n")+`]}`)
}

func parsedFile(t *testing.T, file string) *Trace {
	t.Helper()
	fast := readTrace(t, []byte(file), Options{})
	same(t, "fast and general", fast, readTrace(t, []byte(file), Options{General: true}))
	return fast
}

// Every category of the table, in any case, becomes what the table says.
func TestCategories(t *testing.T) {
	for cat, c := range categories {
		if cat == "" {
			continue
		}
		for _, spelled := range []string{cat, strings.ToUpper(cat), strings.ToUpper(cat[:1]) + cat[1:]} {
			tr := parsed(t, `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 90}`,
				fmt.Sprintf(`{"ph": "X", "cat": %q, "name": "train.py(1): f", "pid": 1, "tid": 1, "ts": 2, "dur": 3}`, spelled))
			host, work, frames := len(tr.Timeline.Host.Start)-1, len(tr.Timeline.Device.Start), len(tr.Timeline.Frames.Start)
			want := [3]int{}
			switch c {
			case opClass, annotationClass, runtimeClass, profilingClass:
				want[0] = 1
			case kernelClass, copyClass, setClass, commClass:
				want[1] = 1
			case frameClass:
				want[2] = 1
			default: // not kept
			}
			if got := [3]int{host, work, frames}; got != want {
				t.Errorf("%s: %d calls, works and frames, want %d", spelled, got, want)
			}
		}
	}
}

// A thread without a name has none: Kineto writes "thread 5 ()" for it.
func TestThreadWithoutAName(t *testing.T) {
	tr := parsed(t, `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 5, "ts": 1, "dur": 90}`,
		`{"ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "ts": 1, "args": {"name": "thread 5 ()"}}`)
	if name := tr.Timeline.Threads[0].String(); name != "thread 5" {
		t.Errorf("%q", name)
	}
}

// MTIA files the waits of the device's own queue among its kernels: they are no work.
func TestQueueEventsAreNoWork(t *testing.T) {
	kernel := `{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %d, "dur": 40}`
	tr := parsed(t, fmt.Sprintf(kernel, "gemm", 1), fmt.Sprintf(kernel, "event_wait", 50), fmt.Sprintf(kernel, "event_record", 90))
	if n := len(tr.Timeline.Device.Start); n != 1 {
		t.Errorf("%d pieces of work, want the gemm alone", n)
	}
}

// Times come to the nearest nanosecond whatever their form, and a unit for
// display changes nothing.
func TestTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"5":                   5000,
		"5.0":                 5000,
		"5.123":               5123,
		"5.1234":              5123,
		"5.1235":              5124,
		"5.12349999":          5123,
		"5e0":                 5000,
		"0.5E1":               5000,
		"-5.1235":             -5124,
		"1623143093496523":    1623143093496523000,
		"1419247332972.313":   1419247332972313,
		"1700000000000000001": 1700000000000000001, // nanoseconds
	} {
		tr := parsedFile(t, `{"displayTimeUnit": "ns", "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": `+text+`, "dur": 2}]}`)
		if tr.Zero != want {
			t.Errorf("%s: %d, want %d", text, tr.Zero, want)
		}
		dur := int64(2000)
		if want == 1700000000000000001 {
			dur = 2
		}
		if got := tr.Timeline.Device.End[0]; got != dur {
			t.Errorf("%s: duration %d", text, got)
		}
	}
}

func TestImpossibleTimes(t *testing.T) {
	good := `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 100, "dur": 9}`
	for text, why := range map[string]string{
		`"ts": 100, "dur": -1`:                             whyText[negative],
		`"ts": 100`:                                        whyText[noDuration],
		`"ts": 100, "dur": null`:                           whyText[noDuration],
		`"dur": 1`:                                         whyText[absurdTime],
		`"ts": 18446744073709551.615, "dur": 1`:            whyText[absurdTime],
		`"ts": 9223372036854775807, "dur": 1`:              whyText[absurdTime],
		`"ts": 99999999999999999999999, "dur": 1`:          whyText[absurdTime],
		`"ts": 1e300, "dur": 1`:                            whyText[absurdTime],
		`"ts": 100, "dur": 9223372036854775807`:            whyText[absurdTime],
		`"ts": 100, "dur": 86400000001`:                    whyText[absurdTime],
		`"ts": -8999999999999999, "dur": 1`:                whyText[absurdTime],
		`"ts": 100000000000000, "dur": 1`:                  whyText[absurdTime], // years from the others
		`"ts": 1` + strings.Repeat("0", 99) + `, "dur": 1`: whyText[absurdTime],
	} {
		tr := parsed(t, good, good, `{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, `+text+`}`)
		if tr.Timeline.Dropped[why] != 1 || len(tr.Timeline.Host.Start) != 2 || len(tr.Warnings) == 0 {
			t.Errorf("%s: dropped %v, %d calls, %q", text, tr.Timeline.Dropped, len(tr.Timeline.Host.Start), tr.Warnings)
		}
	}
}

// A time that was never set is 0. Where the clock began with the file, 0 is a time.
func TestTimesThatWereNeverSet(t *testing.T) {
	kernel := `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %d, "dur": 40}`
	for at, want := range map[int]int{5_000_000: 2, 900_000: 3, 50: 3} {
		tr := parsed(t, fmt.Sprintf(kernel, at), fmt.Sprintf(kernel, 0), fmt.Sprintf(kernel, at+200))
		if n := len(tr.Timeline.Device.Start); n != want || tr.Timeline.Dropped[whyText[absurdTime]] != 3-want {
			t.Errorf("behind %d us: %d pieces of work, want %d", at, n, want)
		}
	}
}

// Rows come as numbers, as numbers in quotes, as "stream 7" and as words.
func TestRows(t *testing.T) {
	tr := parsed(t,
		`{"ph": "X", "cat": "Operator", "name": "a", "pid": 5, "tid": "4093687616", "ts": 1, "dur": 1}`,
		`{"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 4093687616, "ts": 2, "dur": 1, "args": {"correlation": 3}}`,
		`{"ph": "X", "cat": "Kernel", "name": "k", "pid": 2, "tid": "stream 7", "ts": 4, "dur": 1, "args": {"correlation": 3}}`,
		`{"ph": "X", "cat": "cpu_op", "name": "a", "pid": "Main", "tid": "worker", "ts": 5, "dur": 1}`,
		`{"ph": "X", "cat": "cpu_op", "name": "a", "pid": "Main", "tid": "w\u006frker", "ts": 6, "dur": 1}`,
	)
	if n := len(tr.Timeline.Threads); n != 2 {
		t.Errorf("threads %+v", tr.Timeline.Threads)
	}
	if d := tr.Timeline.Device; d.Stream[0] != 7 || d.Call[0] != 1 || tr.Timeline.Devices[0] != (recording.Device{PID: 5, Index: 2, GPU: -1}) {
		t.Errorf("work %+v on %+v", d, tr.Timeline.Devices)
	}
}

// Waits on device rows, shadows of annotations and the profiler's own spans are
// no work.
func TestNoWork(t *testing.T) {
	tr := parsed(t,
		`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4, "dur": 1, "args": {"stream": 7}}`,
		`{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1000007, "ts": 4, "dur": 100}`,
		`{"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 4, "dur": 100}`,
		`{"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "ts": 4, "dur": 100}`,
		`{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 100000}`,
	)
	if len(tr.Timeline.Device.Start) != 1 || tr.Timeline.Host.Kind[0] != recording.Profiling || len(tr.Steps) != 1 || tr.Timeline.End != 100000 {
		t.Errorf("%+v", tr.Timeline)
	}
}

// Overlapping kernels on one stream are kept, the longer first where two start
// together.
func TestOverlap(t *testing.T) {
	tr := parsed(t,
		`{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 4, "dur": 1, "args": {"stream": 7}}`,
		`{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 4, "dur": 5, "args": {"stream": 7}}`,
		`{"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 3, "dur": 5, "args": {"stream": 7}}`,
	)
	got := ""
	for _, n := range tr.Timeline.Device.Name {
		got += tr.Timeline.Names[n]
	}
	if got != "cba" {
		t.Errorf("order %s", got)
	}
}

// One launch of a graph owns many kernels.
func TestGraphLaunch(t *testing.T) {
	tr := parsed(t,
		`{"ph": "X", "cat": "cuda_runtime", "name": "hipGraphLaunch", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 9}}`,
		`{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 4, "dur": 1, "args": {"correlation": 9}}`,
		`{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 6, "dur": 1, "args": {"correlation": 9}}`,
	)
	if c := tr.Timeline.Device.Call; c[0] != 0 || c[1] != 0 {
		t.Errorf("calls %v", c)
	}
}

// Correlation ids are unique within a process only, and zero is none.
func TestLinks(t *testing.T) {
	call := func(pid, ts, corr int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %d, "tid": %[1]d, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, pid, ts, corr)
	}
	work := func(device, ts, corr int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k", "pid": %d, "tid": 7, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, device, ts, corr)
	}
	tr := parsed(t,
		call(1, 10, 1), call(2, 11, 1), // both processes use id 1
		call(1, 20, 2), call(2, 21, 3), call(1, 12, 4), call(2, 13, 5),
		call(1, 90, 1), // and process 1 uses it again later
		call(1, 30, 0),
		work(0, 15, 1), work(1, 16, 1), work(0, 25, 2), work(1, 26, 3), work(0, 17, 4), work(1, 18, 5),
		work(0, 95, 1), work(0, 35, 0),
	)
	var got []string
	for i, c := range tr.Timeline.Device.Call {
		from := "none"
		if c >= 0 {
			from = fmt.Sprintf("%d@%d", tr.Timeline.Threads[tr.Timeline.Host.Thread[c]].PID, (tr.Timeline.Host.Start[c]+tr.Zero)/1000)
		}
		got = append(got, fmt.Sprintf("%d:%s", (tr.Timeline.Device.Start[i]+tr.Zero)/1000, from))
	}
	if want := "15:1@10 16:2@11 17:1@12 18:2@13 25:1@20 26:2@21 35:none 95:1@90"; strings.Join(got, " ") != want {
		t.Errorf("links %s\nwant  %s", strings.Join(got, " "), want)
	}
	if len(tr.Timeline.Devices) != 2 || len(tr.Facts.Processes) != 2 {
		t.Errorf("devices %+v, processes %+v", tr.Timeline.Devices, tr.Facts.Processes)
	}
}

// Flows link work that has no correlation id, in each of their categories.
func TestFlows(t *testing.T) {
	for _, cat := range []string{"ac2g", "async", "async_cpu_to_gpu", "async_gpu"} {
		tr := parsed(t,
			`{"ph": "X", "cat": "mtia_runtime", "name": "run", "pid": 1, "tid": 1, "ts": 1.5, "dur": 1}`,
			`{"ph": "s", "id": 4, "pid": 1, "tid": 1, "ts": 1.5, "cat": "`+cat+`", "name": "x"}`,
			`{"ph": "f", "id": 4, "pid": 9, "tid": 4, "ts": 7, "cat": "`+cat+`", "name": "x", "bp": "e"}`,
			`{"ph": "X", "cat": "mtia_ccp_events", "name": "add", "pid": 9, "tid": 4, "ts": 7, "dur": 1}`,
		)
		if tr.Timeline.Device.Call[0] != 0 {
			t.Errorf("%s: %v", cat, tr.Timeline.Device.Call)
		}
	}
}

// HIP's copies do not say how much they move; their calls do.
func TestSizeOfTheCall(t *testing.T) {
	tr := parsed(t,
		`{"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyWithStream", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "args": {"stream": "0x0", "correlation": 117, "size": "2560", "kind": "1"}}`,
		`{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 2, "tid": 0, "ts": 4, "dur": 2, "args": {"device": 2, "stream": 0, "correlation": 117, "kind": "HtoD"}}`,
	)
	if tr.Timeline.Device.Bytes[0] != 2560 || tr.Facts.Model.Device != "cuda:2" {
		t.Errorf("%d bytes on %s", tr.Timeline.Device.Bytes[0], tr.Facts.Model.Device)
	}
}

// Communication is known by its arguments and by the names of many libraries.
func TestCollectives(t *testing.T) {
	for name, want := range map[string]recording.WorkKind{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)": recording.Collective,
		"void deep_ep::internode::combine<true>(x)":  recording.Collective,
		"multimem_all_reduce_kernel<c10::BFloat16>":  recording.Collective,
		"moe_dispatch_kernel":                        recording.Collective,
		"nvshmemi_put":                               recording.Collective,
		"ampere_sgemm_128x64_nn":                     recording.Kernel,
		"reduce_kernel<512, 1>":                      recording.Kernel,
		"CatArrayBatchedCopy":                        recording.Kernel,
	} {
		tr := parsed(t, fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": 1, "dur": 1}`, name))
		if got := tr.Timeline.Device.Kind[0]; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	tr := parsed(t, `{"ph": "X", "cat": "kernel", "name": "own_kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"Collective name": "_allgather_base", "In msg nelems": 25136, "dtype": "BFloat16", "Process Group Name": "3"}}`)
	if d := tr.Timeline.Device; d.Kind[0] != recording.Collective || d.Bytes[0] != 50272 || tr.Timeline.Names[d.Group[0]] != "3" {
		t.Errorf("%+v", d)
	}
}

// The dialect of 2021 wrote call stacks with the operators: the user's innermost
// frame is kept.
func TestCallStack(t *testing.T) {
	tr := parsed(t, `{"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {"Call stack": "/home/u/lib/python3.7/site-packages/torch/nn/a.py(1): forward;models/net.py(12): forward;train.py(41): <module>"}}`)
	f := tr.Timeline.Frames
	if len(f.Name) != 1 || tr.Timeline.Names[f.Name[0]] != "models/net.py(12): forward" || f.End[0] != 5000 {
		t.Errorf("frames %+v of %q", f, tr.Timeline.Names)
	}
}

func TestGarbageCollector(t *testing.T) {
	tr := parsed(t, `{"ph": "X", "cat": "python_function", "name": "Python GC", "pid": 1, "tid": 1, "ts": 1, "dur": 5}`)
	if len(tr.Timeline.Host.Kind) != 1 || tr.Timeline.Host.Kind[0] != recording.Collector {
		t.Errorf("%+v", tr.Timeline)
	}
}

// Dirty texts of real files.
func TestDirt(t *testing.T) {
	tr := parsed(t,
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\x01\tb\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1, \"args\": {\"Concrete Inputs\": [\"\x0b\", N/A, NaN, -Infinity]}}",
		`{"ph": "X", "cat": "cuda_runtime", "name": "INVALID", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"a": N/A, "correlation": 4}}`,
		`{"ph": "X", "cat": "cpu_op", "name": "first", "name": "q\"uo\\te", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": {"x": "}\\\"{"}}`,
		`{}`, `{"ph": "X"}`, `{"ph": 7, "cat": [], "name": {}, "ts": "5", "dur": "6"}`,
	)
	got := fmt.Sprintf("%q", tr.Timeline.Names)
	if want := `["a\x01\tb" "INVALID" "q\"uo\\te"]`; got != want {
		t.Errorf("names %s, want %s", got, want)
	}
}

// A range that is open when the recorder stops ends there, or with the last work.
func TestRangesThatAreOpenWhenTheRecorderStops(t *testing.T) {
	tr := parsed(t, `{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 100, "dur": 7000000}`,
		`{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 120, "dur": 30}`,
		`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 130, "dur": 40}`,
		`{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 160}`)
	if tr.Timeline.End != 70_000 { // the kernel ran on behind it
		t.Errorf("the recording ends at %d ns", tr.Timeline.End)
	}
}

// Steps are found by the best sign that the file holds.
func TestSteps(t *testing.T) {
	mark := func(cat, name string, at, dur int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %q, "pid": 1, "tid": 1, "ts": %d, "dur": %d}`, cat, name, at, dur)
	}
	var profiler, loader, optimizer, kernels, none []string
	for i := range 5 {
		at := 1000 * (i + 1)
		profiler = append(profiler, mark("Operator", fmt.Sprintf("ProfilerStep#%d", i+8), at, 990), mark("user_annotation", "enumerate(DataLoader)#x", at+7, 100), mark("user_annotation", "enumerate(DataPipe)#x", at+57, 100))
		loader = append(loader, mark("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, 100))
		optimizer = append(optimizer, mark("user_annotation", "Optimizer.step#SGD.step", at, 100))
		for k := range 6 {
			kernels = append(kernels, fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k%d", "pid": 0, "tid": 7, "ts": %d, "dur": 9}`, k%5, at+10*k))
		}
		kernels = append(kernels, fmt.Sprintf(`{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7, "ts": %d, "dur": 2}`, at+70))
	}
	none = append(none, mark("cpu_op", "a", 5, 5))
	profiler = append(profiler, mark("gpu_user_annotation", "ProfilerStep#8", 1000, 990), mark("user_annotation", "ProfilerStep#13", 6000, 3))
	for name, c := range map[string]struct {
		events []string
		steps  int
		first  int
		period float64
		wait   float64
		said   string
	}{
		"profiler":  {profiler, 5, 8, 1000e-6, 150e-6, ""},
		"loader":    {loader, 4, 0, 1000e-6, 100e-6, "from one ask for a batch"},
		"optimizer": {optimizer, 4, 0, 1000e-6, math.NaN(), "optimizer call"},
		"kernels":   {kernels, 4, 0, 1000e-6, math.NaN(), "the kernels repeat 4 times"},
		"none":      {none, 1, 0, 5e-6, math.NaN(), "taken as one step"},
	} {
		tr := parsed(t, c.events...)
		if len(tr.Steps) != c.steps {
			t.Errorf("%s: steps %+v", name, tr.Steps)
			continue
		}
		s := tr.Steps[0]
		if s.N != c.first || math.Abs(s.Period-c.period) > 1e-12 || !(math.Abs(s.Wait-c.wait) < 1e-12 || math.IsNaN(s.Wait) && math.IsNaN(c.wait)) {
			t.Errorf("%s: step %+v", name, s)
		}
		if said := strings.Join(tr.Warnings, "\n"); c.said != "" && !strings.Contains(said, c.said) || c.said == "" && strings.Contains(said, "ProfilerStep") {
			t.Errorf("%s: warnings %q", name, tr.Warnings)
		}
	}
}

func TestOwnRules(t *testing.T) {
	for name, own := range map[string]bool{
		"train.py(41): forward": true, "models/net.py(3): f": true, "/home/u/proj/data.py(9): g": true,
		"torch/nn/modules/conv.py(1): forward": false, "threading.py(1032): _bootstrap": false,
		"/usr/lib/python3.10/json/decoder.py(3): decode": false, "<built-in method empty>": false,
		"nn.Module: Conv2d_1": false, "/x/site-packages/foo/a.py(2): b": false, `C:\proj\train.py(3): f`: true,
	} {
		if recording.OwnFrame(name) != own {
			t.Errorf("%s: %v", name, !own)
		}
	}
}

// Whatever the size of a chunk and the number of scanners, the same is read; the
// guess at a chunk's end may be as wrong as it likes.
func TestChunks(t *testing.T) {
	trick := `{"ph": "X", "cat": "cpu_op", "name": "f{lambda()#1}, {\"lambda\"}, {", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "args": {"a": [{"b": 1}, {"c": 2}, {"d": "}, {\"e\": 3"}]}}`
	events := append([]string{trick, trick}, one...)
	file := []byte(`{"a": {"b": [1, {"c": "]}"}]}, "traceEvents": [` + strings.Join(events, ",\n  ") + `], "baseTimeNanoseconds": 5}`)
	want := readTrace(t, file, Options{General: true})
	for chunk := 16; chunk < 700; chunk += 3 {
		same(t, fmt.Sprintf("chunks of %d", chunk), readTrace(t, file, Options{chunk: chunk, Workers: 1 + chunk%3}), want)
	}
}

// The fast scanner reads what PyTorch writes; only oddities go to the general
// one.
func TestFastPathIsTaken(t *testing.T) {
	windows := `{"ph": "X", "cat": "python_function", "name": "C:\\proj\\train.py(3): f", "pid": 1, "tid": 1, "ts": 90, "dur": 30}`
	for _, e := range append(one[:13:13], windows) {
		s := newScanner()
		if _, ok := s.scanEvent([]byte(e+"\x00"), 0); !ok {
			t.Errorf("slow: %s", e)
		}
	}
	for _, file := range realTraces(t) {
		if strings.Contains(file, "mtia") || strings.Contains(file, "resnet50") {
			continue
		}
		data := unzipped(t, file)
		s, all, slow := newScanner(), 0, 0
		data = append(data[bytes.Index(data, []byte(`"traceEvents"`)):], 0)
		for i := bytes.IndexByte(data, '[') + 1; i < len(data) && data[i] != ']'; i++ {
			if data[i] != '{' {
				continue
			}
			end, ok := s.scanEvent(data, i)
			if all++; !ok {
				slow++
				end, _ = nestEnd(data, i)
			}
			i = end - 1
		}
		if 50*slow > all {
			t.Errorf("%s: %d of %d events are slow", file, slow, all)
		}
	}
}

func TestStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, strings.NewReader("["+one[0]+"]"), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var syntax *SyntaxError
	if _, err := Read(context.Background(), strings.NewReader(strings.Repeat("x", 10<<20)), Options{Workers: 3}); !errors.As(err, &syntax) || syntax.Offset != 0 {
		t.Error(err)
	}
}

// Arguments of a frame are stepped over, whatever stands in them.
func TestUnread(t *testing.T) {
	for text, want := range map[string]int{
		`{"a": 1}`:             8,
		`{}x`:                  2,
		`{"a}": 1}`:            0,
		`{"a": {"b": 1}}`:      0,
		`{"a": "\"}"}`:         0,
		`{"a": "}", "b": "}`:   0,
		`{"a": [1, 2], "b": 3`: 0,
	} {
		if got := unread([]byte(text), 0); got != want {
			t.Errorf("%s: ends at %d, want %d", text, got, want)
		}
	}
}

// A file of more devices than any machine has is read, and the first of them are kept.
func TestDevicesWithoutEnd(t *testing.T) {
	var events []string
	for i := range 3 * columns.MostDevices {
		events = append(events, fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k", "pid": %d, "tid": 7, "ts": %[1]d, "dur": 1, "args": {"device": %[1]d, "stream": 7}}`, i))
	}
	tl := parsed(t, events...).Timeline
	if len(tl.Devices) != columns.MostDevices || len(tl.Device.Start) != columns.MostDevices {
		t.Errorf("%d devices with %d kernels are kept", len(tl.Devices), len(tl.Device.Start))
	}
	if left := tl.Dropped[columns.TooManyDevices]; left != 2*columns.MostDevices {
		t.Errorf("%d kernels are left out", left)
	}
}

// Where an id stands for more calls than a file has processes and rounds the last ones are
// looked at.
func TestCallsOfOneID(t *testing.T) {
	var events []string
	for i := range 2 * mostAlike {
		events = append(events, fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": {"correlation": 5}}`, 10*i),
			fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %d, "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 5}}`, 10*i+5))
	}
	tl := parsed(t, events...).Timeline
	for work := range tl.Device.Start {
		want := int32(work)
		if work < mostAlike {
			want = 2*mostAlike - 1 // nothing that started before it is looked at
		}
		if got := tl.Device.Call[work]; got != want {
			t.Fatalf("kernel %d is linked to call %d, expected %d", work, got, want)
		}
	}
}
