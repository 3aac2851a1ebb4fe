package traced_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

func runOf(t *testing.T, events []string) *recording.Run {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(file, []byte("["+strings.Join(events, ",\n")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Of a gap in which launched work waits as well, the host's own work is only its part.
func TestHostWorkIsNoLongerThanItIs(t *testing.T) {
	events := launched(1, "aten::mm", 0, 20, "sgemm", 20, 500)
	events = append(events, launched(2, "aten::linspace", 510, 2500, "sgemm", 6500, 500)...)
	for i := range 20 {
		at := 7000 + 520*float64(i)
		events = append(events, launched(3+i, "aten::mm", at-100, 20, "sgemm", at, 500)...)
	}
	s := screenOf(t, events)
	at := slices.IndexFunc(s.verdict.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingHostWork })
	if at < 0 {
		t.Fatalf("no host-work: %s", s.all)
	}
	f := s.verdict.Findings[at]
	if !strings.Contains(f.Text, "up to 2.48 ms at a time") {
		t.Error(f.Text)
	}
}

// One gap in which nothing was recorded, in a pass that allocates its memory, is a start. A pass whose memory is there
// comes again.
func TestAGapThatComesOnce(t *testing.T) {
	pass := func(allocates bool) (events []string) {
		for i := range 300 {
			at := 30 * float64(i)
			if i >= 100 {
				at += 300_000
			}
			events = append(events, launched(i+1, "aten::mul", at, 20, "elementwise", at+20, 10)...)
			if allocates && i == 120 {
				events = append(events, span("cuda_runtime", "cudaMalloc", 7, at+1, 12, ""))
			}
		}
		return events
	}
	for allocates, class := range map[bool]diagnose.Class{true: diagnose.StartUp, false: diagnose.CPUBound} {
		if s := screenOf(t, pass(allocates)); s.verdict.Class != class {
			t.Errorf("allocates %v: %s, want %s", allocates, s.lead.Verdict, class)
		}
	}
}

// steps are marked steps, microseconds, each of as many kernels of 10 us as the host launches in 100 us each.
func steps(lengths ...int) (events []string) {
	at, id := 0.0, 0
	for n, kernels := range lengths {
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), 7, at, 100*float64(kernels), ""))
		for range kernels {
			id++
			events = append(events, launched(id, "aten::mul", at, 90, "elementwise", at+90, 10)...)
			at += 100
		}
	}
	return events
}

// A step that stands out counts in the verdict, and so in what a change makes of the steps. No gain of idle time is more
// than there is, asked for or not.
func TestWhatIfCountsAllJudgedSteps(t *testing.T) {
	run := runOf(t, steps(20, 20, 20, 20, 80, 20, 20, 20, 20, 20))
	v := judge.Judge(run)
	if median := 2e-3; v.Costs.Step < 1.2*median {
		t.Fatalf("steps of %v", v.Costs.Step)
	}
	changes, err := replay.Changes("cuda_graphs=true")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := advise.WhatIf(run, v, changes)
	if err != nil {
		t.Fatal(err)
	}
	f := plan.Fixes[0].Forecast
	if all := f.Speedup.Point * f.Step.Point; math.Abs(all/v.Costs.Step-1) > 1e-6 || math.Abs(plan.Replay.Recorded/v.Costs.Step-1) > 0.05 {
		t.Errorf("%.2fx and then %v: of steps of %v, not %v", f.Speedup.Point, f.Step.Point, all, v.Costs.Step)
	}
	if most := 1 / (1 - v.Idle); f.Speedup.High > most+1e-9 {
		t.Errorf("%v, and without idle time %.2fx", f.Speedup, most)
	}
	for _, fix := range advise.Rank(run, v).Fixes {
		batches := 1.0
		if fix.Changes[0].Setting == stoker.BatchSize {
			batches = 2
		}
		got := fix.Forecast.Speedup.Point * fix.Forecast.Step.Point / batches
		if fix.Forecast.Speedup.Known() && math.Abs(got/v.Costs.Step-1) > 1e-6 {
			t.Errorf("%s: %v, then %v of %v", fix.Name, fix.Forecast.Speedup, fix.Forecast.Step, v.Costs.Step)
		}
	}
}

// Where the steps load no batch, more workers change nothing.
func TestWorkersOfNoLoader(t *testing.T) {
	run := runOf(t, steps(20, 20, 20, 20, 20))
	changes, err := replay.Changes("num_workers=4")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := advise.WhatIf(run, judge.Judge(run), changes)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(append(plan.Fixes[0].Notes, plan.Fixes[0].Mind), "\n")
	if strings.Contains(notes, "as much as") || !strings.Contains(notes, "no batch is loaded") {
		t.Errorf("%q", notes)
	}
}

// Operators in the lane of a GPU are not a CPU's, though an old timeline holds no work of streams.
func TestATimelineOfAGPUWithoutStreams(t *testing.T) {
	for lane, class := range map[string]diagnose.Class{"gpu:7": diagnose.Unknown, "cpu:0": diagnose.ComputeOnCPU} {
		events := []string{fmt.Sprintf(`{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/job:localhost/replica:0/task:0/%s Compute"}}`, lane)}
		for n := range 20 {
			events = append(events, node(1, "MatMul", n, 100*float64(n), 80))
		}
		s := screenOf(t, events)
		if s.verdict.Class != class || strings.Contains(s.all, "are on a CPU") != (class == diagnose.ComputeOnCPU) {
			t.Errorf("%s: %s", lane, s.all)
		}
	}
}

