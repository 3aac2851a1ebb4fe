package traced_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/trace"
)

// screen is what is said of a file of events.
type screen struct {
	verdict diagnose.Verdict
	plan    advise.Plan
	lead    report.Lead
	all     string // its sentences
}

func screenOf(t *testing.T, events []string) screen {
	t.Helper()
	return screenOfText(t, "["+strings.Join(events, ",\n")+"]")
}

func screenOfText(t *testing.T, text string) screen {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := screen{verdict: judge.Judge(run)}
	s.plan = advise.Rank(run, s.verdict)
	s.lead = report.LeadOf(run, s.verdict, s.plan, file)
	said := []string{s.lead.Verdict, s.lead.Why, s.lead.Next, report.SayWhatElse(s.verdict)}
	for _, f := range s.verdict.Findings {
		set, why := report.AdviceOn(f, s.plan)
		said = append(said, f.Name, f.Text, set, why)
	}
	for _, f := range s.plan.Fixes {
		said = append(said, f.Name, f.Title)
	}
	said = append(said, s.lead.Caution...)
	s.all = strings.Join(append(said, s.verdict.Warnings...), "\n")
	return s
}

// span is an event of Kineto's, microseconds.
func span(cat, name string, tid int, from, dur float64, args string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %q, "pid": 1, "tid": %d, "ts": %.2f, "dur": %.2f, "args": {%s}}`,
		cat, name, tid, from, dur, args)
}

// launched is an operator that launches a kernel, or whatever the work is.
func launched(id int, op string, opFrom, opDur float64, work string, from, dur float64) []string {
	return []string{
		span("cpu_op", op, 7, opFrom, opDur, fmt.Sprintf(`"External id": %d`, id)),
		span("cuda_runtime", "cudaLaunchKernel", 7, opFrom+opDur-5, 4, fmt.Sprintf(`"correlation": %d, "External id": %[1]d`, id)),
		span("kernel", work, 70, from, dur, fmt.Sprintf(`"correlation": %d, "External id": %[1]d, "device": 0, "stream": 7`, id)),
	}
}

// A file of the device's work and its launches alone tells nothing of operators or Python.
func TestLaunchesWithoutOperators(t *testing.T) {
	var events []string
	for i := range 200 {
		events = append(events, launched(i+1, "", 100*float64(i), 20, "some_kernel", 100*float64(i)+40, 30)[1:]...)
	}
	s := screenOf(t, events)
	if !strings.Contains(s.all, "the host takes longer to launch one") || strings.Contains(s.all, "operator with its") ||
		!strings.Contains(s.all, "the file holds no operator") || strings.Contains(s.all, "with_stack") {
		t.Error(s.all)
	}
}

// Where a graph launches the kernels, no operator launches each of them.
func TestLaunchesOfGraphs(t *testing.T) {
	var events []string
	for i := range 10 {
		at := 1500 * float64(i)
		events = append(events, span("cpu_op", "aten::copy_", 7, at, 400, ""),
			span("cuda_runtime", "cudaGraphLaunch", 7, at+400, 90, fmt.Sprintf(`"correlation": %d`, i+1)))
		for k := range 20 {
			events = append(events, span("kernel", fmt.Sprint("kernel ", k), 70, at+500+50*float64(k), 49,
				fmt.Sprintf(`"correlation": %d, "device": 0, "stream": 7`, i+1)))
		}
	}
	s := screenOf(t, events)
	if strings.Contains(s.all, "operator with its launch") || strings.Contains(s.all, "fewer launches") ||
		!strings.Contains(s.all, "most of them in graphs") {
		t.Error(s.all)
	}
}

// A trial of one copy tells no limit, but what it copies from.
func TestTrialOfACopy(t *testing.T) {
	events := []string{
		span("cpu_op", "aten::copy_", 7, 0, 1000, `"External id": 1`),
		span("cuda_runtime", "cudaMemcpyAsync", 7, 10, 980, `"correlation": 1, "External id": 1`),
		span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 70, 20, 960,
			`"correlation": 1, "External id": 1, "device": 0, "stream": 7, "bytes": 20971520`),
	}
	events = append(events, launched(2, "aten::mul", 1000, 20, "some_kernel", 1030, 10)...)
	s := screenOf(t, events)
	said := ""
	for _, e := range s.verdict.Evidence {
		said += e.Text + "\n"
	}
	if !strings.Contains(said, "1 large copy to the device comes from pageable memory") {
		t.Error(said)
	}
}

// An Ascend program without a sign of PyTorch gets no advice in PyTorch's words.
func TestMsprofHearsNothingOfPyTorch(t *testing.T) {
	events := []string{`{"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "Ascend Hardware"}}`}
	task := func(stream int, kind, name string, from, dur float64) {
		events = append(events, fmt.Sprintf(`{"ph": "X", "name": %q, "pid": 3, "tid": %d, "ts": %.2f, "dur": %.2f, "args": {"Task Type": %q}}`, name, stream, from, dur, kind))
	}
	for i := range 30 {
		task(2, "AI_CORE", fmt.Sprintf("Gradients/Default/network/Conv2D-op%d", i), 1000+100*float64(i), 98)
	}
	for _, stream := range []int{12, 13} {
		task(stream, "NOTIFY_WAIT", "NOTIFY_WAIT", 4000, 2000)
		task(stream, "MEMCPY_ASYNC", "MEMCPY_ASYNC", 6001, 900)
		task(stream, "NOTIFY_WAIT", "NOTIFY_WAIT", 6902, 2098)
	}
	task(2, "AI_CORE", "Default/optimizer-Momentum/ApplyMomentum-op99", 9002, 300)
	s := screenOf(t, events)
	if s.verdict.Class != diagnose.NetworkBound || s.verdict.Idle > 0.05 {
		t.Errorf("%s, idle %.3f: the device waits within a collective", s.verdict.Class, s.verdict.Idle)
	}
	foreigners := []string{
		"DistributedDataParallel", "bucket_cap_mb", "Profiler", "torch", "jax", "CUDA", "nsys", "num_workers", "XProf",
		"several tensors in a call", "1, ", // one collective
	}
	for _, foreign := range foreigners {
		if strings.Contains(s.all, foreign) {
			t.Errorf("%q in\n%s", foreign, s.all)
		}
	}
}

