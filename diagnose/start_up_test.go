package diagnose_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// whole makes one step of all that was written, as readers do where nothing repeats.
func (p *tape) whole() *recording.Run {
	p.run.Steps = []recording.Step{{
		PID: 1, Loader: 1, Period: float64(p.t.End) / 1e9, Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Phase: recording.Evaluate,
	}}
	return p.run
}

// What happens once looks like any ailment: a communicator that is made in the first
// all-gather like a slow network, a program's first 200 ms like work of the host.
func TestStartUp(t *testing.T) {
	for name, write := range map[string]func(p *tape){
		"a first all-gather": func(p *tape) {
			p.host(op, 0, 900, "aten::linear")
			p.burst(1000, 900, 5, wgmma)
			c := p.host(call, 6000, 6010, "cudaLaunchKernelExC")
			p.work(recording.Collective, 6100, 447000, "ncclDevKernel_AllGather_RING_LL(x)", c)
			for i := range 20 {
				at := 447100 + 2000*float64(i)
				p.burst(at, 90, 10, wgmma)
				c := p.host(call, at+1000, at+1010, "cudaLaunchKernelExC")
				p.work(recording.Collective, at+1100, at+1300, "ncclDevKernel_AllGather_RING_LL(x)", c)
			}
		},
		"a lazily loaded model": func(p *tape) {
			for i := range 12 {
				at := 10000 * float64(i)
				p.host(call, at, at+4900, "cudaMalloc")
				p.host(op, at+5000, at+8900, "aten::to")
				p.burst(at+9000, 90, 10, wgmma)
			}
		},
	} {
		p := newTape(hopper, "9.0")
		write(p)
		v := judge.Judge(p.whole())
		if v.Class != diagnose.StartUp || len(v.Findings) > 0 || len(v.Evidence) == 0 {
			t.Errorf("%s is %s: %v", name, v.Class, v.Evidence)
		} else if ranks := name == "a first all-gather"; strings.Contains(v.Evidence[0].Text, "collectives") != ranks {
			t.Errorf("%s: of several ranks %v: %s", name, ranks, v.Evidence[0].Text)
		}
	}
}

// What happens once is no work of the program's own, even where it is less than half.
func TestWarmUpIsNoWorkOfTheHost(t *testing.T) {
	for name, class := range map[string]diagnose.Class{"cudaLaunchKernel": diagnose.GPUTensor, "": diagnose.CPUBound} {
		p := newTape(hopper, "9.0")
		if name != "" {
			c := p.host(call, 0, 413_000, name)
			p.work(kernel, 413_010, 413_100, "void index(x)", c)
		} else {
			p.host(op, 0, 413_000, "aten::resize")
		}
		p.burst(413_200, 20_000, 30, wgmma)
		if v := judge.Judge(p.whole()); v.Class != class {
			t.Errorf("413 ms in %q: %s, scores %v", name, v.Class, v.Scores[:4])
		}
	}
}

// A program that sets the device up within the recording has started within it: what it
// does before is not judged, and the rest is.
func TestTheTimeBeforeTheFirstDeviceCall(t *testing.T) {
	write := func(first string) diagnose.Verdict {
		p := newTape(hopper, "9.0")
		p.host(mark, 0, 10, "main")
		p.host(call, 425_000, 429_000, first)
		for i := range 40 {
			p.burst(430_000+10_000*float64(i), 960, 10, wgmma)
		}
		p.host(mark, 900_000, 900_010, "exit")
		return judge.Judge(p.whole())
	}
	v := write("cuDevicePrimaryCtxRetain")
	if !v.Class.Is(diagnose.GPUBound) || v.Idle > 0.1 {
		t.Errorf("%s, idle %.2f: %v", v.Class, v.Idle, v.Evidence)
	}
	if !slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.Contains(w, "until the first long call of the device returned") }) {
		t.Errorf("nobody says what was left out: %q", v.Warnings)
	}
	p := newTape(hopper, "9.0")
	p.host(op, 0, 218_000, "aten::resize") // the recorder met this one on its way
	p.burst(218_000, 9000, 20, wgmma)
	if v := judge.Judge(p.whole()); v.Class != diagnose.CPUBound {
		t.Errorf("a gap of 218 ms in a loop is %s", v.Class)
	}
}

// A thousand kernels are more than a start, however soon they are done (cestwc/balinski-and-gomory-cuda: 6,400
// in 97 ms, 184 ms behind the first call).
func TestManyKernelsBehindALongStart(t *testing.T) {
	for works, class := range map[int]diagnose.Class{1200: diagnose.LaunchBound, 60: diagnose.StartUp} {
		p := newTape(hopper, "9.0")
		p.host(call, 1000, 1001, "cuModuleGetLoadingMode")
		p.host(call, 1100, 180_000, "cudaMalloc")
		for i := range works {
			at := 180_100 + 50*float64(i)
			p.work(kernel, at+8, at+10, "solve", p.host(call, at, at+6, "cudaLaunchKernel"))
		}
		if v := judge.Judge(p.whole()); !v.Class.Is(class) {
			t.Errorf("%d kernels: %s, %v", works, v.Class, v.Evidence)
		}
	}
}

