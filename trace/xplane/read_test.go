package xplane

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// calls are the names of host events of a kind, in order.
func calls(t *recording.Timeline, kind recording.CallKind) (names []string) {
	for i, k := range t.Host.Kind {
		if k == kind {
			names = append(names, t.Names[t.Host.Name[i]])
		}
	}
	return names
}

func TestReadsGPUProfile(t *testing.T) {
	trace := mustRead(t, gpuProfile())
	tl := trace.Timeline
	if len(trace.Warnings) > 0 {
		t.Error("warnings of a sound file:", trace.Warnings)
	}
	marks := calls(tl, recording.Annotation)
	want := []string{"ProfilerStep#7", "IteratorGetNextOp::DoCompute", "ProfilerStep#8", "IteratorGetNextOp::DoCompute", "ProfilerStep#9", "IteratorGetNextOp::DoCompute"}
	if !slices.Equal(marks, want) {
		t.Errorf("annotations %q, want %q", marks, want)
	}
	if got := calls(tl, recording.Runtime)[:3]; !slices.Equal(got, []string{"cuMemcpyHtoDAsync", "cuLaunchKernel", "cuLaunchKernel"}) {
		t.Errorf("runtime calls %q", got)
	}
	d := tl.Device
	if len(d.Start) != 9 {
		t.Fatalf("%d pieces of work, want 9", len(d.Start))
	}
	if name := tl.Names[d.Name[0]]; name != "Memcpy HtoD (Pageable -> Device)" || d.Kind[0] != recording.Copy || d.Bytes[0] != 4096 {
		t.Errorf("copy %q of kind %v and %d bytes", name, d.Kind[0], d.Bytes[0])
	}
	if d.Blocks[1] != 160 || d.Threads[1] != 1024 || d.PerSM[1] != 2 || d.Occupancy[1] != 0.5 {
		t.Errorf("kernel with %d blocks, %d threads, %v per SM, occupancy %v", d.Blocks[1], d.Threads[1], d.PerSM[1], d.Occupancy[1])
	}
	if d.Kind[2] != recording.Collective || d.Stream[2] != 4 || d.Stream[0] != 3 {
		t.Errorf("kind %v, streams %d and %d", d.Kind[2], d.Stream[2], d.Stream[0])
	}
	for i, call := range d.Call {
		if call < 0 || tl.Host.Kind[call] != recording.Runtime || tl.Host.Start[call] >= d.Start[i] {
			t.Errorf("work %d is linked to call %d", i, call)
		}
	}
	if d.Start[0] != 335_000 || d.End[0] != 345_000 {
		t.Errorf("the first copy lasts from %d to %d ns, want 335000 to 345000", d.Start[0], d.End[0])
	}
}

func TestFactsAndSteps(t *testing.T) {
	trace := mustRead(t, gpuProfile())
	f := trace.Facts
	if len(f.GPUs) != 1 || f.GPUs[0].Name != "Tesla V100" || f.GPUs[0].SMs != 80 || f.GPUs[0].Capability != "7.0" || *f.GPUs[0].MemoryBytes != 16e9 {
		t.Errorf("GPUs %+v", f.GPUs)
	}
	if f.Started != 1.7e9+5e-6 || trace.Zero != 1.7e18+5000 {
		t.Errorf("started %v, zero %d", f.Started, trace.Zero)
	}
	if len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "host-a") {
		t.Errorf("notes %q", f.Notes)
	}
	if len(f.Processes) != 1 || f.Processes[0].LaunchThread != 12 || f.Processes[0].Device != 0 {
		t.Errorf("processes %+v", f.Processes)
	}
	if len(trace.Steps) != 3 || trace.Steps[0].N != 7 || math.Abs(trace.Steps[0].Wait-300e-6) > 1e-12 || trace.Steps[0].Period != 1000e-6 {
		t.Errorf("steps %+v", trace.Steps)
	}
	frames := trace.Timeline.Frames
	if len(frames.Start) != 1 || trace.Timeline.Names[frames.Name[0]] != "train.py(41): forward" {
		t.Errorf("%d frames", len(frames.Start))
	}
	for why, want := range map[string]int{shortFrame: 1, instants: 3, derived: 1} {
		if got := trace.Timeline.Dropped[why]; got != want {
			t.Errorf("%d events dropped %q, want %d", got, why, want)
		}
	}
}

