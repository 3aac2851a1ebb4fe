package traced_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// says reports the words that a screen lacks, and those that it has and must not have.
func says(t *testing.T, what string, s screen, words []string, never ...string) {
	t.Helper()
	for _, text := range words {
		if !strings.Contains(s.all, text) {
			t.Errorf("%s: no %q in\n%s", what, text, s.all)
		}
	}
	for _, text := range never {
		if strings.Contains(s.all, text) {
			t.Errorf("%s: %q in\n%s", what, text, s.all)
		}
	}
}

// pass is a number of operators behind each other that launch a kernel each.
func pass(id, n int, from, every, length float64, work string) (events []string) {
	for i := range n {
		at := from + every*float64(i)
		events = append(events, launched(id+i, "aten::mm", at, every-5, work, at+every, length)...)
	}
	return events
}

// The only marked step lasts as long as its mark says: nothing of it is a program's start.
func TestTheOnlyMarkedStepKeepsItsBeginning(t *testing.T) {
	events := append([]string{span("user_annotation", "ProfilerStep#6", 7, 0, 77_000, "")},
		pass(1, 300, 9000, 200, 20, "sgemm")...)
	s := screenOf(t, events)
	if from := s.verdict.Costs.Window.Start; from != 0 {
		t.Errorf("the window begins at %g s", from)
	}
}

// The queue's wait begins with the launch, and a short one is seen by how many launches wait with it.
func TestTheQueuesWaitBeginsWithTheLaunch(t *testing.T) {
	for name, c := range map[string]struct {
		launch float64
		said   string
	}{"long": {3000, "waited 97 ms"}, "short": {98_000, "waited 1.99 ms"}} {
		events := []string{span("cpu_op", "aten::randn", 7, 0, 100, "")}
		for i := range 300 {
			op := launched(i+1, "aten::mm", c.launch+12*float64(i), 10, "sgemm", 100_000+90*float64(i), 89)
			events = append(events, op...)
		}
		s := screenOf(t, events)
		if !strings.Contains(s.all, "from before the recording") {
			t.Errorf("%s: %s", name, s.all)
		}
		says(t, name, s, []string{c.said})
	}
}

// Exchanges of unlike lengths are not said to take their mean each, nor to be latency where few long ones take the time.
func TestUnlikeExchanges(t *testing.T) {
	for name, c := range map[string]struct {
		long  float64
		said  []string
		never string
	}{
		"alike":  {20, []string{"20 µs each", "latency, not bytes"}, "the longest"},
		"unlike": {3000, []string{"20 µs in the median, 3 ms the longest"}, "latency, not bytes"},
	} {
		events := pass(1, 20, 0, 10, 20, "sgemm")
		at := 1000.0
		for i := range 200 {
			length := 20.0
			if i%20 == 19 {
				length = c.long
			}
			events = append(events, launched(100+i, "record_param_comms", 200+2*float64(i), 6, "ncclDevKernel_AllReduce_Sum_f16_RING_LL(x)", at, length)...)
			at += length + 1
		}
		says(t, name, screenOf(t, events), c.said, c.never)
	}
}

// The first exchange, where it is told apart, is none of the others' lengths.
func TestFirstExchangeApart(t *testing.T) {
	events := pass(1, 20, 0, 10, 20, "sgemm")
	at := 1000.0
	for i := range 40 {
		length := 200.0
		switch {
		case i == 0:
			length = 5000
		case i%4 == 3:
			length = 900
		}
		events = append(events, launched(100+i, "record_param_comms", 200+2*float64(i), 6, "ncclDevKernel_AllReduce_Sum_f16_RING_LL(x)", at, length)...)
		at += length + 1
	}
	says(t, "", screenOf(t, events), []string{"the first one apart", "200 µs in the median, 900 µs the longest"}, "5 ms the longest")
}

