package advise

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// The manual lists every gate, in order.
func TestGatesStandInTheManual(t *testing.T) {
	page, err := os.ReadFile("../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "## Gates: when a gain is not given")
	if !found {
		t.Fatal("docs/traces.md has no section on gates")
	}
	for _, gate := range gates {
		row := "| " + string(gate.gate) + " | " + gate.asks
		if _, after, found := strings.Cut(rest, row); found {
			rest = after
		} else {
			t.Errorf("docs/traces.md lacks, at its place: %s", row)
		}
	}
}

// findingOf is a verdict on a trace with one finding that no replay has a model of.
func findingOf(f diagnose.Finding, cause string, share float64) diagnose.Verdict {
	return diagnose.Verdict{
		Device: 0, Idle: 0.7, Findings: []diagnose.Finding{f},
		Causes: []diagnose.Cause{{Cause: cause, Share: share}},
	}
}

// A bound passes the gates as a replayed gain does.
func TestBoundsPassTheGates(t *testing.T) {
	buckets := diagnose.Finding{
		Name: diagnose.FindingExposedCommunication, Saves: 0.3,
		Settings: []stoker.Change{{Setting: stoker.BucketMB, To: 100}},
	}
	host := diagnose.Finding{Name: diagnose.FindingHostWork, Saves: 0.3}
	for name, c := range map[string]struct {
		verdict diagnose.Verdict
		lost    float64
		kernels int
		gate    Gate
		why     string
	}{
		"launches are known":     {findingOf(buckets, "launch", 0.7), 0, 100, "", ""},
		"launches are not known": {findingOf(buckets, "unlinked", 0.6), 0, 100, Evidence, "links to no launch"},
		"work is missing":        {findingOf(buckets, "launch", 0.7), 0.2, 100, Evidence, "no right time"},
		"work does not start":    {findingOf(buckets, "device-wait", 0.6), 0, 100, Evidence, "no reason is in the file"},
		"one kernel":             {findingOf(host, "unrecorded", 0.5), 0, 1, Evidence, "only 1 kernel in the file"},
		"many kernels":           {findingOf(host, "unrecorded", 0.5), 0, 100, "", ""},
	} {
		run := &recording.Run{}
		run.Facts.WorkLost = c.lost
		c.verdict.Grounds.Kernels, c.verdict.Grounds.Program = c.kernels, diagnose.Training
		plan := Plan{}
		adviser{run: run, verdict: c.verdict}.proposeTraced(&plan)
		switch {
		case c.gate == "" && (len(plan.Fixes) != 1 || !math.IsNaN(plan.Fixes[0].Forecast.Speedup.Point)):
			t.Errorf("%s: %+v", name, plan)
		case c.gate == "":
		case len(plan.Rejected) != 1 || plan.Rejected[0].Gate != c.gate || !strings.Contains(plan.Rejected[0].Why, c.why):
			t.Errorf("%s: %+v, want it refused by %s: %s", name, plan, c.gate, c.why)
		}
	}
}

// A change is refused whose part of the steps is not what limits them, or that the file shows to be done, to be
// about an operator, or to be about something that comes once.
func TestGainsAreAboutWhatLimits(t *testing.T) {
	loop := diagnose.Grounds{Kernels: 1000, Kinds: 40}
	for name, c := range map[string]struct {
		setting stoker.Setting
		to      any
		class   diagnose.Class
		kernel  float64
		grounds diagnose.Grounds
		steps   int
		world   int
		why     string // "" passes
	}{
		"precision":                {stoker.Precision, "bf16", diagnose.GPUPrecision, 0.9, loop, 5, 1, ""},
		"precision beside copies":  {stoker.Precision, "bf16", diagnose.TransferBound, 0.9, loop, 5, 1, "what the verdict names comes before"},
		"precision, class unknown": {stoker.Precision, "bf16", diagnose.Unknown, 0.9, loop, 5, 1, "what limits the steps is not known"},
		"precision of short waits": {stoker.TF32, true, diagnose.GPUPrecision, 0.6, loop, 5, 1, "they run 60 % of the window: less than"},
		"fusing":                   {stoker.Compile, "default", diagnose.GPUMemory, 0.9, loop, 1, 1, ""},
		"fusing beside a loader":   {stoker.Compile, "default", diagnose.MainThread, 0.7, loop, 5, 1, "what the verdict names comes before"},
		"fusing twice": {
			stoker.Compile, "default", diagnose.GPUMemory, 0.9,
			diagnose.Grounds{Kernels: 1000, Kinds: 40, Made: diagnose.Made{Fused: true}},
			5, 1, "a compiler fused",
		},
		"launching less":         {stoker.Compile, "reduce-overhead", diagnose.LaunchBound, 0.3, loop, 1, 1, ""},
		"launching less, waits":  {stoker.Compile, "reduce-overhead", diagnose.CPUBound, 0.3, loop, 5, 1, "what the verdict names comes before"},
		"more work, full device": {stoker.BatchSize, "2x", diagnose.GPUMemory, 0.9, loop, 5, 1, "what the verdict names comes before"},
		"graphs twice": {
			stoker.CUDAGraphs, true, diagnose.LaunchBound, 0.3,
			diagnose.Grounds{Kernels: 1000, Kinds: 40, Made: diagnose.Made{Graphs: true}},
			5, 1, "graphs launch half",
		},
		"an operator": {
			stoker.Compile, "reduce-overhead", diagnose.LaunchBound, 0.3,
			diagnose.Grounds{Kernels: 100, Kinds: 1},
			1, 1, "measures an operator",
		},
		"one matrix product that trains": {
			stoker.Precision, "bf16", diagnose.GPUPrecision, 0.9,
			diagnose.Grounds{Kernels: 100, Kinds: 1, Program: diagnose.Training},
			1, 1, "",
		},
		"a start": {
			stoker.Compile, "reduce-overhead", diagnose.LaunchBound, 0.3,
			diagnose.Grounds{Kernels: 31, Kinds: 9},
			1, 1, "none of its steps is known to come again",
		},
		"two short steps": {
			stoker.Compile, "reduce-overhead", diagnose.LaunchBound, 0.3,
			diagnose.Grounds{Kernels: 31, Kinds: 9},
			2, 1, "",
		},
		"one of eight ranks":      {stoker.Compile, "reduce-overhead", diagnose.NetworkBound, 0.3, loop, 5, 8, "what the verdict names comes before"},
		"waiting beside a rank":   {stoker.SyncEvery, 50, diagnose.NetworkBound, 0.3, loop, 5, 8, "only wait for longer"},
		"reading a loss":          {stoker.SyncEvery, 50, diagnose.CPUBound, 0.5, diagnose.Grounds{Program: diagnose.Training, Reads: 1}, 5, 1, ""},
		"reading sizes":           {stoker.SyncEvery, 50, diagnose.CPUBound, 0.5, diagnose.Grounds{Program: diagnose.Training, Reads: 5}, 5, 1, "may decide"},
		"reading, full device":    {stoker.SyncEvery, 50, diagnose.GPUMemory, 0.9, diagnose.Grounds{Framework: "CUDA"}, 5, 1, "waits are not the limit"},
		"pinning, copies limit":   {stoker.PinMemory, true, diagnose.TransferBound, 0.5, loop, 5, 1, ""},
		"pinning, made each time": {stoker.PinMemory, true, diagnose.CPUBound, 0.5, loop, 5, 1, "as long as is won"},
	} {
		run := &recording.Run{}
		run.Facts.Processes = []recording.Process{{World: c.world}}
		v := diagnose.Verdict{Class: c.class, Grounds: c.grounds}
		v.Shares.Kernel = c.kernel
		v.Costs.Window.Steps = make([]recording.Step, c.steps)
		fix := Fix{Name: string(c.setting), Changes: []stoker.Change{{Setting: c.setting, To: c.to}}}
		g := gain{evidence: evidence{adviser: adviser{run: run, verdict: v, costs: v.Costs}}, fix: &fix}
		g.edit, _ = replay.EditOf(fix.Changes)
		why := ""
		for _, check := range []func() string{
			g.checkTrial, g.checkAim, g.checkDone, g.checkRank, g.checkReads, g.checkRepeats, g.checkWaits,
		} {
			if why = check(); why != "" {
				break
			}
		}
		if c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s: refused for %q, want %q", name, why, c.why)
		}
	}
}

