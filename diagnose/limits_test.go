package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// Nine per cent of exposed collectives beside 73 % of kernels and no idle time are no limit:
// the device's own work is.
func TestASmallExchangeIsNotTheLimit(t *testing.T) {
	const sgemm = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8"
	run := func(exchange float64) diagnose.Verdict {
		p := newTape(hopper, "9.0")
		return judge.Judge(p.steps(10000, func(at float64) {
			c := p.host(call, at, at+1, "cudaMemcpyAsync")
			p.work(copied, at+10, at+1300, "Memcpy DtoD (Device -> Device)", c)
			p.burst(at+1300, (8680-exchange)/10, 10, sgemm)
			c = p.host(call, at+1500, at+1502, "cudaLaunchKernelExC")
			p.work(recording.Collective, at+9990-exchange, at+9990, "ncclDevKernel_SendRecv(x)", c)
		}))
	}
	if v := run(900); !v.Class.Is(diagnose.GPUBound) || v.Findings[0].Name != "no-tensor-cores" {
		t.Errorf("%s, %v; scores %v", v.Class, names(v), v.Scores[:3])
	}
	if v := run(3500); v.Class != diagnose.NetworkBound {
		t.Errorf("a third of the window: %s; scores %v", v.Class, v.Scores[:3])
	}
}

// Calls that launch work say that the model does not compute on the CPU.
func TestLaunchesWithoutWork(t *testing.T) {
	p := newTape(hopper, "9.0")
	for i := range 236 {
		p.host(call, 10*float64(i), 10*float64(i)+4, "cudaLaunchKernel")
	}
	v := judge.Judge(p.whole())
	if v.Class != diagnose.Unknown || v.RunnerUp == diagnose.ComputeOnCPU || len(v.Evidence) == 0 || !strings.Contains(v.Evidence[0].Text, "236 launches") {
		t.Errorf("%s, nearest %s: %v", v.Class, v.RunnerUp, v.Evidence)
	}
}

// A recording without device work in which nobody computes anything tells of no model on
// the CPU.
func TestNothingComputes(t *testing.T) {
	for kind, nearest := range map[recording.CallKind]diagnose.Class{op: diagnose.ComputeOnCPU, mark: "", call: ""} {
		p := newTape(hopper, "9.0")
		p.run.Facts.GPUs = nil
		for i := range 50 {
			p.host(kind, 1000*float64(i), 1000*float64(i)+900, "something")
		}
		v := judge.Judge(p.whole())
		if v.Class != diagnose.Unknown || v.RunnerUp != nearest || strings.Contains(v.Evidence[0].Text, "the model computes") != (nearest != "") {
			t.Errorf("kind %d: %s, nearest %q: %v", kind, v.Class, v.RunnerUp, v.Evidence)
		}
	}
}

// A device that was used, or that the file lists, is no sign of a model on the CPU: what was
// not recorded is said.
func TestDeviceThatWasNotRecorded(t *testing.T) {
	for name, says := range map[string]string{
		"aten::conv2d": "lists NVIDIA H100", "aten::cudnn_convolution": "the GPU was used and not recorded: aten::cudnn_convolution",
		"Optimizer.step#FusedAdam.step": "used and not recorded", "nccl:all_reduce": "used and not recorded",
	} {
		p := newTape(hopper, "9.0")
		for i := range 50 {
			p.host(op, 1000*float64(i), 1000*float64(i)+900, name)
		}
		v := judge.Judge(p.whole())
		if v.Class != diagnose.Unknown || v.RunnerUp != "" || !strings.Contains(v.Evidence[0].Text, says) {
			t.Errorf("%s: %s, nearest %q: %v", name, v.Class, v.RunnerUp, v.Evidence)
		}
		if !strings.Contains(v.Do(), "ProfilerActivity.CUDA") {
			t.Errorf("%s: do %q", name, v.Do())
		}
	}
}

// A range of somebody's that holds no call for a millisecond is work, however short the
// gap; operators between launches are not.
func TestWorkInOneRange(t *testing.T) {
	for kind, class := range map[recording.CallKind]diagnose.Class{mark: diagnose.CPUBound, op: diagnose.LaunchBound} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.steps(10000, func(at float64) {
			for i := range 8 {
				from := at + 1250*float64(i)
				p.host(kind, from, from+1100, "ensure_weights")
				p.burst(from+1110, 12, 4, wgmma)
			}
		}))
		said := slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return strings.Contains(e.Text, "in which nothing is launched") })
		if v.Class != class || said != (kind == mark) {
			t.Errorf("kind %d: %s: %v", kind, v.Class, v.Evidence)
		}
	}
}

// What a class is told to do is in the words of the program's own framework.
func TestDoIsOfTheProgram(t *testing.T) {
	for framework, words := range map[string]string{"": "pin_memory=True", "CUDA": "cudaMemcpyAsync", "JAX": "jax.device_put"} {
		v := diagnose.Verdict{Class: diagnose.TransferBound, Grounds: diagnose.Grounds{Framework: framework}}
		if !strings.Contains(v.Do(), words) || framework != "" && strings.Contains(v.Do(), "pin_memory") {
			t.Errorf("%q: %s", framework, v.Do())
		}
	}
}

