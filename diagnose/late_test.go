package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// unmarked writes seven steps that only a run's steps tell: no name of PyTorch is in the file.
func (p *tape) unmarked(length float64, body func(at float64)) *recording.Run {
	for i := range 7 {
		at := length * float64(i)
		p.run.Steps = append(p.run.Steps, recording.Step{
			PID: 1, N: i, Start: at / 1e6, Period: length / 1e6, Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Phase: recording.Train,
		})
		body(at)
	}
	return p.run
}

// A loader's short wait is not why the device idles where kernels start long after their launches.
func TestLaunchedWorkThatDoesNotStart(t *testing.T) {
	for late, class := range map[float64]diagnose.Class{0: diagnose.MainThread, 900: diagnose.Unknown} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.steps(10000, func(at float64) {
			loading, apart := 700.0, 1000.0
			if late == 0 {
				loading, apart = 8000, 200
			}
			p.host(mark, at, at+loading, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
			for i := range 9 {
				from := at + loading + 20 + apart*float64(i)
				c := p.host(call, from, from+5, "cudaLaunchKernel")
				p.work(kernel, from+10+late, from+90+late, wgmma, c)
			}
		}))
		if v.Class != class {
			t.Errorf("kernels start %.0f us late: %s; %v", late, v.Class, v.Causes)
		}
	}
}

// A millisecond without any call is no launch of a program without a framework. In PyTorch it is Python's way to
// the next launch.
func TestTimesWithoutACall(t *testing.T) {
	for name, class := range map[string]diagnose.Class{"own_kernel": diagnose.CPUBound, "void at::native::own_kernel": diagnose.LaunchBound} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.unmarked(10000, func(at float64) {
			for i := range 8 {
				p.burst(at+1250*float64(i), 50, 4, name)
			}
		}))
		if v.Class != class {
			t.Errorf("%s: %s; %v", name, v.Class, v.Causes)
		}
	}
}

// Small copies go in one only if no kernel lies between them: its result may decide what is copied next.
func TestSmallCopiesBetweenKernels(t *testing.T) {
	for together, found := range map[int]bool{1: false, 30: true} {
		p := newTape(hopper, "9.0")
		p.run.Facts.Software.Framework = diagnose.FrameworkCUDA
		v := judge.Judge(p.unmarked(10000, func(at float64) {
			for i := range 30 {
				from := at + 300*float64(i)
				c := p.host(call, from, from+5, "cudaMemcpyAsync")
				p.t.Device.Bytes[p.work(copied, from+10, from+12, "Memcpy HtoD (Pinned -> Device)", c)] = 1024
				if (i+1)%together == 0 {
					p.burst(from+100, 2, 1, "own_kernel")
				}
			}
		}))
		if has := slices.Contains(names(v), diagnose.FindingTinyCopies); has != found {
			t.Errorf("%d copies in a row: %v", together, names(v))
		}
	}
}

// What ranks exchange within a layer grows with the batch, and no bucket of gradients holds it. A file with nothing but
// steps of the optimizer shows no batch.
func TestGroundsOfOneFile(t *testing.T) {
	p := newTape(hopper, "9.0")
	v := judge.Judge(p.steps(10000, func(at float64) {
		for i := range 4 {
			from := at + 2400*float64(i)
			p.host(op, from, from+100, "_ReduceFromModelParallelRegion")
			p.burst(from, 100, 3, wgmma)
			c := p.host(call, from+50, from+52, "cudaLaunchKernelExC")
			p.work(recording.Collective, from+400, from+2300, fmt.Sprintf("ncclDevKernel_AllReduce_Sum_f32_RING_LL(%d)", 1), c)
		}
	}))
	if v.Grounds.Exchange != recording.Activations || !v.Grounds.ExchangesSamples() || v.Grounds.Refuse(stoker.BucketMB) == "" {
		t.Errorf("%s: exchange %d", v.Class, v.Grounds.Exchange)
	}
	for name, refused := range map[string]bool{"Optimizer.step#CustomAdam.step": true, "forward": false} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.steps(1000, func(at float64) {
			p.host(mark, at, at+900, name)
			for i := range 20 {
				p.host(op, at+40*float64(i), at+40*float64(i)+20, "aten::mul_")
				p.burst(at+40*float64(i)+10, 2, 1, "void at::native::vectorized_elementwise_kernel")
			}
		}))
		if (v.Grounds.Refuse(stoker.BatchSize) != "") != refused {
			t.Errorf("%s: %q", name, v.Grounds.Refuse(stoker.BatchSize))
		}
	}
}

// A host that asks again and again how many results there are needs each answer at once, and may ask more often for a
// larger batch. One that masks its loss does not.
func TestHostThatGoesOnByResults(t *testing.T) {
	for asks, refused := range map[int]bool{1: false, 12: true} {
		p := newTape(hopper, "9.0")
		v := judge.Judge(p.steps(10000, func(at float64) {
			for i := range 12 {
				name := "aten::mul"
				if i < asks {
					name = "aten::nonzero"
				}
				p.host(op, at+800*float64(i), at+800*float64(i)+50, name)
				p.burst(at+800*float64(i)+10, 2, 1, "void at::native::vectorized_elementwise_kernel")
			}
		}))
		for _, s := range []stoker.Setting{stoker.BatchSize, stoker.SyncEvery} {
			if why := v.Grounds.Refuse(s); strings.Contains(why, "nonzero") != refused {
				t.Errorf("%d asks, %s: %q", asks, s, why)
			}
		}
	}
}

// A file that lost its end is not told to record the device: the lost part may hold it.
func TestDamagedFileWithoutDeviceWork(t *testing.T) {
	p := newTape(hopper, "9.0")
	p.run.Facts.Damage = []string{"The file ends within an event."}
	for i := range 50 {
		p.host(op, 1000*float64(i), 1000*float64(i)+900, "aten::conv2d")
	}
	v := judge.Judge(p.whole())
	if v.Class != diagnose.Unknown || !strings.Contains(v.Evidence[0].Text, "damaged") || !strings.Contains(v.Do(), "whole file") {
		t.Errorf("%s: %v, %q", v.Class, v.Evidence, v.Do())
	}
}

// Copies that take all of the time have nothing to run beside.
func TestCopiesAlone(t *testing.T) {
	p := newTape("Tesla T4", "7.5")
	p.run.Facts.Software.Framework = diagnose.FrameworkCUDA
	v := judge.Judge(p.unmarked(10000, func(at float64) {
		for i, name := range []string{"Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)"} {
			from := at + 4900*float64(i)
			p.t.Device.Bytes[p.work(copied, from+1, from+4800, name, p.host(call, from, from+4800, "cudaMemcpyAsync"))] = 16 << 20
		}
		p.burst(at+9750, 100, 2, "own_kernel")
	}))
	if v.Class != diagnose.TransferBound || !strings.Contains(v.Do(), "leave the data on the device") {
		t.Errorf("%s: %q", v.Class, v.Do())
	}
}