// TestDeviceSteps reads steps that only devices tell, each of its own.
func TestDeviceSteps(t *testing.T) {
	host := newNamer()
	var launches [][]byte
	var planes [][]byte
	for d := range 2 {
		gpu := newNamer()
		var work, steps [][]byte
		for i := range 4 {
			at, id := float64(1000*i+100*d), 100*d+i+1
			launches = append(launches, host.ev("cuLaunchKernel", at, 5, "correlation_id", id))
			work = append(work, gpu.ev("k", at+20, 500, "correlation_id", id))
			steps = append(steps, gpu.ev(string(rune('4'+i)), at+20, 500))
		}
		planes = append(planes, gpu.plane([]string{"/device:GPU:4", "/device:GPU:6"}[d], row(1, "Stream #1(Compute)", 0, work...), row(2, "Steps", 0, steps...)))
	}
	trace := mustRead(t, append(bytes.Join(planes, nil), host.plane("/host:CPU", row(1, "main", 0, launches...))...))
	if len(trace.Steps) != 8 {
		t.Fatalf("%d steps, want 4 on each of 2 devices", len(trace.Steps))
	}
	for i, s := range trace.Steps {
		want := []int{4, 6}[i%2]
		if s.Device != want || s.N != 4+i/2 || i < 6 && math.Abs(s.Period-1e-3) > 1e-9 {
			t.Errorf("step %d: number %d on device %d for %v s", i, s.N, s.Device, s.Period)
		}
	}
	all := idle.Analyse(runOf(trace))
	for i := range all.Devices {
		if d := &all.Devices[i]; d.Seen != 4 || math.Abs(d.Share(d.Kernel)-0.6) > 0.02 {
			t.Errorf("device %d: %d steps, kernels %.2f of the window, want its own 4 and 1500 of 2520 us", i, d.Seen, d.Share(d.Kernel))
		}
	}
}

// TestJAXSteps takes calls of a compiled function for steps where nothing is marked.
func TestJAXSteps(t *testing.T) {
	host := newNamer()
	var events [][]byte
	for i := range 5 {
		at := float64(2000 * i)
		events = append(events, host.ev("PjitFunction(step)", at, 300), host.ev("PjitFunction(step)", at+1, 298),
			host.ev("$api.py:3154 block_until_ready", at+400, 1500))
	}
	trace := mustRead(t, host.plane("/host:CPU", row(1, "python", 0, events...)))
	if len(trace.Steps) != 4 || math.Abs(trace.Steps[1].Period-2e-3) > 1e-12 {
		t.Errorf("steps %+v, want four of 2 ms", trace.Steps)
	}
	if !slices.Contains(trace.Timeline.Names, "jax/_src/api.py(3154): block_until_ready") {
		t.Errorf("names %q", trace.Timeline.Names)
	}
	if trace.Facts.Software.Framework != "JAX" {
		t.Errorf("framework %q", trace.Facts.Software.Framework)
	}
	if text := strings.Join(trace.Warnings, "\n"); !strings.Contains(text, "no work of a device") || !strings.Contains(text, "PjitFunction(step)") {
		t.Errorf("warnings %q", text)
	}
}

// TestJAXEagerSteps: without jax.jit each primitive is a compiled function. The calls of the
// program's own function are the steps.
func TestJAXEagerSteps(t *testing.T) {
	host, gpu := newNamer(), newNamer()
	var events, kernels [][]byte
	id := 0
	for i := range 3 {
		at := float64(5000 * i)
		events = append(events, host.ev("$model.py:41 transformer_block", at, 3000))
		for _, name := range []string{"add", "dot_general", "add", "exp", "dot_general", "add"} {
			id++
			at += 400
			events = append(events, host.ev("PjitFunction("+name+")", at, 200), host.ev("cuLaunchKernel", at+100, 5, "correlation_id", id))
			kernels = append(kernels, gpu.ev("loop_"+name, at+120, 50, "correlation_id", id))
		}
	}
	trace := mustRead(t, bytes.Join([][]byte{
		host.plane("/host:CPU", row(1, "python", 0, events...)), gpu.plane("/device:GPU:0", row(4, "Stream #4(Compute)", 0, kernels...)),
	}, nil))
	if len(trace.Steps) != 3 || math.Abs(trace.Steps[1].Period-5e-3) > 1e-9 || trace.Facts.StepsFrom != "calls of a function of the program" {
		t.Errorf("steps %+v from %q, want the three calls of transformer_block", trace.Steps, trace.Facts.StepsFrom)
	}
}

