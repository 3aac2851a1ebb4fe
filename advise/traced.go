package advise

import (
	"cmp"
	"math"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict"
)

// proposeTraced proposes the changes that the findings of a trace name, after those that the model
// proposes. A trace bounds what a change is worth: no more than the time that it
// is about. It does not tell how much of that comes back.
func (a adviser) proposeTraced(plan *Plan) {
	var fixes []Fix
	for _, f := range a.verdict.Findings {
		if !overlaps(f) && len(f.Settings) == 0 || !(f.Saves > 0) || plan.holds(f) {
			a.refuseWords(plan, f)
			continue
		}
		name := Overlap
		if len(f.Settings) > 0 {
			name = string(f.Settings[0].Setting)
		}
		plan.Rejected = slices.DeleteFunc(plan.Rejected, func(r Rejected) bool { return r.Name == name })
		most := a.mostOf(f)
		fix := Fix{
			Name: name, Title: titleOf(f), Changes: f.Settings, Effort: effortOf(f), Risk: riskOf(f), Notes: notesOf(f),
			Untested: true, At: a.lineOf(f), Lossless: !a.verdict.Grounds.ReadsLoss() || a.synchronizes(),
			Forecast: predict.Forecast{
				Speedup: stoker.Interval{Low: 1, Point: math.NaN(), High: most},
				Step:    stoker.Unknown(), Throughput: stoker.Unknown(), Stall: stoker.Unknown(),
			},
		}
		if f.Name == diagnose.FindingLaunchBound {
			fix.Notes = append(a.launchesFrom(), fix.Notes...)
		}
		g := gain{evidence: a.onEvidence(nil), fix: &fix}
		if by, why := g.askGates(); why != "" {
			plan.refuse(Rejected{Name: name, Why: why, Gate: by})
			continue
		}
		g.bound(&fix)
		if most < leastGain || a.verdict.Device < 0 && most < leastBusy {
			plan.Rejected = append(plan.Rejected, Rejected{Name: name, Why: atMostWorth(most)})
			continue
		}
		fixes = append(fixes, fix)
	}
	sort.SliceStable(fixes,
		func(i, j int) bool { return fixes[i].Forecast.Speedup.High > fixes[j].Forecast.Speedup.High })
	plan.Fixes = slices.Concat(a.averageAtOnce(), plan.Fixes, fixes)
	slices.SortStableFunc(plan.Fixes, func(f, g Fix) int { return cmp.Compare(a.learns(f), a.learns(g)) })
}

// averageAtOnce proposes to average all weights at once, if the function that averages them has most of a launching
// thread's work: no graph of the model holds those kernels.
func (a adviser) averageAtOnce() []Fix {
	lines := a.verdict.Measured.LoopLines
	if a.verdict.Class != diagnose.LaunchBound || lines.Looks < diagnose.FewLooks {
		return nil
	}
	average, found := lines.FirstOf(diagnose.Averaging)
	if !found || average.Own.File == "" {
		return nil
	}
	seconds, works := 0.0, 0.0
	for _, line := range lines.Lines {
		if line.Kind.IsWait() {
			continue
		}
		works += line.Seconds
		if line.Own.IsInFunctionOf(average.Own) {
			seconds += line.Seconds
		}
	}
	if seconds < mostlyLaunches*works {
		return nil
	}
	return []Fix{a.cheaperLine("make this line cheaper: ", average, seconds)}
}

// leastBusy is the bound of a live run's gain below which the device is busy enough. [J] Idle time is all that is known
// there, and a part of it stays: a busy machine, or what else the host has to do.
const leastBusy = 1.1

// inWords are what findings advise in the words of other frameworks than PyTorch, and the setting with the same aim.
var inWords = map[string]struct {
	name stoker.Setting
	like stoker.Change
}{
	diagnose.FindingElementwiseChains: {"fusion", stoker.Change{Setting: stoker.Compile, To: "default"}},
	diagnose.FindingNoTensorCores:     {"fewer bits", stoker.Change{Setting: stoker.Precision, To: "bf16"}},
}

// refuseWords refuses what a finding advises in words, if it is for another limit than that of the steps.
func (a adviser) refuseWords(plan *Plan, f diagnose.Finding) {
	advice, known := inWords[f.Name]
	framework := a.verdict.Grounds.Framework
	if !known || framework == "" || diagnose.IsBare(framework) || len(f.Settings) > 0 ||
		a.verdict.Class == diagnose.Unknown {
		return
	}
	g := gain{evidence: a.onEvidence(nil), fix: &Fix{Changes: []stoker.Change{advice.like}}}
	if why := g.checkAim(); why != "" {
		plan.Rejected = append(plan.Rejected, Rejected{Name: string(advice.name), Why: why, Gate: Program})
	}
}

// launchesFrom says which line of a live run launches most, if launching takes much of the launching thread's time.
func (a adviser) launchesFrom() []string {
	first, _, named := a.namedLaunches()
	if !named {
		return nil
	}
	return []string{"or launch less, mostly from " + first.Short() + " " + first.Own.Function +
		": calls on whole tensors instead of loops over their parts"}
}