// A slow network of a program that trains nothing is not told to accumulate gradients, and
// one collective that takes most of the time is said to.
func TestOneLongCollective(t *testing.T) {
	for last, lone := range map[float64]bool{441_000: true, 4000: false} {
		p := newTape(hopper, "9.0")
		at := 0.0
		for i := range 19 {
			p.host(op, at, at+500, "aten::linear")
			p.burst(at+500, 200, 10, wgmma)
			length := 4000.0
			if i == 18 {
				length = last
			}
			c := p.host(call, at+2400, at+2410, "cudaLaunchKernelExC")
			p.work(recording.Collective, at+2600, at+2600+length, "ncclDevKernel_AllGather_RING_LL(x)", c)
			at += 2600 + length
		}
		v := judge.Judge(p.whole())
		if v.Class != diagnose.NetworkBound || strings.Contains(v.Do(), "gradient") || strings.Contains(v.Do(), "FSDP") || warned(v, "one collective takes") != lone {
			t.Errorf("a last one of %.0f us: %s, %q, %q", last, v.Class, v.Do(), v.Warnings)
		}
	}
}

// Steps that are a small part of what the device did are said to be.
func TestStepsAmongMuchElse(t *testing.T) {
	for gap, said := range map[float64]bool{0: false, 5e6: true} {
		p := newTape(hopper, "9.0")
		p.burst(0, 960, 10, wgmma)
		run := p.steps(10000, func(at float64) { p.burst(at+10000, 960, 10, wgmma) })
		p.burst(90000+gap, 960, 10, wgmma)
		if v := judge.Judge(run); warned(v, "from the device's first work to its last") != said {
			t.Errorf("a gap of %.0f s: %q", gap/1e6, v.Warnings)
		}
	}
}

// Queued work that waits on the only stream of a file waits for no other stream.
func TestWaitsOfTheOnlyStream(t *testing.T) {
	run := func(streams int32) diagnose.Finding {
		p := newTape(hopper, "9.0")
		return find(judge.Judge(p.steps(10000, func(at float64) {
			for i := range 4 {
				c := p.host(call, at+float64(i), at+float64(i)+0.5, "cudaLaunchKernel")
				from := at + 10 + 2495*float64(i)
				w := p.work(kernel, from, from+1200, wgmma, c)
				p.t.Device.Stream[w] = 7 + int32(i)%streams
			}
		})), "device-wait")
	}
	if f := run(1); f.Name == "" || strings.Contains(f.Advice+f.Text, "cudaStreamWaitEvent") || !strings.Contains(f.Text, "does not tell why") {
		t.Errorf("%q %q", f.Text, f.Advice)
	}
	graph := newTape(hopper, "9.0")
	f := find(judge.Judge(graph.steps(10000, func(at float64) {
		c := graph.host(call, at, at+8, "cudaGraphLaunch")
		for i := range 12 {
			graph.work(kernel, at+20+800*float64(i), at+520+800*float64(i), wgmma, c)
		}
	})), "device-wait")
	if f.Name == "" || strings.Contains(f.Text, "another process") || !strings.Contains(f.Text, "one call launched") {
		t.Errorf("kernels of a graph: %q", f.Text)
	}
	begun := newTape(hopper, "9.0")
	for i := range 12 {
		c := begun.host(call, float64(i), float64(i)+0.5, "cudaLaunchKernel")
		begun.work(kernel, 8000+900*float64(i), 8890+900*float64(i), wgmma, c)
	}
	f = find(judge.Judge(begun.whole()), "device-wait")
	if f.Name == "" || strings.Contains(f.Text, "another process") || !strings.Contains(f.Text, "before the recorder began") {
		t.Errorf("work from before the recording: %q", f.Text)
	}
	// an event of the other stream is over with that stream's work, long before the kernel starts
	if f := run(2); !strings.Contains(f.Text, "no stream has any work") || strings.Contains(f.Advice, "cudaStreamWaitEvent") {
		t.Errorf("%q %q", f.Text, f.Advice)
	}
}

// Copies that take a fifth of what kernels take limit nothing where the device is never
// idle (annikola/cuda_bitonic_sort: kernels 84 %, copies 16 %); half of it does.
func TestASmallCopyIsNotTheLimit(t *testing.T) {
	for copies, class := range map[float64]diagnose.Class{1500: diagnose.GPUBound, 4000: diagnose.TransferBound} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.steps(10000, func(at float64) {
			c := p.host(call, at, at+copies, "cudaMemcpy")
			p.work(copied, at+5, at+copies, "Memcpy HtoD (Pageable -> Device)", c)
			p.burst(at+copies, (9990-copies)/10, 10, wgmma)
		}))
		if !v.Class.Is(class) {
			t.Errorf("copies of %.0f us of 10 ms: %s; scores %v", copies, v.Class, v.Scores[:3])
		}
	}
}

// A device that works six sevenths of the time is the limit, and the launches between its
// kernels are not (TraceLens, moe_02: kernels 85 %, the host 11 %).
func TestAFewGapsAreNotTheLimit(t *testing.T) {
	for each, class := range map[float64]diagnose.Class{86: diagnose.GPUBound, 60: diagnose.LaunchBound} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.steps(10000, func(at float64) {
			for i := range 100 {
				from := at + 100*float64(i)
				p.host(op, from, from+96-each, "aten::add")
				c := p.host(call, from+96-each, from+98-each, "cudaLaunchKernel")
				p.work(kernel, from+99-each, from+99, wgmma, c)
			}
		}))
		if !v.Class.Is(class) {
			t.Errorf("kernels %.0f %% of the time: %s; scores %v", each, v.Class, v.Scores[:3])
		}
	}
}
