package diagnose_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// tape writes runs with a Timeline by hand; times in microseconds, on one thread
// and one device. Events are added in order of start.
type tape struct {
	run *recording.Run
	t   *recording.Timeline
}

func newTape(gpu string, capability string) *tape {
	t := &recording.Timeline{
		Threads: []recording.Thread{{PID: 1, ID: 11, Name: "main"}, {PID: 1, ID: 12, Name: "autograd"}},
		Devices: []recording.Device{{PID: 1}},
	}
	run := &recording.Run{Timeline: t}
	run.Facts.GPUs = []recording.GPU{{Name: gpu, Capability: capability, SMs: 100}}
	run.Facts.Processes = []recording.Process{{PID: 1, Role: recording.RoleTrainer}}
	return &tape{run, t}
}

func (p *tape) name(s string) int32 {
	if i := slices.Index(p.t.Names, s); i >= 0 {
		return int32(i)
	}
	p.t.Names = append(p.t.Names, s)
	return int32(len(p.t.Names) - 1)
}

func (p *tape) host(kind recording.CallKind, from, to float64, name string) int32 {
	h := &p.t.Host
	h.Start, h.End = append(h.Start, int64(1e3*from)), append(h.End, int64(1e3*to))
	h.Name, h.Thread, h.Kind = append(h.Name, p.name(name)), append(h.Thread, 0), append(h.Kind, kind)
	h.Shapes, h.Types = append(h.Shapes, -1), append(h.Types, -1)
	p.t.End = max(p.t.End, int64(1e3*to))
	return int32(len(h.Start) - 1)
}

// work adds device work and returns its place, for what most of it leaves out.
func (p *tape) work(kind recording.WorkKind, from, to float64, name string, call int32) int {
	w := &p.t.Device
	w.Start, w.End = append(w.Start, int64(1e3*from)), append(w.End, int64(1e3*to))
	w.Name, w.Device, w.Stream = append(w.Name, p.name(name)), append(w.Device, 0), append(w.Stream, 7)
	w.Kind, w.Call, w.Bytes = append(w.Kind, kind), append(w.Call, call), append(w.Bytes, -1)
	w.Blocks, w.Threads, w.Group = append(w.Blocks, 0), append(w.Threads, 0), append(w.Group, -1)
	w.PerSM, w.Occupancy = append(w.PerSM, float32(math.NaN())), append(w.Occupancy, float32(math.NaN()))
	p.t.End = max(p.t.End, int64(1e3*to))
	return len(w.Start) - 1
}

const (
	op, mark, call = recording.Op, recording.Annotation, recording.Runtime
	kernel, copied = recording.Kernel, recording.Copy
)

// steps repeats a step of a length until there are five that count; body writes
// one that begins at an instant.
func (p *tape) steps(length float64, body func(at float64)) *recording.Run {
	for i := range 7 {
		at := length * float64(i)
		p.host(mark, at, at+length, fmt.Sprintf("ProfilerStep#%d", i))
		p.run.Steps = append(p.run.Steps, recording.Step{
			PID: 1, Loader: 1, N: i, Start: at / 1e6, Period: length / 1e6, Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Phase: recording.Train,
		})
		body(at)
	}
	return p.run
}

// burst launches n kernels of a length back to back, from one instant on.
func (p *tape) burst(at, each float64, n int, name string) {
	for i := range n {
		c := p.host(call, at+float64(i), at+float64(i)+0.5, "cudaLaunchKernel")
		from := at + 10 + each*float64(i)
		p.work(kernel, from, from+each, name, c)
	}
}

const (
	hopper = "NVIDIA H100 80GB HBM3"
	wgmma  = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
)