// Where a part of the exchanges carries gradients, none is said not to.
func TestExchangesOfBothKinds(t *testing.T) {
	events := pass(1, 30, 0, 10, 20, "sgemm")
	events = append(events, span("cpu_op", "DistributedDataParallel.forward", 7, 0, 5, ""), span("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 7, 6, 3, ""))
	at := 1000.0
	for i := range 12 {
		work, length := "ncclDevKernel_SendRecv(x)", 900.0
		if i%3 == 2 {
			work = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
		}
		events = append(events, launched(100+i, "record_param_comms", 400+10*float64(i), 6, work, at, length)...)
		at += length + 1
	}
	says(t, "both", screenOf(t, events), []string{"most of what the collectives exchange is no gradients"}, "the collectives exchange no gradients")
}

// Collectives of the CPU that take most of a file without work of a device are what it shows.
func TestCollectivesOfTheCPU(t *testing.T) {
	events := []string{
		span("cpu_op", "aten::mm", 7, 0, 100, ""), span("cpu_op", "gloo:all_reduce", 8, 100, 900, ""),
		span("cpu_op", "gloo:all_reduce", 9, 100, 900, ""),
	}
	s := screenOf(t, events)
	says(t, "gloo", s, []string{"900 µs of 1 ms", "gloo:all_reduce", "compare the ranks"}, "model.to(")
}

// The verdict of a program's start names its parts.
func TestAStartThatCompiles(t *testing.T) {
	events := append(pass(1, 20, 0, 60, 10, "sgemm"), span("cpu_op", "delta_r2", 7, 2000, 295_000, ""))
	events = append(events, launched(50, "delta_r2", 297_100, 100, "fused_mul_add", 297_220, 10)...)
	s := screenOf(t, events)
	if s.verdict.Class != diagnose.StartUp {
		t.Fatalf("%s\n%s", s.verdict.Class, s.all)
	}
	says(t, "compiles", s, []string{"most of the rest is compilation"}, "contexts", "allocat")
}

// One long gap of which nothing was recorded is not said to be Python, and the host is not said to work in it.
func TestAGapOfWhichNothingIsKnown(t *testing.T) {
	events := append(pass(1, 10, 0, 60, 10, "sgemm"), pass(20, 10, 300_000, 60, 10, "sgemm2")...)
	says(t, "gap", screenOf(t, events), []string{"does not tell what the host does", "if it is Python"}, "most likely", "the host works between")
}

// Work of the host that allocates cannot be done ahead.
func TestAnAllocatorAsTheLimit(t *testing.T) {
	var events []string
	for step := range 4 {
		at := 100_000 * float64(step)
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, 99_990, ""))
		events = append(events, pass(1000*step+1, 100, at+100, 400, 390, "sgemm")...)
		for i := range 5 {
			events = append(events, span("cuda_runtime", "cudaFree", 7, at+42_000+10_000*float64(i), 9900, ""))
		}
		events = append(events, pass(1000*step+500, 4, at+93_000, 300, 290, "sgemm")...)
	}
	s := screenOf(t, events)
	if s.verdict.Class != diagnose.CPUBound {
		t.Fatalf("%s\n%s", s.verdict.Class, s.all)
	}
	says(t, "allocator", s, []string{"the allocator frees blocks"}, "do it ahead")
}

// A little work of the host beside the allocator is not what to change, the step with the stall is named, and memory that
// is freed is no first pass.
func TestAnAllocatorOfTwoSteps(t *testing.T) {
	var events []string
	for step := range 3 {
		at := 200_000 * float64(step)
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, 199_990, ""))
		work := 474.0
		if step == 1 {
			work = 40
			for i := range 7 {
				events = append(events, span("cuda_runtime", "cudaFree", 7, at+17_000+20_000*float64(i), 19_900, ""))
			}
			events = append(events, span("cpu_op", "aten::copy", 7, at+158_000, 30_000, ""))
		}
		events = append(events, pass(1000*step+1, 400, at+100, work, work-10, "sgemm")...)
		events = append(events, pass(1000*step+500, 4, at+190_000, 300, 290, "sgemm")...)
	}
	s := screenOf(t, events)
	if s.verdict.Class != diagnose.CPUBound {
		t.Fatalf("%s\n%s", s.verdict.Class, s.all)
	}
	says(t, "allocator", s, []string{
		"is allocated and freed, and the device", "\nlet the program need less memory",
		"one step carries the verdict: number 1", "freed and allocated in later steps as well",
	},
		"own work on the host", "while the device computes: at most", "a first pass allocates")
	if !strings.Contains(strings.Join(s.lead.Caution, " "), "one step carries the verdict") {
		t.Errorf("the first screen's cautions lack the step: %q", s.lead.Caution)
	}
}

