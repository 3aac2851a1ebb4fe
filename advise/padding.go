package advise

import "github.com/stoker-dev/stoker/diagnose"

// padding proposes shorter batches if the device computes all the time, and much of that on padding. The bound is of a
// device whose work goes with the numbers of a batch. Other batches, of like samples, are no change for a gain that is
// not known: the finding has them.
func (a adviser) padding() (Fix, string) {
	l := a.judgedLoader()
	if l == nil || !a.verdict.Class.Is(diagnose.GPUBound) {
		return Fix{}, ""
	}
	padded, beyond := l.Padding.Share()
	if beyond < diagnose.PaddingBeyond {
		return Fix{}, ""
	}
	fix := Fix{
		Name: diagnose.FindingPadding, Effort: Code, Risk: NumericsRisk, Where: l.Where, Cause: true,
		Title: "pad to the longest sample of each batch, and not to one length (padding=True, DataCollatorWithPadding)",
		Notes: []string{
			diagnose.SayPadding(padded, beyond),
			"what the model makes of padding must not count (attention_mask, a loss that leaves it out). A compiled model is " +
				"compiled again for new lengths: pad to a multiple of 64 (pad_to_multiple_of), or dynamic=True",
		},
	}
	if padded-beyond >= diagnose.PaddingBeyond {
		fix.Notes = append(fix.Notes, "samples of like length in one batch (group_by_length, a sampler by length) need "+
			"less still, and are other batches to the optimizer")
	}
	fix.Forecast = capAt(a.base.Faster(1/(1-beyond)), 1/(1-beyond))
	return fix, ""
}