// Each ailment by its name: what is written, and what the verdict must say.
var tapes = map[string]struct {
	write    func() *recording.Run
	class    diagnose.Class
	findings []string
	not      []string
}{
	"cpu-bound/main-thread-loader": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.host(mark, at, at+5000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
			p.burst(at+5000, 990, 5, wgmma)
		})
	}, diagnose.MainThread, []string{"data-loader-wait"}, []string{"launch-bound", "no-tensor-cores"}},

	"cpu-bound/too-few-workers": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.host(mark, at, at+5000, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
			p.burst(at+5000, 990, 5, wgmma)
		})
	}, diagnose.TooFewWorkers, []string{"data-loader-wait"}, nil},

	"gpu-bound/tensor": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) { p.burst(at, 995, 10, wgmma) })
	}, diagnose.GPUTensor, nil, []string{"launch-bound", "no-tensor-cores", "elementwise-chains"}},

	"gpu-bound/precision": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) { p.burst(at, 995, 10, "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8") })
	}, diagnose.GPUPrecision, []string{"no-tensor-cores"}, nil},

	"products with a vector": {func() *recording.Run { // decode of one sequence behind a prefill
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.burst(at, 1000, 6, wgmma)
			p.burst(at+6000, 990, 4, "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false>")
		})
	}, diagnose.GPUBound, nil, []string{"no-tensor-cores"}},

	"kernels of a compiler without words": {func() *recording.Run { // products among them
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) { p.burst(at, 995, 10, "triton__0d1d2d3d") })
	}, diagnose.GPUBound, nil, nil},

	"a device before Tensor Cores": {func() *recording.Run {
		p := newTape("Tesla P100-PCIE-16GB", "6.0")
		return p.steps(10000, func(at float64) { p.burst(at, 995, 10, "maxwell_sgemm_128x64_nn") })
	}, diagnose.GPUBound, nil, []string{"no-tensor-cores"}},

	"matrix kernels of unknown names": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) { p.burst(at, 995, 10, "my_gemm_kernel") })
	}, diagnose.GPUBound, nil, []string{"no-tensor-cores"}},

	// d = a + b + c, the golden case: two kernels, of whose bytes one would move 2/3.
	"gpu-bound/memory": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.burst(at, 400, 1, wgmma)
			p.burst(at+400, 2400, 2, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>")
			p.burst(at+5300, 400, 1, wgmma)
			p.burst(at+5700, 2100, 2, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>")
		})
	}, diagnose.GPUMemory, []string{"elementwise-chains"}, []string{"no-tensor-cores"}},

	"transfer-bound": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			c := p.host(call, at, at+10, "cudaMemcpyAsync")
			w := p.work(copied, at+10, at+6000, "Memcpy HtoD (Pinned -> Device)", c)
			p.t.Device.Bytes[w] = 300e6
			p.burst(at+6000, 990, 4, wgmma)
		})
	}, diagnose.TransferBound, []string{"serial-copies", "pcie-limited"}, []string{"pageable-copies", "tiny-copies"}},

	"pageable copies": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			c := p.host(call, at, at+4000, "cudaMemcpyAsync")
			w := p.work(copied, at+100, at+3990, "Memcpy HtoD (Pageable -> Device)", c)
			p.t.Device.Bytes[w] = 38e6
			p.burst(at+4000, 980, 6, wgmma)
		})
	}, diagnose.TransferBound, []string{"pageable-copies"}, []string{"pcie-limited"}},

	"tiny copies": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			for i := range 30 {
				c := p.host(call, at+10*float64(i), at+10*float64(i)+5, "cudaMemcpyAsync")
				w := p.work(copied, at+10*float64(i)+2, at+10*float64(i)+4, "Memcpy HtoD (Pageable -> Device)", c)
				p.t.Device.Bytes[w] = 8
			}
			p.burst(at+300, 960, 10, wgmma)
		})
	}, diagnose.GPUTensor, []string{"tiny-copies"}, []string{"pageable-copies"}},

	"launch-bound": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			for i := range 200 {
				from := at + 50*float64(i)
				p.host(op, from, from+45, "aten::add")
				p.burst(from+30, 4, 1, wgmma)
			}
		})
	}, diagnose.LaunchBound, []string{"launch-bound"}, []string{"host-work"}},

	"cpu-bound": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.host(op, at, at+6000, "aten::topk")
			p.burst(at+6000, 390, 10, wgmma)
		})
	}, diagnose.CPUBound, []string{"host-work"}, []string{"launch-bound"}},

	"hidden sync": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.burst(at, 900, 10, wgmma)
			p.host(op, at+100, at+9100, "aten::item")
			c := p.host(call, at+110, at+9090, "cudaMemcpyAsync")
			w := p.work(copied, at+9011, at+9013, "Memcpy DtoH (Device -> Pageable)", c)
			p.t.Device.Bytes[w] = 4
		})
	}, diagnose.GPUTensor, []string{"hidden-sync"}, []string{"explicit-sync"}},

	"explicit sync": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.burst(at, 900, 10, wgmma)
			p.host(call, at+100, at+9100, "cudaDeviceSynchronize")
		})
	}, diagnose.GPUTensor, []string{"explicit-sync"}, []string{"hidden-sync"}},

	"allocator": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.host(call, at, at+500, "cudaFree")
			p.burst(at+500, 940, 10, wgmma)
		})
	}, diagnose.GPUTensor, []string{"allocator"}, nil},

	"garbage collection": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.host(recording.Collector, at, at+500, "Python GC")
			p.burst(at+500, 940, 10, wgmma)
		})
	}, diagnose.GPUTensor, []string{"garbage-collection"}, []string{"allocator"}},

	"network-bound": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.burst(at, 600, 10, wgmma)
			c := p.host(call, at+20, at+21, "cudaLaunchKernel")
			p.work(recording.Collective, at+6010, at+9990, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", c)
		})
	}, diagnose.NetworkBound, []string{"exposed-communication"}, []string{"probable-communication"}},

	"exchange that only its name tells": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			p.burst(at, 600, 10, wgmma)
			c := p.host(call, at+20, at+21, "cudaLaunchKernel")
			p.work(kernel, at+6010, at+9990, "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>", c)
		})
	}, diagnose.NetworkBound, []string{"exposed-communication"}, nil},

	"exchange that nothing tells": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		p.run.Facts.Processes[0].World = 8
		return p.steps(10000, func(at float64) {
			p.burst(at, 600, 10, wgmma)
			c := p.host(call, at+20, at+21, "cudaLaunchKernel")
			w := p.work(kernel, at+6010, at+9990, "vendor_xyz", c)
			p.t.Device.PerSM[w] = 0.1
		})
	}, "", []string{"probable-communication"}, []string{"exposed-communication"}},

	"small grids": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		run := p.steps(10000, func(at float64) { p.burst(at, 990, 10, wgmma) })
		for i := range p.t.Device.PerSM {
			p.t.Device.PerSM[i] = 0.2
		}
		return run
	}, diagnose.GPUTensor, []string{"small-grids"}, nil},

	"unaligned shapes": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			i := p.host(op, at, at+20, "aten::mm")
			p.t.Host.Shapes[i] = p.name("[[4096,1024],[1024,50257]]")
			p.burst(at, 990, 10, wgmma)
		})
	}, diagnose.GPUTensor, []string{"unaligned-shapes"}, nil},

	"aligned shapes": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			i := p.host(op, at, at+20, "aten::mm")
			p.t.Host.Shapes[i] = p.name("[[4096,1024],[1024,50304]]")
			p.burst(at, 990, 10, wgmma)
		})
	}, diagnose.GPUTensor, nil, []string{"unaligned-shapes"}},

	"odd rows": {func() *recording.Run { // how many rows there are moves none off its place
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			i := p.host(op, at, at+20, "aten::mm")
			p.t.Host.Shapes[i] = p.name("[[5185,1024],[1024,1000]]")
			p.burst(at, 990, 10, wgmma)
		})
	}, diagnose.GPUTensor, nil, []string{"unaligned-shapes"}},

	"unaligned shapes without Tensor Cores": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) {
			i := p.host(op, at, at+20, "aten::mm")
			p.t.Host.Shapes[i] = p.name("[[4096,1024],[1024,50257]]")
			p.burst(at, 990, 10, "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8")
		})
	}, diagnose.GPUPrecision, nil, []string{"unaligned-shapes"}},

	"start-up": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		p.host(call, 0, 5e6, "cudaStreamCreateWithFlags")
		for i := range 20 {
			at := 5e6 + 1e4*float64(i)
			p.host(call, at, at+9e3, "cudaMalloc")
			p.burst(at+9e3, 5, 1, wgmma)
		}
		return p.run
	}, diagnose.StartUp, nil, []string{"allocator", "launch-bound"}},

	"no device": {func() *recording.Run {
		p := newTape(hopper, "9.0")
		return p.steps(10000, func(at float64) { p.host(op, at, at+9000, "aten::mm") })
	}, diagnose.Unknown, nil, nil},
}