// Where the host takes as long to launch as the device to compute, no sentence promises anything of a faster device.
func TestADeviceWhoseHostKeepsPace(t *testing.T) {
	pass := func(launching float64) (events []string) {
		end := 0.0
		for i := range 120 {
			from := launching * float64(i)
			start := max(end+1, from+launching)
			if i%10 == 9 { // longer kernels now and then, which the host catches up with
				start = max(end+1, from+launching+8)
			}
			end = start + 85
			events = append(events, launched(i+1, "aten::mul", from, launching-1, "void at::native::vectorized_elementwise_kernel<4>", start, 85)...)
		}
		return events
	}
	for name, c := range map[string]struct {
		launching float64
		paced     bool
	}{"as long": {100, true}, "far ahead": {20, false}} {
		s := screenOf(t, pass(c.launching))
		if !s.verdict.Class.Is(diagnose.GPUBound) {
			t.Fatalf("%s: %s", name, s.lead.Verdict)
		}
		if s.verdict.Paced != c.paced || strings.Contains(report.SayWhatElse(s.verdict), "a faster one: it is the limit") && c.paced {
			t.Errorf("%s: paced %t: %s", name, s.verdict.Paced, report.SayWhatElse(s.verdict))
		}
	}
}

// Kernels of cuDNN that turn layouts are named with what makes them needless, and nothing else is said to be possible.
func TestLayoutsThatAreTurned(t *testing.T) {
	pass := func(turns string) (events []string) {
		for i := range 60 {
			at := 100 * float64(i)
			events = append(events, launched(2*i+1, "aten::cudnn_convolution", 10*float64(i), 9, "void cudnn::ops::"+turns+"Kernel<float, float, float>", at+1, 20)...)
			events = append(events, launched(2*i+2, "aten::cudnn_convolution", 10*float64(i)+9.5, 9, "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckcrs_nhwc_tilesize128x64x32", at+21, 79)...)
		}
		return events
	}
	for turns, want := range map[string]bool{"nchwToNhwc": true, "nhwcToNchw": true, "bn_fw": false} {
		s := screenOf(t, pass(turns))
		if got := strings.Contains(s.lead.Next, "memory_format=torch.channels_last"); got != want {
			t.Errorf("%s: %q", turns, s.lead.Next)
		}
	}
}

