package advise_test

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
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// kinetoFile writes a file of torch.profiler by hand: microseconds.
type kinetoFile struct {
	events      []string
	correlation int
	device      float64 // when it is free
}

func (k *kinetoFile) put(cat, name string, from, dur float64, tid int, args string) {
	k.events = append(k.events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"ts":%.3f,"dur":%.3f,"pid":100,"tid":%d,"args":{%s}}`, cat, name, from, dur, tid, args))
}

// launch puts work behind what the device has to do, under an operator if named.
func (k *kinetoFile) launch(at, dur float64, op, kernel string) {
	k.correlation++
	if op != "" {
		k.put("cpu_op", op, at-1, 7, 1, "")
	}
	k.put("cuda_runtime", "cudaLaunchKernel", at, 4, 1, fmt.Sprintf(`"correlation":%d`, k.correlation))
	from := max(at+6, k.device+1)
	k.device = from + dur
	k.put("kernel", kernel, from, dur, 7, fmt.Sprintf(`"correlation":%d,"device":0,"stream":7`, k.correlation))
}

func (k *kinetoFile) read(t *testing.T) *recording.Run {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.json")
	text := `{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":0,"world_size":2},"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","computeMajor":9,"computeMinor":0,"numSms":132}],"traceEvents":[` + strings.Join(k.events, ",\n") + "]}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := trace.Read(context.Background(), []string{file}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

const tensorGEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"

// exchangeLoop is a loop of eight steps, a fourth of which goes into many collectives.
func exchangeLoop(collective string, learns bool) *kinetoFile {
	return exchangeIn(120, collective, learns)
}

// exchangeIn is one with so many collectives in a step.
func exchangeIn(calls int, collective string, learns bool) *kinetoFile {
	k := &kinetoFile{}
	for n := range 8 {
		at := 10_000 * float64(n)
		k.put("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), at, 9990, 1, "")
		for i := range 10 {
			k.launch(at+20+10*float64(i), 700, "aten::mm", tensorGEMM)
		}
		if learns {
			k.put("user_annotation", "DistributedDataParallel.forward", at+10, 110, 1, "")
			k.put("cpu_op", "autograd::engine::evaluate_function: MmBackward0", at+130, 10, 1, "")
		}
		for i := range calls {
			k.launch(at+150+0.3*float64(i), 2700/float64(calls), "", collective)
		}
		k.put("cuda_runtime", "cudaDeviceSynchronize", at+200, 9700, 1, "")
	}
	return k
}

// What a program does not do it is not advised on: gradients of a forward pass, an
// all-reduce's settings of an all-to-all.
func TestAdviceOfTrainingIsForTraining(t *testing.T) {
	const allReduce, allToAll = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "ncclDevKernel_SendRecv(x)"
	for name, c := range map[string]struct {
		collective string
		learns     bool
		program    diagnose.Program
		calls      bool // it calls collectives itself, without DistributedDataParallel
		advised    bool
	}{
		"training":                     {allReduce, true, diagnose.Training, false, true},
		"training by calls of its own": {allReduce, true, diagnose.Training, true, false},
		"inference":                    {allReduce, false, diagnose.Inference, false, false},
		"training, exchanging experts": {allToAll, true, diagnose.Training, false, false},
	} {
		k := exchangeLoop(c.collective, c.learns)
		if c.calls {
			k.events = slices.DeleteFunc(k.events, func(event string) bool { return strings.Contains(event, "DistributedDataParallel") })
		}
		run := k.read(t)
		v := judge.Judge(run)
		plan := advise.Rank(run, v)
		if v.Grounds.Program != c.program || v.Class != diagnose.NetworkBound {
			t.Errorf("%s: program %q, class %s", name, v.Grounds.Program, v.Class)
		}
		for _, s := range []stoker.Setting{stoker.Accumulation, stoker.BucketMB} {
			if got := advises(plan, s); got != c.advised {
				t.Errorf("%s: %s advised %t: %+v", name, s, got, plan.Fixes)
			}
		}
		for _, f := range v.Findings {
			if f.Name == "exposed-communication" && (strings.Contains(f.Advice, "DistributedDataParallel") != c.advised || f.Advice == "") {
				t.Errorf("%s: %s", name, f.Advice)
			}
		}
	}
}

// Larger buckets are for gradients in many calls: of few, they would only begin later.
func TestLargerBucketsAreForManyCalls(t *testing.T) {
	for calls, want := range map[int]bool{4: false, 120: true} {
		run := exchangeIn(calls, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", true).read(t)
		if plan := advise.Rank(run, judge.Judge(run)); advises(plan, stoker.BucketMB) != want {
			t.Errorf("%d calls a step: %+v", calls, plan.Fixes)
		}
	}
}

// What changes the batches that the optimizer sees comes after all else.
func TestOtherTrainingComesLast(t *testing.T) {
	run := exchangeLoop("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", true).read(t)
	plan := advise.Rank(run, judge.Judge(run))
	if n := len(plan.Fixes); n < 2 || plan.Fixes[0].Risk == advise.LearningRisk || plan.Fixes[n-1].Risk != advise.LearningRisk {
		t.Errorf("%+v", plan.Fixes)
	}
}

// A model that computes on the CPU has no device to record.
func TestNoDeviceToRecord(t *testing.T) {
	k := &kinetoFile{}
	for i := range 10 {
		k.put("cpu_op", "aten::mkldnn_convolution", 1000*float64(i), 900, 1, "")
	}
	v := judge.Judge(k.read(t))
	if v.Class != diagnose.ComputeOnCPU || slices.ContainsFunc(v.Warnings, func(said string) bool { return strings.Contains(said, "ProfilerActivity") }) {
		t.Errorf("%s: %q", v.Class, v.Warnings)
	}
}

// Tensors on a device show that it was used, though none of its work is in the file.
func TestTensorsOnADeviceShowItsUse(t *testing.T) {
	k := &kinetoFile{}
	for i := range 10 {
		k.put("cpu_op", "aten::addmm", 1000*float64(i), 900, 1, "")
	}
	k.events = append(k.events, `{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":100,"tid":1,"ts":50,"args":{"Total Reserved":2000000,"Total Allocated":1000000,"Bytes":1000000,"Addr":5,"Device Id":0,"Device Type":1}}`)
	v := judge.Judge(k.read(t))
	if v.Class != diagnose.Unknown || len(v.Evidence) == 0 || !strings.Contains(v.Evidence[0].Text, "tensors took 1 MB of its memory") {
		t.Errorf("%s: %+v", v.Class, v.Evidence)
	}
}

// Copies that take a third of what kernels do are not the limit of one pass.
func TestKernelsBesideCopies(t *testing.T) {
	k := &kinetoFile{}
	k.put("cpu_op", "aten::copy_", 0, 5000, 1, "")
	k.put("cuda_runtime", "cudaMemcpyAsync", 5, 4900, 1, `"correlation":9001`)
	k.put("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 100, 4800, 7, `"correlation":9001,"device":0,"stream":7,"bytes":19300000`)
	k.device = 5000
	for i := range 96 {
		k.launch(5100+180*float64(i), 156, "aten::mm", tensorGEMM)
	}
	if v := judge.Judge(k.read(t)); !v.Class.Is(diagnose.GPUBound) {
		t.Errorf("%s, shares %+v", v.Class, v.Shares)
	}
}

// Copies from page-locked memory are told to use another stream, and not to pin memory.
func TestPinnedCopiesNeedNoPinning(t *testing.T) {
	for memory, pins := range map[string]bool{"Pinned": false, "Pageable": true} {
		k := &kinetoFile{}
		for n := range 12 {
			at := 2_400 * float64(n)
			k.put("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), at, 2390, 1, "")
			for i, name := range []string{"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (" + memory + " -> Device)"} {
				from := at + 10 + 800*float64(i)
				corr := fmt.Sprintf(`"correlation":%d`, 9000+10*n+i)
				k.put("cuda_runtime", "cudaMemcpyAsync", from, 4, 1, corr)
				k.put("gpu_memcpy", name, from+6, 790, 7, corr+`,"device":0,"stream":7,"bytes":8000000`)
			}
			k.device = at + 1610
			for i := range 2 {
				k.launch(at+830+10*float64(i), 300, "aten::mm", tensorGEMM)
			}
			k.put("cuda_runtime", "cudaDeviceSynchronize", at+900, 1400, 1, "")
		}
		run := k.read(t)
		for _, f := range advise.Rank(run, judge.Judge(run)).Fixes {
			if f.Name == string(stoker.SideStream) && changes(f, stoker.PinMemory) != pins {
				t.Errorf("%s: %v", memory, f.Changes)
			}
		}
		if !pins && !advises(advise.Rank(run, judge.Judge(run)), stoker.SideStream) {
			t.Errorf("%s: no side_stream in %v", memory, advise.Rank(run, judge.Judge(run)))
		}
	}
}

func changes(f advise.Fix, s stoker.Setting) bool {
	return slices.ContainsFunc(f.Changes, func(c stoker.Change) bool { return c.Setting == s })
}

// What is said of collectives beside the first one is not said of it, too.
func TestTheFirstCollectiveIsApart(t *testing.T) {
	k := &kinetoFile{}
	k.put("user_annotation", "ProfilerStep#0", 0, 100_000, 1, "")
	for n := range 4 {
		length := 4000.0
		if n == 0 {
			length = 20_000
		}
		for i := range 10 {
			k.launch(20+200*float64(n)+10*float64(i), 700, "aten::mm", tensorGEMM)
		}
		k.launch(190+200*float64(n), length, "", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)")
	}
	v := judge.Judge(k.read(t))
	at := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingExposedCommunication })
	if at < 0 || !strings.Contains(v.Findings[at].Text, "3 per step, 4 ms each, 100 %") {
		t.Errorf("%s: %+v", v.Class, v.Findings)
	}
}

// A device on which launched work does not start for longer than collectives take is not said to wait for them.
func TestAHeldDeviceIsNoNetwork(t *testing.T) {
	for held, want := range map[float64]bool{5000: false, 0: true} {
		k := &kinetoFile{}
		for n := range 8 {
			at := 10_000 * float64(n)
			k.put("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), at, 9990, 1, "")
			k.device = at + held
			for i := range 10 {
				k.launch(at+20+10*float64(i), (9700-held-3500)/10, "aten::mm", tensorGEMM)
			}
			k.launch(at+150, 3500, "", "ncclDevKernel_SendRecv(x)")
			k.put("cuda_runtime", "cudaDeviceSynchronize", at+200, 9700, 1, "")
		}
		if v := judge.Judge(k.read(t)); (v.Class == diagnose.NetworkBound) != want {
			t.Errorf("held %.0f us of 10,000: %s", held, v.Class)
		}
	}
}

func advises(plan advise.Plan, s stoker.Setting) bool {
	return slices.ContainsFunc(plan.Fixes, func(f advise.Fix) bool {
		return slices.ContainsFunc(f.Changes, func(c stoker.Change) bool { return c.Setting == s })
	})
}

// A file of Nsight Systems of a C++ program has no DataLoader.
func TestNoSettingsOfPyTorchWithoutPyTorch(t *testing.T) {
	for _, framework := range []string{"CUDA", "JAX", "TensorFlow", "XLA"} {
		for _, name := range []string{"trace-pageable", "trace-allocator", "trace-launches", "trace-loader", "trace-chains", "trace-gc", "trace-precision"} {
			run := readCase(t, name)
			run.Facts.Software.Framework = framework
			v := judge.Judge(run)
			plan := advise.Rank(run, v)
			said := fmt.Sprint(plan.Fixes, plan.Rejected, v.Warnings)
			for _, f := range v.Findings {
				said += f.Advice + fmt.Sprint(f.Settings)
			}
			words := []string{"DataLoader(", "torch.", "with_stack", "expandable_segments", "pin_memory", "num_workers", "alloc_conf", "key_averages"}
			if framework == "CUDA" { // a program of which nobody knows whether it has batches
				words = append(words, "batch_size")
			}
			for _, word := range words {
				if strings.Contains(said, word) {
					t.Errorf("%s of %s: %q in %s", name, framework, word, said)
				}
			}
		}
	}
}

// Beside workers that always have a batch to prepare nothing is proposed but input, by
// replay or by a bound.
func TestBesideSaturatedWorkers(t *testing.T) {
	run := readCase(t, "trace-workers")
	v := judge.Judge(run)
	v.Findings = append(v.Findings, diagnose.Finding{Name: "host-work", Text: "it waits", Saves: 0.3, Share: 0.3},
		diagnose.Finding{Name: "allocator", Saves: 0.3, Settings: []stoker.Change{{Setting: stoker.Allocator, To: "expandable_segments:True"}}})
	plan := advise.Rank(run, v)
	for _, f := range plan.Fixes {
		if f.Name != string(stoker.NumWorkers) {
			t.Errorf("%s beside a saturated worker: %s", f.Name, f.Worth())
		}
	}
	if len(plan.Fixes) == 0 {
		t.Error("more workers are not advised")
	}
}

// The program's start in front of the only step is not judged, and not shortened either: what a change saves
// is a share of the rest (haraldger/High-Performance-Deep-Learning: 7.7 of 50 ms).
func TestTheStartOfTheOnlyStepIsTakenOff(t *testing.T) {
	gain := func(start float64) (stoker.Interval, float64) {
		k := &kinetoFile{}
		k.put("cpu_op", "aten::randn", 0, start, 1, "")
		k.put("cuda_runtime", "cudaMalloc", start/2, start/4, 1, "")
		for i := range 60 {
			k.launch(start+1+10*float64(i), 700, "aten::mm", fmt.Sprintf("volta_sgemm_%dx64_nn", 32<<(i%6)))
		}
		k.put("cuda_runtime", "cudaDeviceSynchronize", start+700, 60*700, 1, "")
		run := k.read(t)
		plan := advise.Rank(run, judge.Judge(run))
		at := slices.IndexFunc(plan.Fixes, func(f advise.Fix) bool { return f.Name == string(stoker.Precision) })
		if at < 0 {
			t.Fatalf("%g us: no precision in %+v", start, plan)
		}
		return plan.Fixes[at].Forecast.Speedup, plan.Fixes[at].Forecast.Step.Point
	}
	short, step := gain(100)
	long, after := gain(12_000)
	if math.Abs(long.Point/short.Point-1) > 0.05 || math.Abs(after/step-1) > 0.05 {
		t.Errorf("behind 12 ms of start %v in %g s, behind 0.1 ms %v in %g s", long, after, short, step)
	}
}

// A wait behind which the host reads results cannot go: what it would read is not there yet
// (SamuelAmsih/CUDA counts a histogram in managed memory, frame by frame).
func TestAWaitForResultsStays(t *testing.T) {
	for before, read := range map[string]bool{"": false, "cudaMallocManaged": true, "cudaMemcpyAsync": true} {
		k := &kinetoFile{}
		k.put("cuda_runtime", "cudaMallocManaged", 0, 5, 1, "")
		if before != "cudaMallocManaged" {
			*k = kinetoFile{}
		}
		for n := range 12 {
			at := 10_000 * float64(n)
			k.put("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), at, 9990, 1, "")
			for i := range 10 {
				k.launch(at+20+10*float64(i), 300, "", tensorGEMM)
			}
			if before == "cudaMemcpyAsync" {
				k.put("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", at+3100, 300, 7, `"device":0,"stream":7`)
			}
			k.put("cuda_runtime", "cudaDeviceSynchronize", at+200, 3300, 1, "")
		}
		run := k.read(t)
		run.Facts.Software.Framework = diagnose.FrameworkCUDA
		verdict := judge.Judge(run)
		if why := verdict.Grounds.Refuse(stoker.SyncEvery); (why != "") != read {
			t.Errorf("%q: refused as %q", before, why)
		}
		advised := slices.ContainsFunc(advise.Rank(run, verdict).Fixes, func(f advise.Fix) bool {
			return f.Name == string(stoker.SyncEvery)
		})
		if advised == read {
			t.Errorf("%q: sync_every is advised: %v", before, advised)
		}
	}
}

// A program that does nothing recorded between its calls may wait there for a timer
// (SamuelAmsih/CUDA plays 25 frames a second): what shortens the rest is only bounded.
func TestAGainBesideAnUnseenHostIsBounded(t *testing.T) {
	for framework, bounded := range map[string]bool{"CUDA": true, "": false} {
		k := &kinetoFile{}
		for n := range 12 {
			at := 10_000 * float64(n)
			k.put("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), at, 9990, 1, "")
			for i := range 10 {
				k.launch(at+20+10*float64(i), 300, "", tensorGEMM)
			}
			k.put("cuda_runtime", "cudaDeviceSynchronize", at+200, 3000, 1, "")
		}
		run := k.read(t)
		run.Facts.Software.Framework = framework
		plan := advise.Rank(run, judge.Judge(run))
		at := slices.IndexFunc(plan.Fixes, func(f advise.Fix) bool { return f.Name == string(stoker.SyncEvery) })
		if at < 0 {
			t.Fatalf("%q: no sync_every in %+v", framework, plan)
		}
		if plan.Fixes[at].Mind == "" {
			t.Errorf("%q: nothing says that a value may decide what is trained", framework)
		}
		if s := plan.Fixes[at].Forecast.Speedup; math.IsNaN(s.Point) != bounded || bounded && s.Low > 1 {
			t.Errorf("%q: %v", framework, s)
		}
	}
}

// Where the file marks no steps, a program without a framework is not told to wait less often: it may need each
// result at once.
func TestWaitsOfAFileWithoutStepsAreRefused(t *testing.T) {
	for framework, refused := range map[string]bool{"CUDA": true, "HIP": true, "": true} {
		k := &kinetoFile{}
		at := 0.0
		for n := range 40 { // of different lengths: nothing repeats
			k.launch(at, 300+float64(37*n%211), "", fmt.Sprintf("kernel_%d", n))
			k.put("cuda_runtime", "cudaStreamSynchronize", at+5, k.device-at+40, 1, "")
			at = k.device + 100
		}
		run := k.read(t)
		run.Facts.Software.Framework = framework
		plan := advise.Rank(run, judge.Judge(run))
		fixed := slices.ContainsFunc(plan.Fixes, func(f advise.Fix) bool { return f.Name == string(stoker.SyncEvery) })
		why := slices.ContainsFunc(plan.Rejected, func(r advise.Rejected) bool { return strings.Contains(r.Why, "marks no steps") })
		if fixed == refused || why != refused {
			t.Errorf("%q: %+v, not %+v", framework, plan.Fixes, plan.Rejected)
		}
	}
}

// A kind of gpu-bound is not named if the plan denies what the kind is named for.
func TestKindThatThePlanDenies(t *testing.T) {
	denied := advise.Plan{Rejected: []advise.Rejected{{Name: string(stoker.Precision), Why: "no measurable gain"}}}
	fixed := advise.Plan{Rejected: denied.Rejected, Fixes: []advise.Fix{{Name: string(stoker.TF32)}}}
	for _, c := range []struct {
		plan        advise.Plan
		class, want diagnose.Class
	}{
		{denied, diagnose.GPUPrecision, diagnose.GPUBound},
		{fixed, diagnose.GPUPrecision, diagnose.GPUPrecision},
		{advise.Plan{}, diagnose.GPUPrecision, diagnose.GPUPrecision},
		{denied, diagnose.GPUMemory, diagnose.GPUMemory},
		{denied, diagnose.LaunchBound, diagnose.LaunchBound},
	} {
		if got := c.plan.KeepKind(c.class); got != c.want {
			t.Errorf("%s is %s, want %s", c.class, got, c.want)
		}
	}
}

// A gap in a file whose device work is partly missing is nobody's: no other process is suspected for it.
func TestMissingWorkIsNoOtherProcess(t *testing.T) {
	for _, missing := range []bool{false, true} {
		k := &kinetoFile{}
		for n := range 12 {
			at := 10_000 * float64(n)
			k.put("user_annotation", fmt.Sprintf("ProfilerStep#%d", n), at, 9990, 1, "")
			for i := range 10 {
				k.launch(at+20+10*float64(i), 300, "aten::mm", tensorGEMM)
				if i%3 == 0 { // the device is idle though work is queued
					k.device += 600
				}
			}
			if missing {
				k.correlation++
				k.put("kernel", tensorGEMM, k.device, -5, 7, fmt.Sprintf(`"correlation":%d,"device":0,"stream":7`, k.correlation))
			}
			k.put("cuda_runtime", "cudaDeviceSynchronize", at+200, 9700, 1, "")
		}
		v := judge.Judge(k.read(t))
		at := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingDeviceWait })
		if at < 0 {
			t.Fatalf("missing %v: no device-wait in %+v", missing, v.Findings)
		}
		f := v.Findings[at]
		if suspects := strings.Contains(f.Text+f.Advice, "process"); suspects == missing || missing && !strings.Contains(f.Text, "no right time") {
			t.Errorf("missing %v: %s (%s)", missing, f.Text, f.Advice)
		}
	}
}
