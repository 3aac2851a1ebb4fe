package live

import (
	"fmt"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/quantity"
)

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
	f := diagnose.NewTextFinding(diagnose.FindingPadding, fmt.Sprintf(
		"%s of the numbers of a batch are padding, on which the device computes as on samples: %s lie beyond the longest "+
			"sample of their batch", quantity.Percent(padded), quantity.Percent(beyond)))
	f.Advice = diagnose.PaddingAdvice
	return f, true
}