// TestRecorderStopEndsTheWindow: what jax.profiler.stop_trace takes is no time of the program.
func TestRecorderStopEndsTheWindow(t *testing.T) {
	host, gpu := newNamer(), newNamer()
	var events, kernels [][]byte
	for i := range 20 {
		at := float64(500 * i)
		events = append(events, host.ev("cuLaunchKernel", at, 5, "correlation_id", i+1))
		kernels = append(kernels, gpu.ev("dot", at+20, 400, "correlation_id", i+1))
	}
	events = append(events, host.ev("$profiler.py:213 stop_trace", 10_000, 30_000), host.ev("$profiler.py:213 close", 39_990, 5))
	trace := mustRead(t, bytes.Join([][]byte{
		host.plane("/host:CPU", row(1, "python", 0, events...)), gpu.plane("/device:GPU:0", row(4, "Stream #4(Compute)", 0, kernels...)),
	}, nil))
	if d := idle.Analyse(runOf(trace)).Devices[0]; d.To > 10_000_000 {
		t.Errorf("the window ends at %d ns, want the call of stop_trace at most", d.To)
	}
}

func TestReadsTPU(t *testing.T) {
	tpu := newNamer()
	plane := tpu.plane("/device:TPU:0",
		row(1, "XLA Ops", 0, tpu.ev("fusion.1", 0, 100), tpu.ev("while.2", 100, 300), tpu.ev("fusion.3", 110, 50), tpu.ev("infeed.4", 400, 100), tpu.ev("all-reduce.5", 500, 50)),
		row(2, "Async XLA Ops", 0, tpu.ev("copy-start.1", 10, 20)),
		row(3, "XLA Modules", 0, tpu.ev("jit_step", 0, 550)), row(4, "Steps", 0, tpu.ev("12", 0, 600)),
		tpu.planeStats("device_type_string", "TPU v5 lite"))
	trace := mustRead(t, plane)
	tl := trace.Timeline
	var got []string
	for i, name := range tl.Device.Name {
		got = append(got, tl.Names[name]+" "+tl.Device.Kind[i].String())
	}
	want := []string{"fusion.1 kernel", "copy-start.1 copy", "fusion.3 kernel", "all-reduce.5 collective"}
	if !slices.Equal(got, want) {
		t.Errorf("work %q, want %q", got, want)
	}
	if len(trace.Steps) != 1 || trace.Steps[0].N != 12 || trace.Facts.GPUs[0].Name != "TPU v5 lite" {
		t.Errorf("steps %+v, GPUs %+v", trace.Steps, trace.Facts.GPUs)
	}
}

// TestThreadsMerge puts calls of the driver with the thread whose operators hold
// them, and only there.
func TestThreadsMerge(t *testing.T) {
	host, gpu := newNamer(), newNamer()
	var rows [][]byte
	var work [][]byte
	for thread := range 3 {
		var spans, api [][]byte
		for i := range 10 {
			at, id := float64(100*i+31*thread), 100*thread+i+1
			spans = append(spans, host.ev("fusion", at, 30))
			api = append(api, host.ev("hipModuleLaunchKernel", at+5, 10, "correlation_id", id))
			work = append(work, gpu.ev("k", at+20, 10, "correlation_id", id))
		}
		rows = append(rows, row(uint64(10+thread), "Host Threads/x", 0, api...), row(uint64(1000+thread), "py_xla_execute", 0, spans...))
	}
	trace := mustRead(t, append(host.plane("/host:CPU", rows...), gpu.plane("/device:GPU:0", row(1, "Stream #1(Kernel)", 0, work...))...))
	for i, call := range trace.Timeline.Device.Call {
		if id := trace.Timeline.Threads[trace.Timeline.Host.Thread[call]].ID; id < 1000 {
			t.Errorf("work %d is launched by thread %d", i, id)
		}
	}
}

