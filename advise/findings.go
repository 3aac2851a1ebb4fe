package advise

import (
	"math"
	"slices"

	"github.com/stoker-dev/stoker/diagnose"
)

// ofFindings are changes that take a finding away. What they gain is not measured: all that the device idles for
// bounds it, or what the finding itself says.
var ofFindings = []struct {
	finding, title string
	risk           Risk
}{
	{diagnose.FindingAnomalyDetection, "switch autograd's anomaly detection off", NoRisk},
	{diagnose.FindingLaunchBlocking, "unset CUDA_LAUNCH_BLOCKING, by which each launch waits until its kernel has ended", NoRisk},
	{diagnose.FindingLongerSteps, "each step takes longer than those before it: a running sum, or only what is new, instead of a list that grows", NoRisk},
	{diagnose.FindingInterpreterLock, "take what other threads compute in Python out of the trainer's process", NoRisk},
	{diagnose.FindingManyReads, "read the values of a step from the device at once, not one by one", NoRisk},
	{diagnose.FindingGatheredBatches, "let the loader put whole batches together", NoRisk},
	{
		diagnose.FindingHostTensors,
		"what a step copies beside its batch: make it on the device (torch.zeros(..., device=device)), or keep it there (masks, " +
			"tables, weights)",
		NoRisk,
	},
	{diagnose.FindingTinyCopies, "copy the small tensors of a step at once, or make them on the device", NoRisk},
	{
		diagnose.FindingOptimizerLaunches,
		"let the optimizer step on all parameters in few kernels (fused=True or foreach=True, few parameter groups)",
		NumericsRisk,
	},
	{diagnose.FindingCPUOptimizer, "step on the device, or by an optimizer that is made for the CPU", NumericsRisk},
}

// needNoStep are findings whose fix needs no loader and no step.
var needNoStep = []string{
	diagnose.FindingAnomalyDetection, diagnose.FindingLaunchBlocking, diagnose.FindingInterpreterLock,
}

// ofAnyLoop returns the fix of such a finding; none without one.
func (a adviser) ofAnyLoop() []Fix {
	fix, _ := a.removeFindings()
	if slices.Contains(needNoStep, fix.Name) {
		return []Fix{fix}
	}
	return nil
}

// behindAnyLoop returns these fixes behind that of a finding. Where another thread holds the interpreter lock, a line
// that waits for a lock or comes back from the device is its victim: nothing is to be changed there.
func (a adviser) behindAnyLoop(fixes []Fix) []Fix {
	first := a.ofAnyLoop()
	if len(first) > 0 && first[0].Name == diagnose.FindingInterpreterLock {
		fixes = slices.DeleteFunc(fixes, func(f Fix) bool {
			return f.Kind == diagnose.Locking || f.Kind == diagnose.DeviceWait
		})
	}
	return append(first, fixes...)
}

// removeFindings proposes the first of these changes.
func (a adviser) removeFindings() (Fix, string) {
	for _, change := range ofFindings {
		for _, f := range a.verdict.Findings {
			if f.Name != change.finding || math.IsNaN(a.verdict.Idle) ||
				f.Name == diagnose.FindingTinyCopies && a.kernelsSeen() { // whose copies are played
				continue
			}
			fix := Fix{
				Name: f.Name, Title: change.title, Effort: Code, Risk: change.risk, At: a.lineOf(f),
				Forecast: a.atMost(a.withoutIdle()), Cause: true, Notes: []string{f.Text, f.Advice},
			}
			if !math.IsNaN(f.Saves) {
				fix.Forecast = a.atMost(atRemoval(f.Saves))
			}
			if f.Name == diagnose.FindingGatheredBatches {
				if !a.isStarved() {
					continue
				}
				fix.Title, fix.Notes = f.Advice, []string{f.Text}
				fix.Forecast = a.atMost(atRemoval(a.verdict.Stall))
			}
			if f.Name == diagnose.FindingManyReads && a.costs.Workers == 0 && a.costs.Fed() {
				fix.Title = "read values from the device every 50 steps, all at once: the loop loads while the device works"
				fix.Mind = readsDecide
			}
			if f.Name == diagnose.FindingManyReads && a.generates() {
				fix.Title, fix.Mind = everyTokens, ""
			}
			if f.Name == diagnose.FindingLongerSteps {
				if f.Source == "" {
					continue
				}
				fix.Mind = samplesGetLonger
			}
			return fix, ""
		}
	}
	return Fix{}, ""
}

// samplesGetLonger is what only the author of a program with longer and longer steps knows.
const samplesGetLonger = "whether samples get longer by intent (a sorted data set, a curriculum)"