func TestTapes(t *testing.T) {
	for name, c := range tapes {
		t.Run(name, func(t *testing.T) {
			v := judge.Judge(c.write())
			if c.class != "" && v.Class != c.class {
				t.Errorf("class %s, want %s; scores %v, causes %v, shares %+v", v.Class, c.class, v.Scores, v.Causes, v.Shares)
			}
			for _, want := range c.findings {
				if f := find(v, want); f.Name == "" {
					t.Errorf("finding %q is missing from %v", want, names(v))
				} else if f.Advice == "" || !(f.To > f.From) || strings.Contains(f.Text, "NaN") || strings.Contains(f.Text, "%!") {
					t.Errorf("finding without advice or place, or with a bad text: %+v", f)
				}
			}
			for _, not := range c.not {
				if find(v, not).Name != "" {
					t.Errorf("finding %q must not be", not)
				}
			}
			checkVerdict(t, v)
		})
	}
}

func find(v diagnose.Verdict, name string) diagnose.Finding {
	for _, f := range v.Findings {
		if f.Name == name {
			return f
		}
	}
	return diagnose.Finding{}
}

func names(v diagnose.Verdict) []string {
	var out []string
	for _, f := range v.Findings {
		out = append(out, f.Name)
	}
	return out
}

// checkVerdict holds what is true of every verdict from a trace.
func checkVerdict(t *testing.T, v diagnose.Verdict) {
	t.Helper()
	if v.Causes == nil {
		return // no device
	}
	s := v.Shares
	if sum := s.Kernel + s.Copy + s.Communication + s.Idle; math.Abs(sum-1) > 1e-9 {
		t.Errorf("shares add up to %v", sum)
	}
	sum := 0.0
	for _, c := range v.Causes {
		sum += c.Share
	}
	if math.Abs(sum-v.Idle) > 1e-9 {
		t.Errorf("causes add up to %v, idle is %v", sum, v.Idle)
	}
	if math.IsNaN(v.Stall) {
		if !slices.ContainsFunc(v.Doubts, func(text string) bool { return strings.Contains(text, "links to no launch") }) {
			t.Errorf("the stall is unknown, and nothing says why: %q", v.Doubts)
		}
	} else if v.StallSource != diagnose.FromTrace || v.Stall > v.Idle+1e-12 {
		t.Errorf("stall %v from %q, idle %v", v.Stall, v.StallSource, v.Idle)
	}
	if len(v.Evidence) == 0 {
		t.Error("a verdict without evidence")
	}
	for _, f := range v.Findings {
		for _, change := range f.Settings {
			if !slices.Contains((stoker.Settings{change.Setting: change.To}).Names(), change.Setting) {
				t.Errorf("finding %s changes nothing: %v", f.Name, change)
			}
		}
	}
}

