package advise

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

// padding proposes shorter batches if the device computes all the time, and much of that on padding. The bound is of a
// device whose work goes with the numbers of a batch; attention over long samples may gain more.
func (a adviser) padding() (Fix, string) {
	l := a.judgedLoader()
	if l == nil || !a.verdict.Class.Is(diagnose.GPUBound) {
		return Fix{}, ""
	}
	padded, beyond := l.Padding.Share()
	fix := Fix{
		Name: diagnose.FindingPadding, Effort: Code, Risk: NumericsRisk, Where: l.Where, Cause: true,
		Title: "pad to the longest sample of each batch, and not to one length (padding=True, DataCollatorWithPadding)",
		Notes: []string{
			fmt.Sprintf("%s of the numbers of a batch are padding, and %s lie beyond the longest sample of their batch",
				quantity.Percent(padded), quantity.Percent(beyond)),
			"what the model makes of padding must not count (attention_mask, a loss that leaves it out). A compiled model is " +
				"compiled again for new lengths: pad to a multiple of 64 (pad_to_multiple_of), or dynamic=True",
		},
	}
	share := beyond
	switch {
	case beyond >= diagnose.PaddingBeyond:
		if padded-beyond >= diagnose.PaddingBeyond {
			fix.Notes = append(fix.Notes, "samples of like length in one batch (group_by_length, a sampler by length) need "+
				"less still, and are other batches to the optimizer")
		}
	case padded >= diagnose.PaddingUneven:
		share, fix.Risk = padded, LearningRisk
		fix.Title = "put samples of like length into one batch (group_by_length, a sampler by length)"
	default:
		return Fix{}, ""
	}
	fix.Forecast = a.base.Faster(1 / (1 - share))
	return fix, ""
}
