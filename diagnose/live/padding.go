package live

import "github.com/stoker-dev/stoker/diagnose"

// findPadding tells of batches much of which is padding.
func (l filler) findPadding() (diagnose.Finding, bool) {
	loader := l.judgedLoader()
	if loader == nil {
		return diagnose.Finding{}, false
	}
	padded, beyond := loader.Padding.Share()
	if beyond < diagnose.PaddingBeyond && padded < diagnose.PaddingUneven {
		return diagnose.Finding{}, false
	}
	f := diagnose.NewTextFinding(diagnose.FindingPadding, diagnose.SayPadding(padded, beyond))
	f.Advice = diagnose.PaddingAdvice
	if beyond < diagnose.PaddingBeyond {
		f.Advice = "samples of like length in one batch (group_by_length, a sampler by length), if shorter batches take the " +
			"device less time. The optimizer then sees other batches"
	}
	return f, true
}