// The golden case: two chains of two kernels in each step take 9 ms of it, and
// 6 ms would be left.
func TestGoldenChain(t *testing.T) {
	v := judge.Judge(tapes["gpu-bound/memory"].write())
	f := find(v, "elementwise-chains")
	if got := f.Seconds / float64(len(v.Costs.Window.Steps)); math.Abs(got-0.003) > 0.0001 {
		t.Errorf("fusion saves %v s per step, want 0.003", got)
	}
	if len(f.Settings) != 1 || f.Settings[0].Setting != stoker.Compile || !strings.Contains(f.Advice, "torch.compile") {
		t.Errorf("settings %v, advice %q", f.Settings, f.Advice)
	}
}

func TestRankThatComesLast(t *testing.T) {
	p := newTape(hopper, "9.0")
	p.t.Threads[1] = recording.Thread{PID: 1, ID: 12, Name: "main", Rank: 1}
	p.t.Devices = append(p.t.Devices, recording.Device{PID: 1, Index: 0, Rank: 1})
	run := p.steps(10000, func(at float64) {
		c := p.host(call, at, at+1, "cudaLaunchKernel")
		p.work(kernel, at+5, at+4000, wgmma, c)
		p.work(recording.Collective, at+4000, at+9990, "ncclDevKernel_AllReduce", c)
		p.t.Host.Start = append(p.t.Host.Start[:len(p.t.Host.Start):len(p.t.Host.Start)], int64(1e3*(at+1)))
		h := &p.t.Host
		h.End, h.Name, h.Thread = append(h.End, int64(1e3*(at+2))), append(h.Name, p.name("cudaLaunchKernel")), append(h.Thread, 1)
		h.Kind, h.Shapes, h.Types = append(h.Kind, call), append(h.Shapes, -1), append(h.Types, -1)
		other := int32(len(h.Start) - 1)
		for _, w := range []int{p.work(kernel, at+6, at+9500, wgmma, other), p.work(recording.Collective, at+9500, at+9990, "ncclDevKernel_AllReduce", other)} {
			p.t.Device.Device[w] = 1
		}
	})
	for _, s := range slices.Clone(run.Steps) {
		s.Rank = 1
		run.Steps = append(run.Steps, s)
	}
	v := judge.Judge(run)
	if v.Class != diagnose.StragglerRank || !strings.Contains(v.Evidence[0].Text, "rank 1 comes last") {
		t.Errorf("class %s, evidence %v, scores %v", v.Class, v.Evidence, v.Scores)
	}
}

