package diagnose

import (
	"fmt"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// slowLink tells of a PCIe link that works with fewer lanes or in a lower generation than
// device and slot can, though the device is at work: an idle link may go down by itself.
func (l live) slowLink() (Finding, bool) {
	g, subject := l.gpu()
	if g == nil || g.LinkGen == 0 || g.LinkWidth == 0 || !(l.Util > 0.5) {
		return Finding{}, false
	}
	gen, width := most(l.run.Find(recording.GPULinkGen, subject).Between(l.From, l.To).V), most(l.run.Find(recording.GPULinkWidth, subject).Between(l.From, l.To).V)
	if gen == 0 || width == 0 {
		return Finding{}, false
	}
	part := width / float64(g.LinkWidth)
	for range g.LinkGen - int(gen) { // each generation has about twice the rate of the one before
		part /= 2
	}
	if part > 0.6 {
		return Finding{}, false
	}
	f := said("slow-link", fmt.Sprintf("the host link runs at PCIe generation %.0f with %.0f lanes, of generation %d with %d that device and slot can: copies have %s of the rate. Another slot, a reseated card or riser, or a setting of the firmware brings it back",
		gen, width, g.LinkGen, g.LinkWidth, stoker.Percent(part)))
	return f, true
}

// most is the greatest of some values, 0 where there is none.
func most(values []float64) (greatest float64) {
	for _, v := range values {
		greatest = max(greatest, v)
	}
	return greatest
}
