package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/rules"
)

const (
	gemm   = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
	relu   = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar>"
	adam   = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>>"
	ready  = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
	pinned = "HtoD (Pinned -> Device)"
)

// trains is a step's forward, backward and optimizer, of a device that is kept busy.
func (p *profile) trains(kernels int) {
	p.during("user_annotation", ready, func() { p.rests(20) })
	p.copies(pinned, 30, 1<<20)
	for range kernels {
		p.during("cpu_op", "aten::mm", func() { p.kernel(gemm, 400) })
	}
	p.during("cpu_op", "autograd::engine::evaluate_function: MmBackward0", func() { p.kernel(gemm, 800) })
	p.during("user_annotation", "Optimizer.step#Adam.step", func() { p.kernel(adam, 100) })
	p.waits()
}

func (p *profile) marked(n int, body func()) {
	p.during("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), body)
}

func judged(t *testing.T, p *profile) (diagnose.Verdict, advise.Plan) {
	t.Helper()
	run := p.run(t)
	v := judge.Judge(run)
	return v, advise.Rank(run, v)
}

func leading(v diagnose.Verdict) string {
	if len(v.Causes) == 0 {
		return ""
	}
	return v.Causes[0].Cause
}

// The profiler's own stop lies inside the last step's mark: 60 ms in which it writes
// its buffers, and nothing of the program runs.
func TestTheRecordersStopIsNoStep(t *testing.T) {
	for _, steps := range []int{1, 3, 5} {
		p := newProfile()
		for n := range steps {
			p.marked(n, func() {
				p.trains(20)
				if n == steps-1 {
					p.call("cudaDeviceSynchronize", 6)
					p.rests(60_000)
				}
			})
		}
		v, _ := judged(t, p)
		if !v.Class.Is(diagnose.GPUBound) || v.Shares.Idle > 0.1 {
			t.Errorf("%d steps: %s, idle %.2f, leading %q; want gpu-bound", steps, v.Class, v.Shares.Idle, leading(v))
		}
	}
}

// With stacks the stop is a frame of the profiler's within one of the user's.
func TestTheRecordersStopWithStacks(t *testing.T) {
	p := newProfile()
	p.during("python_function", "train.py(10): main", func() {
		for n := range 3 {
			p.marked(n, func() {
				p.during("python_function", "train.py(40): step", func() {
					p.trains(20)
					if n == 2 {
						p.during("python_function", "torch/profiler/profiler.py(700): step", func() { p.rests(60_000) })
					}
				})
			})
		}
	})
	if v, _ := judged(t, p); !v.Class.Is(diagnose.GPUBound) || v.Shares.Idle > 0.1 {
		t.Errorf("%s, idle %.2f, leading %q", v.Class, v.Shares.Idle, leading(v))
	}
}

// What the program does behind its optimizer in every step is its own time.
func TestWorkBehindTheOptimizerIsJudged(t *testing.T) {
	p := newProfile()
	for n := range 5 {
		p.marked(n, func() { p.trains(20); p.rests(20_000) })
	}
	if v, _ := judged(t, p); v.Shares.Idle < 0.5 {
		t.Errorf("idle %.2f of steps of which two thirds are spent behind the optimizer", v.Shares.Idle)
	}
}

// Copies within the device are its own work: no batch crosses the host link.
func TestCopiesWithinTheDevice(t *testing.T) {
	p := newProfile()
	for n := range 6 {
		p.marked(n, func() {
			p.trains(4)
			for range 10 {
				p.copies("DtoD (Device -> Device)", 80, 64<<20)
			}
			p.waits()
		})
	}
	v, plan := judged(t, p)
	if v.Class.Is(diagnose.TransferBound) {
		t.Errorf("%s: %+v", v.Class, v.Evidence)
	}
	for _, f := range plan.Fixes {
		if f.Name == "pin_memory" || f.Name == "side_stream" {
			t.Errorf("advises %s", f.Name)
		}
	}
}

// allocates calls the driver for every tensor, as it is without the caching allocator.
func (p *profile) allocates(n int) {
	for range n {
		p.during("cpu_op", "aten::empty", func() { p.call("cudaMalloc", 60) })
		p.during("cpu_op", "aten::mm", func() { p.kernel(gemm, 10) })
		p.call("cudaFree", 80)
	}
}

// The same number of allocations and frees in every step is no fragmentation: nothing
// is cached at all.
func TestADisabledCacheIsNoFragmentation(t *testing.T) {
	p := newProfile()
	for n := range 6 {
		p.marked(n, func() { p.allocates(50); p.waits() })
	}
	v, plan := judged(t, p)
	said := false
	for _, f := range v.Findings {
		said = said || f.Name == "allocator" && strings.Contains(f.Advice, "PYTORCH_NO_CUDA_MEMORY_CACHING")
	}
	if !said {
		t.Errorf("no finding says that the cache is off: %+v", v.Findings)
	}
	for _, f := range plan.Fixes {
		if f.Name == "allocator" {
			t.Errorf("advises %v, %s", f.Changes, f.Worth())
		}
	}
}

// captures records a graph: what is launched meanwhile does not run.
func (p *profile) captures(kernels int) {
	for range kernels {
		p.during("cpu_op", "aten::mm", func() { p.kernel(gemm, 20); p.rests(40) })
	}
	p.waits()
	p.call("cudaStreamBeginCapture", 10)
	for range kernels {
		p.during("cpu_op", "aten::mm", func() { p.call("cudaLaunchKernel", 5); p.rests(40) })
	}
	p.call("cudaStreamEndCapture", 50)
	p.call("cudaGraphInstantiate", 3000)
}

func TestGraphCaptureIsNotJudged(t *testing.T) {
	for _, n := range []int{2, 25} {
		p := newProfile()
		for range n {
			p.captures(40)
		}
		v, plan := judged(t, p)
		if v.Class != diagnose.StartUp || len(plan.Fixes) > 0 || len(v.Findings) > 0 {
			t.Errorf("%d captures: %s, findings %v, fixes %v", n, v.Class, v.Findings, plan.Fixes)
		}
		if len(v.Evidence) == 0 || !strings.Contains(v.Evidence[0].Text, "graph capture") {
			t.Errorf("%d captures: nobody says what was recorded: %+v", n, v.Evidence)
		}
	}
}

// A recording without steps that captures a graph for a small part of its time is of the rest.
func TestMoreThanGraphCaptureIsJudged(t *testing.T) {
	p := newProfile()
	p.captures(40)
	for n := range 60 {
		p.layers(3 + n%4)
		p.rests(2000)
	}
	v, _ := judged(t, p)
	if v.Class == diagnose.StartUp || strings.Contains(v.Evidence[0].Text, "graph capture") {
		t.Errorf("%s: %+v", v.Class, v.Evidence)
	}
}

// A step in which a program is compiled or a graph captured is left out, and so is one
// of evaluation.
func TestPhasesAreLeftOut(t *testing.T) {
	compiles := func(p *profile) {
		p.during("user_annotation", "_compile.compile_inner (dynamo_timed)", func() { p.rests(500_000) })
		p.trains(20)
	}
	evaluates := func(p *profile) {
		for range 3 {
			p.during("cpu_op", "aten::mm", func() { p.kernel(gemm, 100) })
			p.rests(30_000)
		}
	}
	for name, other := range map[string]func(*profile){
		"compilation": compiles, "evaluation": evaluates,
		"graph capture": func(p *profile) { p.captures(100); p.trains(20) },
		"checkpoint": func(p *profile) {
			p.trains(20)
			p.during("python_function", "torch/serialization.py(900): save", func() { p.rests(300_000) })
		},
	} {
		for _, at := range []int{1, 4, 7} {
			p := newProfile()
			for n := range 8 {
				p.marked(n, func() {
					if n == at {
						other(p)
						return
					}
					p.trains(20)
				})
			}
			if v, _ := judged(t, p); !v.Class.Is(diagnose.GPUBound) || v.Shares.Idle > 0.1 {
				t.Errorf("%s in step %d: %s, idle %.2f", name, at, v.Class, v.Shares.Idle)
			}
		}
	}
}

// layers is one forward pass of a server in eager mode.
func (p *profile) layers(n int) {
	p.during("cpu_op", "aten::embedding", func() { p.kernel("embedding_kernel", 10); p.rests(30) })
	for range n {
		for _, k := range []string{"rms_norm_kernel", gemm, "rotary_kernel", "flash_fwd_kernel", gemm, relu, gemm} {
			p.during("cpu_op", "aten::op", func() { p.kernel(k, 10); p.rests(60) })
		}
	}
	for _, k := range []string{"rms_norm_kernel", gemm, "softmax_kernel", "argmax_kernel"} {
		p.during("cpu_op", "aten::op", func() { p.kernel(k, 10); p.rests(30) })
	}
	p.copies("DtoH (Device -> Pageable)", 3, 4)
}

func TestLayersAreNoSteps(t *testing.T) {
	p := newProfile()
	p.layers(35)
	v, _ := judged(t, p)
	if n := len(v.Costs.Window.Steps); n > 1 {
		t.Errorf("one pass of 35 layers is %d steps", n)
	}
	if text := strings.Join(v.Warnings, " "); !strings.Contains(text, "layers") {
		t.Errorf("nobody says that these are layers: %q", text)
	}
}

// The launches of an unmarked loop repeat from the first to the last, whole or cut.
func TestAnUnmarkedLoopHasSteps(t *testing.T) {
	p := newProfile()
	for range 6 {
		p.layers(12)
		p.rests(2000)
	}
	if v, _ := judged(t, p); len(v.Costs.Window.Steps) < 3 {
		t.Errorf("%d steps of 6 passes", len(v.Costs.Window.Steps))
	}
}

// The marks that servers write.
func TestServersMarksAreSteps(t *testing.T) {
	for _, name := range []string{"step[DECODE bs=32]", "execute_context_0(0)_generation_32(32)", "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk5)", "[Executor] _forward_step %d: 0 ctx reqs, 1 ctx tokens, 8 gen reqs"} {
		p := newProfile()
		for n := range 6 {
			mark := name
			if strings.Contains(name, "%") {
				mark = fmt.Sprintf(name, n)
			}
			p.during("user_annotation", mark, func() { p.layers(10) })
			p.rests(100)
		}
		if v, _ := judged(t, p); len(v.Costs.Window.Steps) < 4 || len(v.Costs.Window.Steps) > 6 {
			t.Errorf("%s: %d steps of 6", name, len(v.Costs.Window.Steps))
		}
	}
}

// Profilers of ROCm name the devices that a process sees from 0 and number their work as
// the machine does.
func TestTheDeviceThatIsNamedIsTheOneThatWorks(t *testing.T) {
	p := newProfile()
	p.device, p.more = 2, `"deviceProperties":[{"id":0,"name":"AMD Instinct MI300X","totalGlobalMem":206141652992,"numSms":304}],`
	for n := range 5 {
		p.marked(n, func() { p.trains(4) })
	}
	run := p.run(t)
	if g := run.Facts.GPUs; len(g) != 1 || g[0].Index != 2 || g[0].Name != "AMD Instinct MI300X" || run.Timeline.Devices[0].GPU != 0 {
		t.Errorf("GPUs %+v, devices %+v", g, run.Timeline.Devices)
	}
	if v := judge.Judge(run); !v.Cost.Watts.Known() {
		t.Errorf("cost %+v", v.Cost)
	}
}

// The device that is busy is judged, not the one that idles beside it with many small
// copies.
func TestTheBusyDeviceIsJudged(t *testing.T) {
	p := newProfile()
	for n := range 5 {
		p.marked(n, func() {
			for range 30 {
				p.device, p.free = 0, p.at
				p.copies("DtoD (Device -> Device)", 2, 64)
			}
			p.device = 7
			p.trains(20)
		})
	}
	v, _ := judged(t, p)
	if v.Device != 1 || v.Shares.Kernel < 0.5 {
		t.Errorf("device %d with kernels %.2f is judged", v.Device, v.Shares.Kernel)
	}
}

func (p *profile) frame(name string, body func()) { p.during("python_function", name, body) }

func textOf(t *testing.T, v diagnose.Verdict, name string) string {
	t.Helper()
	for _, f := range v.Findings {
		if f.Name == name {
			return f.Text
		}
	}
	t.Errorf("no finding %q in %+v", name, v.Findings)
	return ""
}

// What a loader's time goes into is the function that takes most of it, not the one that
// stands around all.
func TestLoadingIsNamedByWhatItDoes(t *testing.T) {
	p := newProfile()
	for n := range 5 {
		p.marked(n, func() {
			p.during("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", func() {
				p.frame("torch/utils/data/dataloader.py(700): __next__", func() {
					p.frame("data.py(20): __getitem__", func() {
						p.frame("nibabel/loadsave.py(10): load", func() { p.rests(2_000) })
						for range 4 {
							p.frame("scipy/ndimage/_interpolation.py(700): zoom", func() { p.rests(4_000) })
						}
					})
				})
			})
			p.trains(4)
		})
	}
	v, _ := judged(t, p)
	if text := textOf(t, v, "data-loader-wait"); !strings.Contains(text, "zoom") {
		t.Errorf("%s", text)
	}
	said := false
	for _, e := range v.Evidence {
		said = said || strings.Contains(e.Text, "mostly") && strings.Contains(e.Text, "zoom")
	}
	if !said {
		t.Errorf("the gap is not named by zoom: %+v", v.Evidence)
	}
}

func TestHostWorkIsNamedByWhatItDoes(t *testing.T) {
	p := newProfile()
	for n := range 5 {
		p.marked(n, func() {
			p.frame("pipeline.py(5): run", func() {
				p.frame("video.py(174): read_video", func() { p.rests(60_000) })
				p.frame("image_processing.py(300): preprocess", func() {
					for range 16 {
						p.frame("image_processing.py(100): resize", func() { p.rests(12_000) })
					}
				})
			})
			p.trains(4)
		})
	}
	v, _ := judged(t, p)
	if text := textOf(t, v, "host-work"); !strings.Contains(text, "resize") {
		t.Errorf("%s", text)
	}
}

// A finding about short gaps lies in one of these.
func TestShortGapsArePlacedInAShortGap(t *testing.T) {
	p := newProfile()
	for n := range 5 {
		p.marked(n, func() {
			p.rests(80_000)
			for range 600 {
				p.during("cpu_op", "aten::add", func() { p.rests(200); p.kernel(relu, 5) })
			}
			p.waits()
		})
	}
	v, _ := judged(t, p)
	for _, f := range v.Findings {
		if f.Name == "launch-bound" && f.To-f.From > 2e-3 {
			t.Errorf("short gaps at one of %.1f ms", 1e3*(f.To-f.From))
		}
	}
	textOf(t, v, "launch-bound")
}

// A kernel of no length, as some profilers write it, is shorter than a launch and no more.
func TestSharesDoNotExceedOne(t *testing.T) {
	p := newProfile()
	for n := range 5 {
		p.marked(n, func() {
			for range 20 {
				p.during("cpu_op", "aten::add", func() { p.rests(20); p.kernel(relu, 0) })
			}
		})
	}
	v, _ := judged(t, p)
	for _, q := range v.Questions {
		if strings.Contains(q.Answer, "000 %") {
			t.Errorf("%s %s", q.Text, q.Answer)
		}
	}
}

// A file of another framework is told of its own words.
func TestOtherFrameworksHaveTheirOwnWords(t *testing.T) {
	for name, c := range tapes {
		for _, framework := range []string{"TensorFlow", "JAX", "XLA"} {
			run := c.write()
			run.Facts.Software.Framework = framework
			v := judge.Judge(run)
			plan := advise.Rank(run, v)
			text := fmt.Sprint(v.Warnings, plan.Rejected)
			for _, f := range v.Findings {
				text += " " + f.Text + " " + f.Advice + fmt.Sprint(f.Settings)
			}
			for _, f := range plan.Fixes {
				text += fmt.Sprint(f.Title, f.Notes, f.Changes)
			}
			if rule, ok := rules.FindRule(v.Class); ok {
				text += rule.Title + rule.Text
			}
			for _, word := range []string{"DataLoader", ".item()", "torch", "pin_memory", "num_workers", "no_sync"} {
				if strings.Contains(text, word) {
					t.Errorf("%s, %s: %q in %s", name, framework, word, text)
				}
			}
		}
	}
}

// Whether a doubled batch fits is said from the memory events, where there are some.
func TestADoubledBatchIsHeldAgainstMemory(t *testing.T) {
	for peak, want := range map[int64]string{8 << 30: "twice that fits", 60 << 30: "twice that does not fit"} {
		p := newProfile()
		p.more = `"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85031714816}],`
		for n := range 5 {
			p.marked(n, func() {
				for range 50 {
					p.during("cpu_op", "aten::add", func() { p.rests(60); p.kernel(relu, 3) })
				}
				p.put(`{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":100,"tid":100,"ts":%.3f,"args":{"Total Reserved":%d,"Total Allocated":%d,"Bytes":8,"Device Id":0,"Device Type":1}}`, p.at, peak+1<<30, peak)
			})
		}
		_, plan := judged(t, p)
		said := fmt.Sprint(plan.Fixes)
		if !strings.Contains(said, want) {
			t.Errorf("peak %d: no %q in %s", peak, want, said)
		}
	}
}

// A device that is at work three quarters of the time follows the host, if each kernel starts at its launch: a faster
// one would only wait for longer. If the host runs ahead, the device is the limit.
func TestTheHostSetsThePace(t *testing.T) {
	for ahead, want := range map[bool]diagnose.Class{false: diagnose.LaunchBound, true: diagnose.GPUBound} {
		p := newProfile()
		for n := range 5 {
			p.marked(n, func() {
				for range 40 {
					p.during("cpu_op", "aten::mm", func() {
						if !ahead {
							p.rests(95)
						}
						p.kernel(gemm, 75)
					})
				}
				if ahead { // the host works for the next step when all is done
					p.waits()
					p.during("cpu_op", "aten::add", func() { p.rests(900) })
				}
			})
		}
		v, _ := judged(t, p)
		if !v.Class.Is(want) {
			t.Errorf("host ahead %v: %s, kernels %.2f, idle %.2f; want %s", ahead, v.Class, v.Shares.Kernel, v.Shares.Idle, want)
		}
	}
}