// A mark with a number tells that steps went before: what such a step does before its first work is no program's start.
func TestAStepThatOthersWentBefore(t *testing.T) {
	for number, cut := range map[int]bool{0: true, 50: false} {
		events := []string{
			span("user_annotation", fmt.Sprintf("ProfilerStep#%d", number), 7, 0, 120_000, ""),
			span("cpu_op", "aten::randperm", 7, 10, 10_000, ""),
			span("cuda_runtime", "cudaMalloc", 7, 10_020, 1500, ""),
		}
		for i := range 1080 {
			events = append(events, launched(i+1, "aten::mm", 11_600+100*float64(i), 20, "sgemm", 11_630+100*float64(i), 90)...)
		}
		s := screenOf(t, events)
		if got := strings.Contains(s.all, "until the first long call of the device returned"); got != cut {
			t.Errorf("ProfilerStep#%d: start %v\n%s", number, got, s.all)
		}
	}
}

// The last of several passes that are alike is one of them.
func TestTheLastPassCounts(t *testing.T) {
	var events []string
	id, at := 0, 0.0
	for range 5 {
		for _, name := range []string{"embed", "mm", "mm", "norm", "mm", "mm", "norm", "mm", "mm", "norm", "mm", "mm", "norm", "head"} {
			id++
			events = append(events, launched(id, "aten::mm", at, 20, name, at+20, 80)...)
			at += 100
		}
		events = append(events, span("cuda_runtime", "cudaMemcpyAsync", 7, at, 10, fmt.Sprintf(`"correlation": %d`, 9000+id)),
			span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 70, at+12, 50,
				fmt.Sprintf(`"correlation": %d, "device": 0, "stream": 7, "bytes": 65536`, 9000+id)))
		at += 100
	}
	if s := screenOf(t, events); !strings.Contains(s.all, "the kernels repeat 5 times, each time is taken as a step") {
		t.Error(s.all)
	}
}

// Long collectives cost their bytes, however many there are.
func TestManyCollectivesAreNotAllSmall(t *testing.T) {
	for length, small := range map[float64]bool{40: true, 2000: false} {
		var events []string
		at := 0.0
		for i := range 300 {
			events = append(events, launched(2*i+1, "aten::mm", at, 20, "sgemm", at+20, 30)...)
			events = append(events, launched(2*i+2, "c10d::allreduce_", at+22, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at+55, length)...)
			at += 60 + length
		}
		s := screenOf(t, events)
		if !s.verdict.Has(diagnose.FindingExposedCommunication) || strings.Contains(s.all, "cost latency") != small {
			t.Errorf("%.0f us: %s", length, s.all)
		}
	}
}

// Graphs of a step whose cache grows are captured again and again.
func TestGraphsOfACacheThatGrows(t *testing.T) {
	for _, op := range []string{"aten::cat", "aten::mul"} {
		var events []string
		at, id := 0.0, 0
		for n := range 8 {
			events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), 7, at, 6000, ""))
			for k := range 60 {
				id++
				name := "aten::mm"
				if k%2 == 0 {
					name = op
				}
				events = append(events, launched(id, name, at+100*float64(k), 90, fmt.Sprintf("kernel%d", k%7), at+100*float64(k)+90, 6)...)
			}
			at += 6000
		}
		run := runOf(t, events)
		plan := advise.Rank(run, judge.Judge(run))
		for _, fix := range plan.Fixes {
			graphs := fix.Changes[0].Setting == stoker.Compile || fix.Changes[0].Setting == stoker.CUDAGraphs
			if got := strings.Contains(fix.Mind, "aten::cat"); got != (graphs && op == "aten::cat") {
				t.Errorf("%s: %s: %q", op, fix.Name, fix.Mind)
			}
		}
		if len(plan.Fixes) == 0 {
			t.Errorf("%s: no plan: %+v", op, plan.Rejected)
		}
	}
}

// A kernel that leaves the device empty does not fill its memory's rate.
func TestOneThreadIsNoMemoryLimit(t *testing.T) {
	for blocks, want := range map[string]diagnose.Class{"0.01": diagnose.GPUBound, "8": diagnose.GPUMemory} {
		var events []string
		for i := range 200 {
			at := 100 * float64(i)
			events = append(events, launched(i+1, "", at, 20, "add(int, float *, float *)", at+40, 99)[1:]...)
			last := len(events) - 1
			events[last] = strings.Replace(events[last], `"stream": 7`, `"stream": 7, "blocks per SM": `+blocks, 1)
		}
		if got := screenOf(t, events).verdict.Class; got != want {
			t.Errorf("%s blocks per SM: %s, want %s", blocks, got, want)
		}
	}
}

// After the last kernel, the host's work keeps no device waiting, unless copies follow.
func TestHostWorkBehindAllKernels(t *testing.T) {
	for name, last := range map[string]bool{"kernel": false, "gpu_memcpy": true} {
		events := pass(100, 300, 0, 100, 90, "sgemm")
		work := launched(2, "aten::mm", 70_000, 20, "Memcpy DtoH (Device -> Pinned)", 70_030, 500)
		work[2] = strings.Replace(work[2], `"kernel"`, `"`+name+`"`, 1)
		s := screenOf(t, append(events, work...))
		if got := s.verdict.Grounds.HostWork.Last; got != last {
			t.Errorf("%s: %v, want %v, of %s: %v", name, got, last, s.verdict.Class, s.verdict.Findings)
		}
	}
}
