package advise

import (
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
)

// answering are the settings by which findings are answered whose own Settings do not say it:
// they advise in words.
var answering = map[string][]stoker.Setting{
	diagnose.FindingDataLoaderWait:       {stoker.NumWorkers},
	diagnose.FindingHostWork:             {Overlap}, // which no setting does
	diagnose.FindingPageableCopies:       {stoker.PinMemory},
	diagnose.FindingSerialCopies:         {stoker.SideStream},
	diagnose.FindingTinyCopies:           {stoker.MergeCopies},
	diagnose.FindingHiddenSync:           {stoker.SyncEvery},
	diagnose.FindingExplicitSync:         {stoker.SyncEvery},
	diagnose.FindingLaunchBound:          {stoker.Compile, stoker.CUDAGraphs, stoker.BatchSize},
	diagnose.FindingSmallGrids:           {stoker.BatchSize},
	diagnose.FindingElementwiseChains:    {stoker.Compile},
	diagnose.FindingExposedCommunication: {stoker.Accumulation},
}

// FindAnswer is what the plan says of what a finding advises: the fix that it proposes for it, and why
// some of it is not worth it. A finding tells what was seen, the plan what that is worth, and no
// page may advise by the one a change that the other advises against.
func (p Plan) FindAnswer(f diagnose.Finding) (fix *Fix, denied string) {
	names := answering[f.Name]
	if names == nil {
		for _, c := range f.Settings {
			names = append(names, c.Setting)
		}
	}
	if advice, worded := inWords[f.Name]; worded && len(f.Settings) == 0 {
		names = append(slices.Clone(names), advice.name)
	}
	for _, name := range names {
		at := slices.IndexFunc(p.Fixes, func(fix Fix) bool {
			return slices.ContainsFunc(fix.Changes, func(c stoker.Change) bool { return c.Setting == name })
		})
		if at >= 0 && fix == nil {
			fix = &p.Fixes[at]
		}
		if because, rejected := p.verdictOn(string(name)); rejected && at < 0 && denied == "" {
			denied = string(name) + ": " + because
		}
	}
	return fix, denied
}

// ofKinds are the changes that kinds of gpu-bound are named for.
var ofKinds = map[diagnose.Class][]stoker.Setting{diagnose.GPUPrecision: {stoker.TF32, stoker.Precision}}

// KeepKind returns a verdict's class, without its kind if the plan denies each change that the kind is named for.
func (p Plan) KeepKind(class diagnose.Class) diagnose.Class {
	denied := false
	for _, name := range ofKinds[class] {
		if slices.ContainsFunc(p.Fixes, func(f Fix) bool { return f.Name == string(name) }) {
			return class
		}
		_, rejected := p.verdictOn(string(name))
		denied = denied || rejected
	}
	if denied {
		return diagnose.GPUBound
	}
	return class
}