// Operators of an Apple GPU show that the model computes on it, and no activity of CUDA's would record it.
func TestAnAppleGPU(t *testing.T) {
	pass := func(conv string) (events []string) {
		for i := range 40 {
			events = append(events, span("cpu_op", conv, 7, 100*float64(i), 60, ""), span("cpu_op", "aten::add", 7, 100*float64(i)+60, 30, ""))
		}
		return events
	}
	s := screenOf(t, pass("aten::_mps_convolution"))
	for _, wrong := range []string{"ProfilerActivity", "CPU", "cuda", "CUDA"} {
		if said := s.lead.Verdict + s.lead.Why + s.lead.Next; strings.Contains(said, wrong) {
			t.Errorf("%q in %s", wrong, said)
		}
	}
	if !strings.Contains(s.lead.Next, "torch.mps.profiler") || strings.Contains(s.all, "ProfilerActivity") {
		t.Errorf("%s\n%s", s.lead.Next, s.all)
	}
	if s := screenOf(t, pass("aten::conv2d")); strings.Contains(s.all, "mps.profiler") {
		t.Error(s.all)
	}
}

// A host's work that comes in each step is before no first kernel.
func TestWorkOfEachStepIsNoFirstCall(t *testing.T) {
	var events []string
	for n := range 8 {
		at := 10_000 * float64(n)
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", n+3), 7, at, 9_990, ""),
			span("cpu_op", "aten::tokenize", 7, at+10, 6_000, ""))
		for k := range 20 {
			events = append(events, launched(100*n+k+1, "aten::mm", at+6_100+10*float64(k), 9, "sm80_xmma_gemm_f32", at+6_200+150*float64(k), 149)...)
		}
	}
	s := screenOf(t, events)
	if !s.verdict.Has(diagnose.FindingHostWork) || strings.Contains(s.all, "before the first kernel") || strings.Contains(s.all, "first call") {
		t.Errorf("%s\n%s", s.lead.Verdict, s.all)
	}
}

// timelineOf begins a timeline of TensorFlow 1, with operators of a CPU and work of a GPU.
func timelineOf(nodes ...string) []string {
	return append([]string{
		`{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/job:worker/task:0/device:CPU:0 Compute"}}`,
		`{"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "/device:GPU:0/stream:15 Compute"}}`,
	}, nodes...)
}