// TestWindow reads the middle of the device's work where a file is too large.
func TestWindow(t *testing.T) {
	gpu := newNamer()
	var work [][]byte
	for i := range 20_000 {
		work = append(work, gpu.ev("k", float64(i)*100, 50))
	}
	b := gpu.plane("/device:GPU:0", row(1, "Stream #1(Compute)", 0, work...))
	trace, err := read(b, Options{Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := len(trace.Timeline.Device.Start)
	at := (float64(trace.Zero) + float64(trace.Timeline.End)/2) / 2e9
	if n > 1000 || n < 900 || math.Abs(at-0.5) > 0.01 || !strings.Contains(strings.Join(trace.Warnings, " "), "20000 events") {
		t.Errorf("%d events around %v of the file, warnings %q", n, at, trace.Warnings)
	}
	if trace.Timeline.Dropped[outside]+n != 20_000 {
		t.Errorf("%d dropped and %d kept of 20000", trace.Timeline.Dropped[outside], n)
	}
}

func TestDetails(t *testing.T) {
	d := detailsOf("kind_src:device kind_dst:pinned size:512 dest:0 async:0")
	if got := copyName("MemcpyD2H", d); got != "Memcpy DtoH (Device -> Pinned)" || d.bytes != 512 {
		t.Errorf("%q, %d bytes", got, d.bytes)
	}
	if d := detailsOf("grid:2147483647,2147483647,1 block:-1,x,1 occ_pct:900 size:-4"); d.blocks != 0 || d.threads != 0 || d.occupancy == d.occupancy || d.bytes != -1 {
		t.Errorf("absurd details gave %+v", d)
	}
}

// tfStep is a loop of TensorFlow: Python waits in a function, an executor's thread
// launches, and a thread of tf.data waits for the batch in between.
func tfStep(steps int) []byte {
	host, gpu := newNamer(), newNamer()
	var python, executor, loader, work [][]byte
	for i := range steps {
		at, id := float64(1000*i), i+1
		python = append(python, host.ev("train", at, 990, "step_num", i), host.ev("FunctionRun", at+5, 980))
		loader = append(loader, host.ev("IteratorGetNextOp::DoCompute", at+10, 600))
		executor = append(executor, host.ev("ExecutorState::Process", at+610, 100), host.ev("cuLaunchKernel", at+620, 5, "correlation_id", id))
		work = append(work, gpu.ev("k", at+640, 340, "correlation_id", id))
	}
	return append(host.plane("/host:CPU", row(1, "python3", 0, python...), row(2, "tf_gpu_private_0", 0, executor...), row(3, "tf_data_iterator_get_next", 0, loader...)),
		gpu.plane("/device:GPU:0", row(1, "Stream #1(Compute)", 0, work...))...)
}

// TestWaitOnAThreadOfItsOwn charges the gap to tf.data, not to the function that
// Python waits in.
func TestWaitOnAThreadOfItsOwn(t *testing.T) {
	run := runOf(mustRead(t, tfStep(8)))
	all := idle.Analyse(run)
	d := &all.Devices[0]
	if share := d.Share(d.Causes[idle.DataLoader]); math.Abs(share-0.6) > 0.02 {
		t.Errorf("data-loader %.3f of the window, want 0.6; all causes %v of %d", share, d.Causes, d.WindowLength())
	}
	v := judge.Judge(run)
	if v.Stall < 0.55 {
		t.Errorf("stall %v, class %s", v.Stall, v.Class)
	}
}

// TestModuleSteps takes the runs of the program with most time for steps where nothing
// marks any: back to back, and what runs before them is none of theirs.
func TestModuleSteps(t *testing.T) {
	tpu := newNamer()
	runs, work := [][]byte{tpu.ev("jit_init(7)", 0, 900)}, [][]byte{tpu.ev("fusion.9", 0, 900)}
	for i := range 6 {
		at := float64(5000 + 1000*i)
		runs = append(runs, tpu.ev("jit_train_step(42)", at, 995))
		work = append(work, tpu.ev("fusion.1", at, 600), tpu.ev("fusion.2", at+600, 390))
	}
	trace := mustRead(t, tpu.plane("/device:TPU:0", row(1, "XLA Ops", 0, work...), row(3, "XLA Modules", 0, runs...)))
	if len(trace.Steps) != 6 || math.Abs(trace.Steps[1].Period-1e-3) > 1e-9 || math.Abs(trace.Steps[0].Start-5e-3) > 1e-9 {
		t.Errorf("steps %+v", trace.Steps)
	}
	if trace.Facts.StepsFrom != `runs of the XLA module "jit_train_step"` {
		t.Errorf("steps from %q", trace.Facts.StepsFrom)
	}
	run := runOf(trace)
	all := idle.Analyse(run)
	if d := all.Devices[0]; len(d.Steps) != 5 || d.Share(d.Idle) > 0.05 {
		t.Errorf("%d steps judged, idle %.2f", len(d.Steps), d.Share(d.Idle))
	}
}