// Work that was queued when the recording began runs behind work that is in no file (AMD-AGI/TraceLens
// graph_execution: 151 of 308 ms).
func TestWorkFromBeforeTheRecordingIsNoGap(t *testing.T) {
	for launched, class := range map[float64]diagnose.Class{20: diagnose.GPUBound, 150_000: diagnose.Unknown} {
		p := newTape(hopper, "9.0")
		p.host(mark, 0, 310_000, "execute_context_1(16)_generation_0(0)")
		c := p.host(call, launched, launched+10, "cudaGraphLaunch")
		for i := range 40 {
			at := 150_020 + 4000*float64(i)
			p.work(kernel, at, at+3990, wgmma, c)
		}
		if v := judge.Judge(p.whole()); !v.Class.Is(class) && (class != diagnose.Unknown || v.Class.Is(diagnose.GPUBound)) {
			t.Errorf("launched after %g us: %s, idle %.2f", launched, v.Class, v.Idle)
		}
	}
}

// A few copies that take long tell what limits a program (JiangShanCode/CUDATutorial: 76 ms in six).
func TestAFewLongCopiesAreJudged(t *testing.T) {
	for each, class := range map[float64]diagnose.Class{15_000: diagnose.TransferBound, 500: diagnose.Unknown} {
		p := newTape(hopper, "9.0")
		for i := range 4 {
			at := (each + 100) * float64(i)
			p.work(copied, at+20, at+each, "Memcpy HtoD (Pageable -> Device)", p.host(call, at, at+each, "cudaMemcpy"))
		}
		p.work(kernel, 4*(each+100)+20, 4*(each+100)+60, "add", p.host(call, 4*(each+100), 4*(each+100)+5, "cudaLaunchKernel"))
		run := p.whole()
		run.Facts.Software.Framework = diagnose.FrameworkCUDA
		if v := judge.Judge(run); v.Class != class {
			t.Errorf("copies of %g us: %s, %v", each, v.Class, v.Evidence)
		}
	}
}

// One gap before the first kernel of a recording without marks is the recorder's edge,
// unless it is what the recording is mostly about (DarthShoge/Crypto_CNN: 2.0 of 12.1 ms).
func TestTheGapBeforeTheFirstKernel(t *testing.T) {
	write := func(bounded bool) diagnose.Verdict {
		p := newTape(hopper, "9.0")
		p.host(op, 100, 2000, "aten::cudnn_convolution")
		p.burst(2000, 1000, 10, wgmma)
		run := p.whole()
		if bounded {
			p.host(mark, 0, 13_000, "ProfilerStep#1")
		}
		return judge.Judge(run)
	}
	v := write(false)
	if !v.Class.Is(diagnose.GPUBound) || v.Idle > 0.02 || !warned(v, "before the recording's first device work are not judged") {
		t.Errorf("%s, idle %.2f: %q", v.Class, v.Idle, v.Warnings)
	}
	if v := write(true); v.Idle < 0.15 {
		t.Errorf("the same gap within a marked step is left out: idle %.2f", v.Idle)
	}
}

// The driver's first call says that a program starts here, however short it is.
func TestTheFirstCallOfTheDriver(t *testing.T) {
	for first, class := range map[string]diagnose.Class{"cuModuleGetLoadingMode": diagnose.GPUBound, "cuInit": diagnose.GPUBound, "cudaStreamIsCapturing": diagnose.CPUBound} {
		p := newTape(hopper, "9.0")
		p.host(mark, 0, 10, "main")
		p.host(call, 93_000_000, 93_000_001, first)
		for i := range 40 {
			p.burst(93_001_000+10_000*float64(i), 960, 10, wgmma)
		}
		if v := judge.Judge(p.whole()); !v.Class.Is(class) {
			t.Errorf("93 s before %s: %s, idle %.2f", first, v.Class, v.Idle)
		}
	}
}

// Between the driver's first call and the next one a context is made, or the program does
// what it does before it uses the device.
func TestTheTimeBehindTheFirstCall(t *testing.T) {
	p := newTape(hopper, "9.0")
	p.host(call, 0, 1, "cuModuleGetLoadingMode")
	p.host(call, 425_000, 425_100, "cudaMalloc")
	for i := range 17 {
		p.burst(426_000+10_000*float64(i), 960, 10, wgmma)
	}
	v := judge.Judge(p.whole())
	if !v.Class.Is(diagnose.GPUBound) || !warned(v, "its start is not judged") {
		t.Errorf("%s, idle %.2f: %q", v.Class, v.Idle, v.Warnings)
	}
}