// Where a busy device and its host keep pace, fewer launches are what is named first: they are refused for no limit.
func TestFewerLaunchesOfAPacedDevice(t *testing.T) {
	v := diagnose.Verdict{Class: diagnose.GPUBound, Paced: true}
	fix := Fix{Changes: []stoker.Change{{Setting: stoker.Compile, To: "reduce-overhead"}}}
	g := gain{evidence: evidence{adviser: adviser{verdict: v}}, fix: &fix}
	if why := g.checkAim(); !strings.Contains(why, "is not known") {
		t.Errorf("refused for %q", why)
	}
}

// One run of a graph does not tell what a larger batch or fewer launches would gain in others.
func TestOneRunOfAGraph(t *testing.T) {
	run := &recording.Run{}
	run.Facts.StepsFrom = recording.OneRun
	v := diagnose.Verdict{Class: diagnose.LaunchBound, Grounds: diagnose.Grounds{Kernels: 1000, Kinds: 40}}
	fix := Fix{Changes: []stoker.Change{{Setting: stoker.BatchSize, To: "2x"}}}
	g := gain{evidence: evidence{adviser: adviser{run: run, verdict: v}}, fix: &fix}
	if why := g.checkTrial(); !strings.Contains(why, "one run of a graph") {
		t.Errorf("refused for %q", why)
	}
}

