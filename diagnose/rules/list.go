package rules

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
)

// rules are all rules, in the order in which they are explained.
var rules = []Rule{
	startUp, gpuBound, mainThreadLoader, tooFewWorkers, clusterBound, handOver, slowSamples, cpuExhausted, neighbour,
	cgroupThrottled, ioBound,
	transferBound, launchBound, cpuBound, networkBound,
	straggler, throttled, sharedGPU, computeOnCPU, waitsOutside, notTraining,
	noLoad, batchTooSmall, serverHost, serverWaits, cacheFull,
}

// Describe is the title and the text of a verdict's class; false for "unknown".
func Describe(v diagnose.Verdict) (title, text string, known bool) {
	if v.Class == diagnose.NotTraining && v.Ending.Failed() {
		return failedTitle, failedText, true
	}
	rule, known := FindRule(v.Class)
	once := len(v.Costs.Window.Steps) == 1 && !v.Grounds.HasEpochs(1)
	if once || v.Grounds.Program == diagnose.Inference {
		rule.Title = strings.ReplaceAll(rule.Title, "training loop", "loop")
	}
	if v.Class.Is(diagnose.GPUBound) && (v.Shares.Kernel < nearlyAll || v.Stall > diagnose.InputStall.No) {
		return rule.Title, leadingText, known
	}
	return rule.Title, rule.Text, known
}

// FindRule returns the rule that explains a class, for a kind of an ailment that of
// the ailment; false for "unknown".
func FindRule(class diagnose.Class) (Rule, bool) {
	for _, rule := range slices.Concat(rules, ioKinds, clusterKinds) {
		if class == rule.Class {
			return rule, true
		}
	}
	for _, rule := range rules {
		if class.Is(rule.Class) {
			return rule, true
		}
	}
	return Rule{}, false
}
