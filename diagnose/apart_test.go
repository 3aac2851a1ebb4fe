package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// allocating is a program of CUDA whose kernels of 2 ms wait for memory in gaps of 1.9 ms.
func allocating() *recording.Run {
	p := newTape("Tesla T4", "7.5")
	p.run.Facts.Software.Framework = diagnose.FrameworkCUDA
	return p.steps(5500, func(at float64) {
		p.host(call, at, at+1900, "cudaMallocAsync_v11020")
		c := p.host(call, at+1900, at+1910, "cudaLaunchKernel_v7000")
		p.work(kernel, at+1920, at+3700, "solve", c)
		p.work(kernel, at+3701, at+5480, "solve", c)
	})
}

// Kernels that outlast any launch do not wait for launches while memory is allocated, and a pool is no news to a
// program that has one.
func TestAllocationsBesideLongKernels(t *testing.T) {
	v := judge.Judge(allocating())
	f := find(v, diagnose.FindingAllocator)
	if !v.Class.Is(diagnose.GPUBound) || f.Share < 0.2 || !strings.Contains(f.Advice, "release threshold") {
		t.Errorf("%s, %+v, scores %v", v.Class, f, v.Scores[:4])
	}
}

// A short wait for the loader limits nothing in a file that hides what the device waited for most of the time.
func TestInputBesideUnknownLaunches(t *testing.T) {
	p := newTape("", "")
	run := p.steps(10_000, func(at float64) {
		p.host(mark, at, at+250, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
		p.work(kernel, at+250, at+600, "first", -1)
		for i := range 20 {
			p.work(kernel, at+8000+10*float64(i), at+8005+10*float64(i), "later", -1)
		}
	})
	if v := judge.Judge(run); v.Class != diagnose.Unknown {
		t.Errorf("%s, scores %v", v.Class, v.Scores)
	}
}

// The first collective of one rank's file is a rival of all other causes, and not of the later ones.
func TestFirstCollectiveIsARival(t *testing.T) {
	p := newTape("", "")
	at := 0.0
	exchange := func(length float64) {
		c := p.host(call, at, at+5, "cudaLaunchKernel")
		p.work(recording.Collective, at+10, at+10+length, "ncclDevKernel_AllReduce_Sum_f32", c)
		at += 10 + length
	}
	launches := func(n int) {
		for range n {
			at += 95
			c := p.host(call, at, at+5, "cudaLaunchKernel")
			p.work(kernel, at+6, at+16, "k", c)
			at += 20
		}
	}
	p.host(mark, 0, 100_000, "ProfilerStep#50")
	launches(150)
	exchange(40_000)
	exchange(4_000)
	exchange(4_000)
	p.t.End = int64(1e3 * at)
	p.t.Host.End[0] = p.t.End
	p.run.Steps = []recording.Step{{PID: 1, Loader: 1, N: 50, Period: at / 1e6, Phase: recording.Train}}
	if v := judge.Judge(p.run); v.Class != diagnose.NetworkBound {
		t.Errorf("%s: the first collective takes half of the time, and the others more than nothing; scores %v", v.Class, v.Scores)
	}
}

// A device of several that works in a small part of a recording tells nothing of the rest.
func TestGlimpseOfOneDevice(t *testing.T) {
	p := newTape("", "")
	p.t.Devices = append(p.t.Devices, recording.Device{PID: 1, Index: 1})
	at := 500_000.0
	for i := range 100 {
		c := p.host(call, at, at+5, "cudaLaunchKernel")
		w := p.work(kernel, at+6, at+100, fmt.Sprint("k", i%10), c)
		p.t.Device.Device[w] = int32(i % 2)
		at += 100
	}
	p.t.End = 1_000_000_000
	p.run.Steps = []recording.Step{{PID: 1, N: 1, Start: 0.5, Period: 0.01, Phase: recording.Train}}
	v := judge.Judge(p.run)
	said := slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return e.Signal == diagnose.SignalGlimpse })
	if v.Class != diagnose.Unknown || !said {
		t.Errorf("%s: %v", v.Class, texts(v))
	}
}

// Where a file holds a few copies, there is no next one to copy ahead.
func TestFewCopiesHaveNoNextOne(t *testing.T) {
	for few, want := range map[int]string{3: "The file holds 3 copies in all", 0: "two buffers in turn"} {
		v := diagnose.Verdict{Class: diagnose.TransferBound}
		v.Grounds.Framework, v.Grounds.Traffic.Few = diagnose.FrameworkCUDA, few
		if do := v.Do(); !strings.Contains(do, want) {
			t.Errorf("%d copies: %q, want %q", few, do, want)
		}
	}
}

// Advice for other devices than CUDA's has no words of CUDA.
func TestOtherDevicesGetTheirOwnWords(t *testing.T) {
	for _, class := range []diagnose.Class{diagnose.LaunchBound, diagnose.NetworkBound} {
		v := diagnose.Verdict{Class: class, Device: -1}
		v.Grounds.Kind = "npu"
		if do := v.Do(); strings.Contains(do, "CUDA") || strings.Contains(do, "NVLink") || strings.Contains(do, "compile") || do == "" {
			t.Errorf("%s: %q", class, do)
		}
	}
}

// Workers do not stay for the next epoch of a program that has none.
func TestNoEpochsInACall(t *testing.T) {
	for _, c := range []struct {
		program diagnose.Program
		steps   int
		want    bool
	}{
		{diagnose.Training, 1, true},
		{diagnose.UnknownProgram, 5, true},
		{diagnose.UnknownProgram, 1, false},
		{diagnose.Inference, 5, false},
	} {
		if got := (diagnose.Grounds{Program: c.program}).HasEpochs(c.steps); got != c.want {
			t.Errorf("%q of %d steps: %t", c.program, c.steps, got)
		}
	}
	p := newTape("", "")
	p.host(mark, 0, 10_000, "ProfilerStep#0")
	for i := range 4 {
		at := 2500 * float64(i)
		p.host(mark, at, at+1500, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
		for k := range 5 {
			from := at + 1500 + 200*float64(k)
			p.work(kernel, from+5, from+195, "k", p.host(call, from, from+4, "cudaLaunchKernel"))
		}
	}
	p.run.Steps = []recording.Step{{PID: 1, Loader: 1, Period: 10_000 / 1e6}}
	f := find(judge.Judge(p.run), diagnose.FindingDataLoaderWait)
	keeps := slices.ContainsFunc(f.Settings, func(c stoker.Change) bool { return c.Setting == stoker.PersistentWorkers })
	if f.Name == "" || keeps || strings.Contains(f.Advice, "persistent") {
		t.Errorf("%+v", f)
	}
}