// One collective of each step that takes far longer than the others is a wait for a late rank: that comes first, and no
// faster exchange.
func TestALateRankIsNamedFirst(t *testing.T) {
	for long, late := range map[float64]bool{100_000: true, 1500: false} {
		var events []string
		id := 1
		for step := range 4 {
			at := 120_000 * float64(step)
			events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, 119_990, ""))
			events = append(events, pass(1000*step+1, 20, at+100, 100, 90, "sgemm")...)
			from := at + 2500
			for i := range 8 {
				length := 1400.0
				if i == 3 {
					length = long
				}
				id++
				events = append(events, launched(100_000+id, "c10d::alltoall_", at+2100+10*float64(i), 8,
					"ncclDevKernel_SendRecv(ncclDevComm*)", from, length)...)
				from += length + 10
			}
		}
		s := screenOf(t, events)
		if s.verdict.Class != diagnose.NetworkBound && late {
			t.Fatalf("%s\n%s", s.verdict.Class, s.all)
		}
		if strings.HasPrefix(s.lead.Next, "compare the ranks") != late {
			t.Errorf("%g: %q\n%s", long, s.lead.Next, s.all)
		}
	}
}

// Where nothing of the host's work was recorded, to find out what it is comes before to do less of it.
func TestWorkOfWhichNothingIsSeen(t *testing.T) {
	var events []string
	for step := range 4 {
		at := 1_000_000 * float64(step)
		events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, 999_990, ""))
		events = append(events, pass(1000*step+1, 80, at+100, 300, 290, "sgemm")...)
	}
	says(t, "unseen", screenOf(t, events), []string{"so it is a sleep, a wait or Python"})
}

// A file with calls of CUDA none of which launches is not told to record CUDA.
func TestNothingRanWhileItWasRecorded(t *testing.T) {
	s := screenOf(t, []string{
		span("cuda_runtime", "cudaDeviceSynchronize", 7, 10, 5, ""), span("cuda_runtime", "cudaGetDeviceCount", 7, 20, 5, ""),
	})
	if !strings.HasPrefix(s.lead.Next, "record while the device works") {
		t.Errorf("%q\n%s", s.lead.Next, s.all)
	}
}