func node(pid int, op string, n int, from, dur float64) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "Op", "name": %q, "pid": %d, "tid": 0, "ts": %.2f, "dur": %.2f, "args": {"name": "n%d", "op": %[1]q}}`, op, pid, from, dur, n)
}

// Advice of other frameworks passes the same gate as PyTorch's: chains are not the limit where the host is.
func TestWordsOfTensorFlowPassTheGates(t *testing.T) {
	var nodes []string
	for n := range 40 {
		at := 100 * float64(n)
		if n >= 20 {
			at += 6000
		}
		nodes = append(nodes, node(1, "Mul", n, at, 5), node(2, "Mul", n, at+6, 90))
	}
	nodes = append(nodes, node(1, "Unique", 99, 2050, 5900))
	s := screenOf(t, timelineOf(nodes...))
	if s.verdict.Class != diagnose.CPUBound || !s.verdict.Has(diagnose.FindingElementwiseChains) {
		t.Fatalf("%s: %s", s.verdict.Class, s.all)
	}
	if strings.Contains(s.all, "XLA") || !strings.Contains(s.all, "this is cpu-bound: what the verdict names comes before kernels") {
		t.Error(s.all)
	}
}

// Operators that wait for tensors of other processes are not the model's work on a CPU.
func TestATimelineThatMostlyReceives(t *testing.T) {
	nodes := func(op string) (out []string) {
		for n := range 8 {
			out = append(out, node(1, op, n, 200*float64(n), 100), node(1, "MatMul", 10+n, 200*float64(n)+100, 20))
		}
		return out
	}
	for op, receives := range map[string]bool{"RecvTensor": true, "Conv2D": false} {
		s := screenOf(t, timelineOf(nodes(op)...))
		if (s.verdict.Class == diagnose.ComputeOnCPU) == receives || strings.Contains(s.lead.Next, "on the GPU") == receives {
			t.Errorf("%s: %s, %s", op, s.lead.Verdict, s.lead.Next)
		}
	}
}

// A run whose time passes in the queue of its input is not told to compute elsewhere.
func TestATimelineThatWaitsForItsInput(t *testing.T) {
	for op, waits := range map[string]bool{"QueueDequeueMany": true, "IteratorGetNext": true, "Conv2D": false} {
		s := screenOf(t, timelineOf(node(1, op, 1, 0, 1400), node(1, "MatMul", 2, 1400, 200), node(1, "Add", 3, 1600, 20)))
		if strings.HasPrefix(s.lead.Next, "let input come faster") != waits || strings.Contains(s.lead.Why, "waits for its input") != waits ||
			(s.verdict.Class == diagnose.ComputeOnCPU) == waits {
			t.Errorf("%s: %s, %s, %s", op, s.lead.Verdict, s.lead.Why, s.lead.Next)
		}
	}
}

// What a file lacks, and how to record it, is said once.
func TestWhatIsNotRecordedIsSaidOnce(t *testing.T) {
	var events []string
	for n := range 40 {
		events = append(events, span("cpu_op", "aten::cudnn_convolution", 7, 100*float64(n), 60, ""))
	}
	s := screenOf(t, events)
	if got := strings.Count(s.lead.Why+s.lead.Next+strings.Join(s.verdict.Warnings, " "), "ProfilerActivity.CUDA"); got != 1 {
		t.Errorf("%d times: %s, %s, %q", got, s.lead.Why, s.lead.Next, s.verdict.Warnings)
	}
}

// What is asked of a file without steps is answered for what is judged, and not for the start before it.
func TestWhatIfIsAboutWhatIsJudged(t *testing.T) {
	events := []string{span("cpu_op", "aten::randperm", 7, 0, 60_000, "")}
	for n := range 100 {
		at := 60_000 + 10*float64(n)
		events = append(events, launched(n+1, "aten::mm", at, 9, "ampere_sgemm_128x64_tn", 60_010+2000*float64(n), 1999)...)
	}
	file := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(file, []byte("["+strings.Join(events, ",\n")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(run)
	changes, err := replay.Changes("precision=bf16")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := advise.WhatIf(run, v, changes)
	if err != nil {
		t.Fatal(err)
	}
	f := plan.Fixes[0].Forecast
	if judged := f.Speedup.Point * f.Step.Point; judged < 0.19 || judged > 0.21 || plan.Replay.Recorded < 0.25 {
		t.Errorf("%.2fx of steps of %.3f s, replayed %.3f s: %v", f.Speedup.Point, judged, plan.Replay.Recorded, v.Costs.Step)
	}
}

// A file of next to no work of the device says that, and not that no cause explains its idle time.
func TestAFileOfNextToNoWork(t *testing.T) {
	var events []string
	for n := range 3 {
		at := 400 * float64(n)
		events = append(events, launched(n+1, "aten::mm", at, 20, "ampere_sgemm_128x64_tn", at+20, 300)...)
	}
	if s := screenOf(t, events); s.verdict.Class != diagnose.Unknown || !strings.Contains(s.lead.Why, "only 3 pieces of device work") {
		t.Errorf("%s, %s", s.lead.Verdict, s.lead.Why)
	}
}

// A file that shows neither steps nor work of a device is not taken for an evaluation.
func TestNoStepsAreNoEvaluation(t *testing.T) {
	var events []string
	for n := range 40 {
		events = append(events, span("cpu_op", "aten::linear", 7, 100*float64(n), 60, ""))
	}
	if s := screenOf(t, events); len(s.verdict.Ledger.Rows) > 0 {
		t.Errorf("%+v", s.verdict.Ledger.Rows)
	}
}
