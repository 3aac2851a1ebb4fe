package idle_test

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// steps is a run with steps of given lengths, in microseconds, from 0 on; in each
// the host launches n kernels of 10 us after a start-up time.
func steps(lengths []float64, works []int, after float64) *recording.Run {
	l := newLine()
	run := &recording.Run{}
	at := 0.0
	for i, length := range lengths {
		run.Steps = append(run.Steps, recording.Step{PID: 1, Rank: -1, N: i, Start: at / 1e6, Period: length / 1e6})
		for k := range works[i] {
			start := at + after + 10*float64(k)
			l.kernel(start+4, start+14, l.launch(start))
		}
		at += length
	}
	run.Timeline = l.sorted()
	return run
}

func TestWindow(t *testing.T) {
	for name, c := range map[string]struct {
		lengths  []float64
		works    []int
		seen     int
		from, to int64 // us
	}{
		"first step left out":                  {[]float64{100, 100, 100, 100}, []int{5, 5, 5, 5}, 4, 100, 400},
		"a last step that was cut off, too":    {[]float64{100, 100, 100, 100}, []int{5, 5, 5, 3}, 4, 100, 300},
		"a last step with 80 % is kept":        {[]float64{100, 100, 100, 100}, []int{5, 5, 5, 4}, 4, 100, 400},
		"two steps are kept":                   {[]float64{100, 100}, []int{5, 1}, 2, 0, 200},
		"one step is kept":                     {[]float64{100}, []int{5}, 1, 0, 100},
		"a stub where the profiler stopped":    {[]float64{100, 0.5}, []int{5, 0}, 1, 0, 100},
		"steps without any work: all is taken": {[]float64{100, 100, 100}, []int{0, 0, 0}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := idle.Analyse(steps(c.lengths, c.works, 40))
			check(t, a)
			if c.seen == 0 {
				if len(a.Devices) != 0 {
					t.Errorf("%d devices without work", len(a.Devices))
				}
				return
			}
			d := a.Devices[0]
			if d.Seen != c.seen || d.From/1000 != c.from || d.To/1000 < c.to || d.To/1000 > c.to+14 {
				t.Errorf("%d steps, window %d to %d us; want %d, %d to %d", d.Seen, d.From/1000, d.To/1000, c.seen, c.from, c.to)
			}
		})
	}
}

// The host's time before a step's first kernel belongs to the step, also in a
// trace of one step: other tools begin at the first kernel.
func TestGapBeforeTheFirstKernel(t *testing.T) {
	d := idle.Analyse(steps([]float64{1000}, []int{5}, 900)).Devices[0]
	if d.From != 0 || d.Idle < 900_000 {
		t.Errorf("window from %d, idle %d ns: the 900 us before the first kernel are missing", d.From, d.Idle)
	}
}

// A host that runs ahead: what a step launched belongs to it, however late it
// runs, and the window follows the device.
func TestStepsOfAHostThatRunsAhead(t *testing.T) {
	l := newLine()
	run := &recording.Run{}
	for i := range 5 {
		at := 10 * float64(i)
		run.Steps = append(run.Steps, recording.Step{PID: 1, Rank: -1, N: i, Start: at / 1e6, Period: 10e-6})
		l.kernel(100*float64(i+1), 100*float64(i+2), l.launch(at+1))
	}
	run.Timeline = l.sorted()
	a := idle.Analyse(run)
	check(t, a)
	d := a.Devices[0]
	if d.Idle != 0 || len(d.Steps) != 4 || d.From != 200_000 || d.To != 600_000 {
		t.Errorf("idle %d ns, %d steps, window %d to %d", d.Idle, len(d.Steps), d.From, d.To)
	}
	for _, s := range d.Steps {
		if s.Works != 1 || s.To-s.From != 100_000 {
			t.Errorf("step %+v, want one kernel and 100 us", s)
		}
	}
}

// The table's rows are looked at by number in a few places.
func TestKernelNames(t *testing.T) {
	l := newLine()
	at := 0.0
	for _, name := range []string{
		"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn", "volta_sgemm_128x64_nn", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn",
		"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8", "nvjet_hsh_128x256_64x4", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1",
		"m_grouped_fp8_gemm", "my_gemm", "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>", "ncclDevKernel_AllReduce_Sum_f32",
		"void at::native::reduce_kernel<512, 1>", "triton_poi_fused_addmm_relu_0", "void flash_fwd_kernel<>",
	} {
		l.work(recording.Kernel, at, at+10, name, -1)
		at += 10
	}
	a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
	k := a.SumKernels(&a.Devices[0])
	want := []struct {
		family idle.Family
		cores  idle.CoreKind
	}{
		{idle.Matmul, idle.TensorCores},
		{idle.Matmul, idle.PlainCores},
		{idle.Matmul, idle.TensorCores},
		{idle.Matmul, idle.PlainCores},
		{idle.Matmul, idle.TensorCores},
		{idle.Matmul, idle.TensorCores},
		{idle.Matmul, idle.TensorCores},
		{idle.Matmul, idle.UnknownCores},
		{idle.Elementwise, idle.UnknownCores},
		{idle.Exchange, idle.UnknownCores},
		{idle.Reduction, idle.UnknownCores},
		{idle.Fused, idle.UnknownCores},
		{idle.Attention, idle.UnknownCores},
	}
	for i, total := range k.Totals {
		name := l.t.Names[total.Name]
		if total.Family != want[i].family || total.Family == idle.Matmul && total.Cores != want[i].cores {
			t.Errorf("%s: %v with cores %d, want %v with %d", name, total.Family, total.Cores, want[i].family, want[i].cores)
		}
	}
	if k.Tensor != 50_000 || k.Plain != 20_000 {
		t.Errorf("%d ns on Tensor Cores, %d known not to be", k.Tensor, k.Plain)
	}
}

// What a wait leaves idle is charged to nobody twice: the gap that begins with
// its return, at most as long as it held the host.
func TestIdleAfterWaits(t *testing.T) {
	l := newLine()
	l.kernel(0, 100, l.host(recording.Runtime, 0, 1, "cudaLaunchKernel"))
	l.kernel(100, 400, l.host(recording.Runtime, 10, 11, "cudaLaunchKernel"))
	l.host(recording.Runtime, 200, 410, "cudaStreamSynchronize") // returns when the device is done
	l.kernel(1000, 1100, l.launch(996))
	a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
	if got := a.Devices[0].AfterSync; got != [2]int64{0, 210_000} {
		t.Errorf("idle after hidden and explicit waits %v ns, want 0 and 210,000", got)
	}
}

func TestPluginSMEfficiency(t *testing.T) {
	l := newLine()
	for i, per := range []float32{0.5, 0.3, 4} {
		l.work(recording.Kernel, 10*float64(i), 10*float64(i)+15, "k", -1)
		l.t.Device.PerSM[i] = per
	}
	a := idle.Analyse(&recording.Run{Timeline: l.sorted()})
	levels := a.PluginSMEfficiency(&a.Devices[0])
	for i, want := range []float64{0.5, 0.8, 0.3, 1, 1} {
		if i >= len(levels) || levels[i].Value < want-1e-6 || levels[i].Value > want+1e-6 {
			t.Fatalf("levels %v", levels)
		}
	}
	if got, want := idle.Mean(levels, 0, 40_000), (0.5*10+0.8*5+0.3*5+1*15)/40; got < want-1e-6 || got > want+1e-6 {
		t.Errorf("mean %v, want %v", got, want)
	}
}