// Whatever a Timeline holds, a verdict is given, adds up and holds no unknown
// value in a sentence.
func TestRandomTimelinesAreJudged(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	calls := []string{"aten::mm", "aten::item", "ProfilerStep#1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMalloc", "cudaDeviceSynchronize"}
	kinds := []recording.CallKind{op, op, mark, mark, call, call, call, call}
	works := []string{wgmma, "volta_sgemm_128x64_nn", "void at::native::vectorized_elementwise_kernel<4>", "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)", "ncclDevKernel", "Memset"}
	for range 500 {
		p := newTape(hopper, []string{"9.0", "7.0", "", "x"}[r.IntN(4)])
		scale := math.Pow(10, float64(r.IntN(5)))
		at := 0.0
		for range r.IntN(60) {
			at += scale * r.Float64()
			n := r.IntN(len(calls))
			i := p.host(kinds[n], at, at+scale*r.Float64()*float64(1+r.IntN(8)), calls[n])
			p.t.Host.Shapes[i] = p.name([]string{"[[3,4],[4,5]]", "[[999,1001],[1001,77]]", "[[[1,2]],", ""}[r.IntN(4)])
		}
		at = 0
		for range r.IntN(80) {
			at += scale * r.Float64()
			w := p.work(recording.WorkKind(r.IntN(4)), at, at+scale*r.Float64(), works[r.IntN(len(works))], int32(r.IntN(len(p.t.Host.Start)+1))-1)
			p.t.Device.Bytes[w] = int64(r.IntN(1e8)) - 1
			p.t.Device.PerSM[w] = float32(r.Float64())
		}
		for i := range r.IntN(5) {
			p.run.Steps = append(p.run.Steps, recording.Step{PID: 1, N: i, Start: 5e-6 * scale * float64(i), Period: 5e-6 * scale, Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Phase: recording.Train})
		}
		v := judge.Judge(p.run)
		checkVerdict(t, v)
		for _, text := range texts(v) {
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "%!") {
				t.Fatalf("bad text %q", text)
			}
		}
	}
}

func texts(v diagnose.Verdict) []string {
	out := slices.Clone(v.Warnings)
	for _, e := range v.Evidence {
		out = append(out, e.Text)
	}
	for _, f := range v.Findings {
		out = append(out, f.Text, f.Advice)
	}
	return out
}

// What is known of public traces, by those who recorded them; see
// ../shared/traces/SOURCES.md. They are not part of the project.
func TestSharedTraces(t *testing.T) {
	for name, want := range map[string]struct {
		class    diagnose.Class
		cause    string
		low, top float64 // of the window
		findings []string
	}{
		"resnet50_v100_workers0_a": {diagnose.MainThread, "data-loader", 0.20, 0.34, []string{"data-loader-wait", "pageable-copies"}},
		"resnet50_v100_workers0_c": {diagnose.MainThread, "data-loader", 0.20, 0.34, []string{"data-loader-wait", "pageable-copies"}},
		"resnet50_v100_workers4_a": {diagnose.GPUPrecision, "data-loader", 0, 0.008, []string{"pageable-copies"}},
		"resnet50_v100_workers4_c": {diagnose.LaunchBound, "data-loader", 0, 0.008, []string{"pageable-copies"}},
		"owlv2_h100":               {diagnose.MainThread, "data-loader", 0.50, 0.52, []string{"data-loader-wait"}},
		"timesformer_h100":         {diagnose.CPUBound, "python", 0.57, 0.59, []string{"host-work", "hidden-sync", "pageable-copies"}},
		"bert_small_h100":          {diagnose.LaunchBound, "python", 0.40, 0.55, []string{"launch-bound"}},
		"eager_b200":               {diagnose.LaunchBound, "cpu-op", 0.45, 0.58, []string{"launch-bound"}},
		"qwen05b_h100":             {diagnose.GPUMemory, "device-latency", 0.045, 0.055, []string{"elementwise-chains"}},
		"resnet_ddp_mi300":         {diagnose.NetworkBound, "device-latency", 0, 0.01, []string{"exposed-communication"}},
		"ddp_v100_rank0":           {diagnose.LaunchBound, "cpu-op", 0.25, 0.35, []string{"exposed-communication", "launch-bound"}},
		"nccl_ddp":                 {diagnose.LaunchBound, "cpu-op", 0.55, 0.63, []string{"exposed-communication"}},
		"alexnet_warmup":           {diagnose.StartUp, "warm-up", 0.85, 1, nil},
		"cpu_only":                 {diagnose.Unknown, "", 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("../../shared/traces/kineto", name+".json.gz")
			if _, err := os.Stat(file); err != nil {
				t.Skip("the public traces are not here: ", err)
			}
			run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			v := judge.Judge(run)
			if v.Class != want.class {
				t.Errorf("class %s, want %s; scores %v", v.Class, want.class, v.Scores)
			}
			if share := causeShare(v, want.cause); want.cause != "" && !(share >= want.low && share <= want.top) {
				t.Errorf("%s %.3f of the window, want %.3f to %.3f", want.cause, share, want.low, want.top)
			}
			for _, f := range want.findings {
				if find(v, f).Name == "" {
					t.Errorf("finding %q is missing from %v", f, names(v))
				}
			}
			checkVerdict(t, v)
		})
	}
}