// What a program gives back behind its last work is its end, and no work of the host's.
func TestTheTimeInWhichModulesAreUnloaded(t *testing.T) {
	for last, class := range map[string]diagnose.Class{"cuModuleUnload": diagnose.GPUBound, "cuLibraryGetKernel": diagnose.CPUBound} {
		p := newTape(hopper, "9.0")
		p.burst(0, 300, 20, wgmma)
		for i := range 500 {
			p.host(call, 6100+1000*float64(i), 7000+1000*float64(i), last)
		}
		if v := judge.Judge(p.whole()); !v.Class.Is(class) {
			t.Errorf("%s after all work: %s, idle %.2f", last, v.Class, v.Idle)
		}
	}
}

// Of the time that a rank waits for the first collective of a recording nobody knows
// whether it is another one's recorder that began later.
func TestTheFirstCollectiveIsNoNetwork(t *testing.T) {
	p := newTape(hopper, "9.0")
	c := p.host(call, 10, 20, "cudaLaunchKernelExC")
	p.work(recording.Collective, 100, 3800, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", c)
	p.burst(3800, 900, 9, wgmma)
	c = p.host(call, 11900, 11910, "cudaLaunchKernelExC")
	p.work(recording.Collective, 11950, 12200, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", c)
	v := judge.Judge(p.whole())
	if v.Class == diagnose.NetworkBound || slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == "exposed-communication" }) {
		t.Errorf("%s: %v", v.Class, v.Findings)
	}
}

// The runtime makes the context in whichever call needs one first, be it a copy
// (michaelmichaeln/Parallel-Sheet-Simulator: cudaMemcpyToSymbol, 77 ms).
func TestTheCopyThatMakesTheContext(t *testing.T) {
	for first, class := range map[float64]diagnose.Class{0: diagnose.GPUBound, 100: diagnose.TransferBound} {
		p := newTape(hopper, "9.0")
		at := 0.0
		if first > 0 { // the context was there: the device had worked before
			p.burst(at, first, 1, wgmma)
			at += first + 20
		}
		c := p.host(call, at, at+77_000, "cudaMemcpyToSymbol")
		p.work(copied, at+76_990, at+76_999, "Memcpy HtoD (Pageable -> Device)", c)
		for i := range 110 {
			p.burst(at+77_100+1000*float64(i), 96, 10, wgmma)
		}
		if v := judge.Judge(p.whole()); !v.Class.Is(class) {
			t.Errorf("a first copy %.0f us after the first work: %s, %v", first, v.Class, v.Evidence)
		}
	}
}

// What the host does behind the last work, when it asks the device for nothing more, keeps no work waiting
// (hpcaitech/ColossalAI: 1.6 ms of launches, then 10 ms in one operator).
func TestTheTimeBehindTheLastWork(t *testing.T) {
	p := newTape(hopper, "9.0")
	for i := range 20 {
		at := 80 * float64(i)
		p.host(op, at, at+70, "aten::eq")
		p.work(kernel, at+60, at+64, "void eq(x)", p.host(call, at+40, at+50, "cudaLaunchKernel"))
	}
	p.host(op, 1700, 12_000, "aten::expand")
	p.host(call, 12_100, 12_110, "cudaDeviceSynchronize")
	if v := judge.Judge(p.whole()); v.Class != diagnose.LaunchBound || v.Costs.Window.End > 0.002 {
		t.Errorf("%s until %g s", v.Class, v.Costs.Window.End)
	}
}

// A start is told in words of what the file shows: modules and allocations, or gaps between a few kernels.
func TestAStartIsToldByWhatItShows(t *testing.T) {
	for want, write := range map[string]func(p *tape){
		"first allocations": func(p *tape) {
			for i := range 12 {
				at := 10000 * float64(i)
				p.host(call, at, at+4900, "cudaMalloc")
				p.host(op, at+5000, at+8900, "aten::to")
				p.burst(at+9000, 90, 10, wgmma)
			}
		},
		"gaps in which the file does not tell": func(p *tape) {
			for i := range 5 {
				p.burst(100_000*float64(i), 90, 2, wgmma)
			}
		},
		"one gap of 294 ms": func(p *tape) {
			p.burst(0, 90, 10, wgmma)
			p.burst(295_000, 90, 20, wgmma)
		},
	} {
		p := newTape(hopper, "9.0")
		write(p)
		if v := judge.Judge(p.whole()); v.Class != diagnose.StartUp || !strings.Contains(v.Evidence[0].Text, want) {
			t.Errorf("%s: %s, %q", want, v.Class, v.Evidence[0].Text)
		}
	}
}