// A kernel that takes far longer than the same one of other steps sets no share, and is said. One that is as long in each
// step is the program's.
func TestAStrayKernelSetsNoShare(t *testing.T) {
	for name, c := range map[string]struct {
		strays []int
		said   bool
	}{"strays": {[]int{2, 4}, true}, "of each step": {[]int{0, 1, 2, 3, 4, 5}, false}} {
		var events []string
		at := 0.0
		for step := range 6 {
			length := 15.0
			if slices.Contains(c.strays, step) {
				length = 2500
			}
			events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, 1050+length, ""))
			events = append(events, pass(100*step+1, 20, at+10, 50, 48, "ampere_sgemm_128x64_tn")...)
			events = append(events, launched(100*step+50, "aten::sdpa", at+1012, 8, "flash_fwd_kernel", at+1060, length)...)
			at += 1100 + length
		}
		s := screenOf(t, events)
		said := s.all
		for _, e := range s.verdict.Evidence {
			said += e.Text + "\n"
		}
		if strings.Contains(said, "2 kernels take far longer than at the same place of other steps") != c.said ||
			strings.Contains(said, "attention 1.5 %") != c.said {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// A first call, which looks for a kernel, is no example of a launch, and none of the launches' time.
func TestAFirstCallIsNoLaunch(t *testing.T) {
	var events []string
	at := 0.0
	for i := range 200 {
		length, work := 50.0, "kernel"
		if i%60 == 30 {
			length, work = 1400, fmt.Sprint("kernel ", i)
		}
		events = append(events, launched(i+1, "aten::cudnn_convolution", at, length, work, at+length, 10)...)
		at += length + 5
	}
	s := screenOf(t, events)
	if s.verdict.Class != diagnose.LaunchBound {
		t.Fatalf("%s\n%s", s.verdict.Class, s.all)
	}
	for _, f := range s.verdict.Findings {
		if f.Name == diagnose.FindingLaunchBound && f.To-f.From > 1e-3 {
			t.Errorf("an example of %g s", f.To-f.From)
		}
	}
	for _, c := range s.verdict.Causes {
		if c.Cause == "warm-up" && c.Share > 0.2 {
			says(t, "", s, []string{"the device waits for the host to launch 5"})
			return
		}
	}
	t.Errorf("%+v", s.verdict.Causes)
}

// Others may wait for a rank that is idle and alone in its file, however little it exchanges itself.
func TestAnIdleRankAlone(t *testing.T) {
	for work, said := range map[string]bool{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)": true, "sgemm": false} {
		var events []string
		for step := range 4 {
			at := 1_000_000 * float64(step)
			events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, 999_990, ""))
			events = append(events, pass(1000*step+1, 80, at+100, 300, 290, "sgemm")...)
			events = append(events, launched(1000*step+500, "c10d::allreduce_", at+30_000, 8, work, at+30_010, 500)...)
		}
		s := screenOfText(t, `{"distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4}, "traceEvents": [`+
			strings.Join(events, ",\n")+"]}")
		if strings.Contains(s.all, "this is rank 2 of 4, and the others' files are missing: whether they wait for this one") != said {
			t.Errorf("%s: %s", work, s.all)
		}
	}
}

// A file of a few launches of XLA's clusters is not told to use XLA.
func TestXLAIsOnAlready(t *testing.T) {
	g := diagnose.Grounds{Framework: "TensorFlow 1", Made: diagnose.Made{XLA: true}}
	const advice = "XLA (config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1), or a larger batch"
	if got := g.FitLaunches(advice); got != "a larger batch" {
		t.Errorf("%q", got)
	}
	g = diagnose.Grounds{Framework: diagnose.FrameworkCUDA, Kernels: 100, Made: diagnose.Made{Allocations: 101, Waits: 99}}
	if got := g.FitLaunches("capture"); !strings.Contains(got, "101 calls that allocate or free and 99 that wait stand beside 100 kernels") {
		t.Errorf("%q", got)
	}
	g.Made = diagnose.Made{Waits: 3}
	if got := g.FitLaunches("capture"); got != "capture" {
		t.Errorf("%q: a few waits break no graph", got)
	}
}

// A step that is left out and takes as long as those that are judged is named.
func TestALongStepThatIsLeftOut(t *testing.T) {
	for length, named := range map[float64]bool{400_000: true, 100_000: false} {
		var events []string
		at := 0.0
		for step := range 3 {
			long := 100_000.0
			if step == 0 {
				long = length
			}
			events = append(events, span("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+4), 7, at, long-10, ""))
			events = append(events, pass(1000*step+1, 200, at+100, 400, 390, "sgemm")...)
			if long == length {
				events = append(events, span("cuda_runtime", "cudaMalloc", 7, at+82_000, max(1, long-100_000), ""))
			}
			at += long
		}
		if s := screenOf(t, events); strings.Contains(s.all, "a step that is left out takes") != named {
			t.Errorf("%g: %s", length, s.all)
		} else if named {
			says(t, "left out", s, []string{"300 ms of it in calls that allocate or free"})
			if !s.verdict.Grounds.HostWork.Before { // work beside it is not to lead
				t.Errorf("%+v", s.verdict.Grounds.HostWork)
			}
		}
	}
}