// learns is 1 of a change after which the optimizer sees other batches, which nobody asked for: it comes last.
func (a adviser) learns(f Fix) int {
	if f.Risk == LearningRisk && a.verdict.Grounds.Program != diagnose.Inference {
		return 1
	}
	return 0
}

// lineOf is the program's line that a finding is about, file:line; "" if it was not recorded.
func (a adviser) lineOf(f diagnose.Finding) string {
	switch f.Name {
	case diagnose.FindingManyReads: // short ones, of which a step's longest is any
		line, _ := diagnose.BusiestFunction(a.verdict.Measured.LoopLines.Lines, func(line diagnose.LoopLine) bool {
			return line.Own.File != "" && line.Kind == diagnose.DeviceWait && !launchesWork(line.Call)
		})
		return cmp.Or(line.Short(), path.Base(a.costs.SyncsAt))
	case diagnose.FindingHiddenSync, diagnose.FindingExplicitSync:
		return path.Base(a.costs.SyncsAt)
	case diagnose.FindingHostTensors:
		return a.busiestOf(diagnose.Copying).Short()
	case diagnose.FindingLongerSteps, diagnose.FindingOptimizerLaunches, diagnose.FindingInterpreterLock:
		return f.Source
	}
	return ""
}

// mostOf is the upper bound of the gain without a finding. The host's work that runs during the
// device's is still there.
func (a adviser) mostOf(f diagnose.Finding) float64 {
	if overlaps(f) {
		return min(atRemoval(f.Saves), atOverlap(f.Saves))
	}
	return atRemoval(f.Saves)
}

// Overlap is the Name of the fix that no setting does: the host's work during the
// device's.
const Overlap = "overlap"

// overlaps reports whether a finding is about work of the host that could run while the
// device computes.
func overlaps(f diagnose.Finding) bool { return f.Name == diagnose.FindingHostWork }

func titleOf(f diagnose.Finding) string {
	if overlaps(f) {
		return "do the host's work while the device computes"
	}
	return f.Name
}

// notesOf are what a finding saw and advises, where no setting says it.
func notesOf(f diagnose.Finding) []string {
	if overlaps(f) {
		return []string{f.Text, f.Advice}
	}
	return []string{f.Advice}
}

// holds reports whether some fix changes what a finding would change first.
func (p *Plan) holds(f diagnose.Finding) bool {
	if len(f.Settings) == 0 {
		return false
	}
	return slices.ContainsFunc(p.Fixes, func(fix Fix) bool {
		return slices.ContainsFunc(fix.Changes,
			func(c stoker.Change) bool { return c.Setting == f.Settings[0].Setting })
	})
}

// flags are settings that an argument or a variable changes; the others take a
// line of code.
var flags = []stoker.Setting{
	stoker.NumWorkers, stoker.PrefetchFactor, stoker.BucketMB, stoker.Allocator,
	stoker.BatchSize,
}

func effortOf(f diagnose.Finding) Effort {
	if !overlaps(f) && slices.Contains(flags, f.Settings[0].Setting) {
		return Flag
	}
	return Code
}

// effortOfAll returns the effort of several changes together.
func effortOfAll(changes []stoker.Change) Effort {
	for _, c := range changes {
		switch {
		case c.Setting == stoker.Cores || c.Setting == stoker.Device:
			return Machine
		case !slices.Contains(flags, c.Setting) && c.Setting != stoker.PersistentWorkers:
			return Code
		}
	}
	return Flag
}

func riskOf(f diagnose.Finding) Risk {
	if overlaps(f) {
		return MemoryRisk
	}
	return riskOfSetting(f.Settings[0].Setting)
}

// risks are from the least to the one that weighs most.
var risks = []Risk{NoRisk, MemoryRisk, SeedRisk, NumericsRisk, LearningRisk}

// riskOfAll returns the risk that weighs most among those of several changes.
func riskOfAll(changes []stoker.Change) Risk {
	most := 0
	for _, c := range changes {
		most = max(most, slices.Index(risks, riskOfSetting(c.Setting)))
	}
	return risks[most]
}

// riskOfSetting returns what a change of a setting may break.
func riskOfSetting(first stoker.Setting) Risk {
	switch {
	case first == stoker.BatchSize || first == stoker.Accumulation:
		return LearningRisk
	case slices.Contains([]stoker.Setting{
		stoker.NumWorkers, stoker.PrefetchFactor, stoker.PinMemory, stoker.CUDAGraphs,
	}, first):
		return MemoryRisk
	// Inductor's kernels round in their own order
	case first == stoker.TF32 || first == stoker.Precision || first == stoker.Compile:
		return NumericsRisk
	}
	return NoRisk
}

// synchronizes reports whether the line on which steps wait for the device reads nothing: it calls synchronize().
func (a adviser) synchronizes() bool {
	return slices.ContainsFunc(a.verdict.Measured.LoopLines.Lines, func(line diagnose.LoopLine) bool {
		return line.Own.IsAt(a.costs.SyncsAt) && strings.HasSuffix(line.Call.Function, "synchronize")
	})
}
