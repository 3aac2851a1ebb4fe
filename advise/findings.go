package advise

import (
	"math"

	"github.com/stoker-dev/stoker/diagnose"
)

// ofFindings are changes that take a finding away. What they gain is not measured: all that the device idles for
// bounds it, or what the finding itself says.
var ofFindings = []struct {
	finding, title string
	risk           Risk
}{
	{diagnose.FindingAnomalyDetection, "switch autograd's anomaly detection off", NoRisk},
	{diagnose.FindingLongerSteps, "each step takes longer than those before it: a running sum, or only what is new, instead of a list that grows", NoRisk},
	{diagnose.FindingInterpreterLock, "take what other threads compute in Python out of the trainer's process", NoRisk},
	{diagnose.FindingManyReads, "read the values of a step from the device at once, not one by one", NoRisk},
	{diagnose.FindingHostTensors, "make tensors of the step on the device (torch.zeros(..., device=device)), or keep them there", NoRisk},
	{diagnose.FindingCPUOptimizer, "step on the device, or by an optimizer that is made for the CPU", NumericsRisk},
}

// withoutAnomalies returns the fix that switches anomaly detection off; none if it is not on.
func (a adviser) withoutAnomalies() []Fix {
	if fix, _ := a.removeFindings(); fix.Name == diagnose.FindingAnomalyDetection {
		return []Fix{fix}
	}
	return nil
}

// removeFindings proposes the first of these changes.
func (a adviser) removeFindings() (Fix, string) {
	for _, change := range ofFindings {
		for _, f := range a.verdict.Findings {
			if f.Name != change.finding || math.IsNaN(a.verdict.Idle) {
				continue
			}
			fix := Fix{
				Name: f.Name, Title: change.title, Effort: Code, Risk: change.risk, At: a.lineOf(f),
				Forecast: a.atMost(a.atIdle()), Cause: true, Notes: []string{f.Text, f.Advice},
			}
			if f.Name == diagnose.FindingLongerSteps {
				if f.Source == "" {
					continue
				}
				fix.Forecast, fix.Mind = a.atMost(atRemoval(f.Saves)), samplesGetLonger
			}
			return fix, ""
		}
	}
	return Fix{}, ""
}

// samplesGetLonger is what only the author of a program with longer and longer steps knows.
const samplesGetLonger = "whether samples get longer by intent (a sorted data set, a curriculum)"