// The host's work is moved only if it is the limit, does not launch the device's, and is no first call.
func TestWhichHostWorkCanRunBeside(t *testing.T) {
	for name, c := range map[string]struct {
		class diagnose.Class
		work  diagnose.HostWork
		why   string
	}{
		"preprocessing":              {diagnose.CPUBound, diagnose.HostWork{In: "image.py(178): preprocess", First: true}, ""},
		"not recorded":               {diagnose.CPUBound, diagnose.HostWork{}, ""},
		"an operator of the loop":    {diagnose.CPUBound, diagnose.HostWork{In: "aten::sort"}, ""},
		"a first call":               {diagnose.CPUBound, diagnose.HostWork{In: "aten::mul_", First: true}, "it comes once"},
		"behind all kernels":         {diagnose.CPUBound, diagnose.HostWork{Last: true}, "no kernel comes behind"},
		"the compiled function":      {diagnose.CPUBound, diagnose.HostWork{In: "PjitFunction(step)"}, "launches the device's work"},
		"beside a device that works": {diagnose.GPUTensor, diagnose.HostWork{In: "image.py(178): preprocess"}, "this is gpu-bound/tensor: what the verdict names"},
		"beside launches":            {diagnose.LaunchBound, diagnose.HostWork{In: "image.py(178): preprocess"}, "what the verdict names comes first"},
	} {
		v := findingOf(diagnose.Finding{Name: diagnose.FindingHostWork, Saves: 0.3}, "python", 0.5)
		v.Class, v.Grounds = c.class, diagnose.Grounds{Kernels: 1000, Program: diagnose.Training, HostWork: c.work}
		plan := Plan{}
		adviser{run: &recording.Run{}, verdict: v}.proposeTraced(&plan)
		if c.why == "" && len(plan.Fixes) != 1 ||
			c.why != "" && (len(plan.Rejected) != 1 || !strings.Contains(plan.Rejected[0].Why, c.why)) {
			t.Errorf("%s: %+v, want %q", name, plan, c.why)
		}
	}
}

// Steps of a program without a framework that come as frames do keep time: to work sooner gains nothing. Nor does it
// if the host may need the device's results for its work.
func TestStepsThatKeepTime(t *testing.T) {
	for name, c := range map[string]struct {
		framework string
		period    float64
		steps     int
		read      bool
		refused   bool
	}{
		"the host reads results": {diagnose.FrameworkCUDA, 0.0090, 8, true, true},
		"25 frames a second":     {diagnose.FrameworkCUDA, 0.0401, 60, false, true},
		"as fast as it goes":     {diagnose.FrameworkCUDA, 0.0363, 60, false, false},
		"a few steps":            {diagnose.FrameworkCUDA, 0.0400, 8, false, false},
		"PyTorch":                {"", 0.0400, 60, true, false},
	} {
		v := findingOf(diagnose.Finding{Name: diagnose.FindingHostWork, Saves: 0.3}, "unrecorded", 0.5)
		v.Class, v.Grounds = diagnose.CPUBound, diagnose.Grounds{Kernels: 1000, Framework: c.framework}
		v.Grounds.Traffic.Read, v.Grounds.Program = c.read, diagnose.Training
		a := adviser{run: &recording.Run{}, verdict: v}
		for range c.steps {
			a.costs.Window.Steps = append(a.costs.Window.Steps, recording.Step{Period: c.period})
		}
		plan := Plan{}
		if a.proposeTraced(&plan); (len(plan.Fixes) == 0) != c.refused {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

// A file with one step is not told to have none, and one pass of layers is no step.
func TestGraphsTakeMemory(t *testing.T) {
	if risk := riskOfSetting(stoker.CUDAGraphs); risk != MemoryRisk {
		t.Errorf("risk %q: a captured graph keeps its buffers", risk)
	}
}

func TestFewStepsAreCounted(t *testing.T) {
	for rule, want := range map[string]string{
		"ProfilerStep marks": "only 1 step is judged", recording.WholeRecording: "the file marks no steps",
		recording.OnePass + " 5 layers": "the file marks no steps",
	} {
		g := gain{evidence: evidence{adviser: adviser{run: &recording.Run{}}}}
		g.run.Facts.StepsFrom, g.costs.Window.Steps = rule, make([]recording.Step, 1)
		if got := g.describeSteps(); got != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}
