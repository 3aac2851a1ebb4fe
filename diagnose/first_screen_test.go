package diagnose_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/lanes"
	"github.com/stoker-dev/stoker/recording"
)

// A file that shows no steps is not said to have one, nor to go on like that for an hour.
func TestWhatIsSaidOfAFileWithoutSteps(t *testing.T) {
	for marked, steps := range map[bool]int{false: 1, true: 6} {
		p := newProfile()
		p.more = `"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-40GB","computeMajor":8}],`
		for n := range steps {
			step := func() { p.layers(20) }
			if marked {
				p.marked(n, step)
			} else {
				step()
			}
		}
		run := p.run(t)
		v, _ := judged(t, p)
		said := ""
		for _, f := range v.Findings {
			said += f.Text
		}
		all := idle.Analyse(run)
		l := lanes.Of(run, all, &all.Devices[0], 40)
		if strings.Contains(said, "per step") != marked || l.Step >= 0 != marked || math.IsNaN(v.Cost.Share) == marked {
			t.Errorf("marked %v: %q, step %d, an hour of %v", marked, said, l.Step, v.Cost.Share)
		}
	}
}

// A file without work of a device is not said to hold kernels that do not repeat.
func TestNoKernelsDoNotRepeat(t *testing.T) {
	for kernels, want := range map[int]bool{0: false, 1: true} {
		p := newProfile()
		p.during("cpu_op", "aten::mm", func() {
			p.rests(500)
			for range kernels {
				p.kernel(gemm, 400)
			}
		})
		v, _ := judged(t, p)
		if got := strings.Contains(strings.Join(v.Warnings, " "), "its kernels show no steps"); got != want {
			t.Errorf("%d kernels: %q", kernels, v.Warnings)
		}
	}
}

// Calls that launch, without the work: the profiler was asked for the device.
func TestCallsWithoutTheirWork(t *testing.T) {
	p := newProfile()
	for range 20 {
		p.during("cpu_op", "aten::mm", func() { p.call("cudaLaunchKernel", 5) })
	}
	v, _ := judged(t, p)
	if text := v.Evidence[0].Text + v.Do() + strings.Join(v.Warnings, " "); strings.Contains(text, "ProfilerActivity") ||
		!strings.Contains(text, "did not get it") {
		t.Errorf("%q", text)
	}
}

// A server's batch is what it is asked for, and a program of JAX that nothing shows to train may have none.
func TestWhoseBatchIsNoSetting(t *testing.T) {
	for name, c := range map[string]struct {
		grounds diagnose.Grounds
		refused bool
	}{
		"PyTorch":      {diagnose.Grounds{Program: diagnose.Inference}, false},
		"a server":     {diagnose.Grounds{Program: diagnose.Inference, Serves: true}, true},
		"JAX, trains":  {diagnose.Grounds{Framework: "JAX", Program: diagnose.Training}, false},
		"JAX, unknown": {diagnose.Grounds{Framework: "JAX"}, true},
		"JAX, loads":   {diagnose.Grounds{Framework: "JAX", Loads: true}, false},
	} {
		if why := c.grounds.Refuse(stoker.BatchSize); why != "" != c.refused {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A timeline of TensorFlow 1 gets advice in that version's words.
func TestWordsOfGraphs(t *testing.T) {
	for _, finding := range []string{
		diagnose.FindingLaunchBound, diagnose.FindingElementwiseChains, diagnose.FindingDataLoaderWait,
		diagnose.FindingHostWork,
	} {
		advice := diagnose.Translate(diagnose.Finding{Name: finding}, recording.TensorFlowGraphs).Advice
		if advice == "" || strings.Contains(advice, "tf.function") || strings.Contains(advice, "model.compile") {
			t.Errorf("%s: %q", finding, advice)
		}
	}
	v := diagnose.Verdict{Class: diagnose.LaunchBound, Grounds: diagnose.Grounds{Framework: recording.TensorFlowGraphs}}
	if do := v.Do(); !strings.Contains(do, "global_jit_level") {
		t.Error(do)
	}
}

// Where no GPU is listed nobody knows that it is one of CUDA's, and a server for CPUs is another build.
func TestWordsOfComputingOnTheCPU(t *testing.T) {
	for want, grounds := range map[string]diagnose.Grounds{
		"on a Mac": {Unlisted: true}, "build of the server": {Unlisted: true, Serves: true}, `model.to("cuda"), batches`: {},
	} {
		v := diagnose.Verdict{Class: diagnose.ComputeOnCPU, Device: -1, Grounds: grounds}
		if do := v.Do(); !strings.Contains(do, want) {
			t.Errorf("%q, want %q", do, want)
		}
	}
}

// An operator that passes the next batch is a wait for it, also where its own copies end the gap.
func TestTheLoadersOperatorIsAWaitForIt(t *testing.T) {
	p := newTape(hopper, "9.0")
	call := p.host(recording.Op, 0, 17_000, "v0/IteratorGetNext:IteratorGetNext")
	p.work(recording.Copy, 16_990, 17_001, "MEMCPYHtoD", call)
	for i := range 30 {
		at := 17_100 + 400*float64(i)
		p.work(recording.Kernel, at, at+390, "MatMul", p.host(recording.Op, at-50, at-20, "dense/MatMul:MatMul"))
	}
	if v := judge.Judge(p.whole()); leading(v) != idle.DataLoader.String() {
		t.Errorf("%s: %+v", v.Class, v.Causes)
	}
}