func causeShare(v diagnose.Verdict, cause string) float64 {
	for _, c := range v.Causes {
		if c.Cause == cause {
			return c.Share
		}
	}
	return 0
}

// ranksOf writes two ranks whose steps end in an all-reduce: rank 1 computes for
// busy microseconds after its host did nothing for late ones; rank 0 is done at
// once.
func ranksOf(late, busy float64) *recording.Run {
	p := newTape(hopper, "9.0")
	p.t.Threads[1] = recording.Thread{PID: 2, ID: 12, Name: "main", Rank: 1}
	p.t.Devices = append(p.t.Devices, recording.Device{PID: 2, Index: 1, Rank: 1, GPU: -1})
	p.run.Facts.Processes = append(p.run.Facts.Processes, recording.Process{PID: 2, Role: recording.RoleTrainer, Rank: 1})
	run := p.steps(10000, func(at float64) {
		for rank, begin := range []float64{at + 10, at + 10 + late} {
			c := p.host(call, at+late*float64(rank)+float64(rank), at+late*float64(rank)+float64(rank)+5, "cudaLaunchKernel")
			p.t.Host.Thread[c] = int32(rank)
			end := begin + 1000
			if rank == 1 {
				end = begin + busy
			}
			for _, w := range []int{p.work(kernel, begin, end, wgmma, c), p.work(recording.Collective, end, at+9990, "ncclDevKernel_AllReduce", c)} {
				p.t.Device.Device[w] = int32(rank)
			}
		}
	})
	for _, s := range slices.Clone(run.Steps) {
		s.PID, s.Rank = 2, 1
		run.Steps = append(run.Steps, s)
	}
	return run
}

// The rank that the others wait for is named and judged, whatever makes it late;
// without one, the exchange itself is to blame.
func TestStragglerIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		late, busy float64
		class      diagnose.Class
		rank       int
	}{
		"slow device": {0, 8000, diagnose.StragglerRank, 1},
		"slow host":   {6000, 1500, diagnose.StragglerRank, 1},
		"none":        {0, 1000, diagnose.NetworkBound, 0},
	} {
		v := judge.Judge(ranksOf(c.late, c.busy))
		if v.Class != c.class || v.Rank != c.rank {
			t.Errorf("%s: %s of rank %d, want %s of rank %d; scores %v", name, v.Class, v.Rank, c.class, c.rank, v.Scores)
		}
		named := len(v.Evidence) > 0 && strings.Contains(v.Evidence[0].Text, "rank 1 comes last to")
		if named != (c.class == diagnose.StragglerRank) {
			t.Errorf("%s: evidence %v", name, v.Evidence)
		}
	}
}

// How many workers there are, a multi-process iterator does not tell: the advice
// is so many times as many, from an unknown number.
func TestWorkersThatNobodyCounted(t *testing.T) {
	f := findingOf(t, judge.Judge(tapes["cpu-bound/too-few-workers"].write()), "data-loader-wait")
	if len(f.Settings) != 1 || f.Settings[0].Setting != stoker.NumWorkers || f.Settings[0].From != nil || f.Settings[0].To != 2 {
		t.Errorf("several: %v", f.Settings)
	}
	f = findingOf(t, judge.Judge(tapes["cpu-bound/main-thread-loader"].write()), "data-loader-wait")
	if len(f.Settings) == 0 || f.Settings[0].From != 0 {
		t.Errorf("single: %v", f.Settings)
	}
}

func findingOf(t *testing.T, v diagnose.Verdict, name string) diagnose.Finding {
	t.Helper()
	i := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no %s in %v", name, v.Findings)
	}
	return v.Findings[i]
}
