package predict

import (
	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// NewBaseline returns a job of which only the length of a step is known.
func NewBaseline(took float64) Baseline {
	return Baseline{Took: took, Settings: stoker.Settings{}, played: map[queue]float64{}}
}

// Unhurry sets what the launching thread would do with a core to itself: it spins longer, at most
// for as long as the device works, and waits for no core.
func (b *Baseline) Unhurry(spin, device float64) {
	p, err := b.compile()
	if err != nil {
		return
	}
	share := p.coreShare(bounds.Likely)
	b.Spin, b.Crowd = stoker.Exactly(max(bounds.Least, min(spin/share, max(spin, device)))), p.crowdingExcess()
	if b.Others == 0 {
		return
	}
	off := bounds.Scale(b.Launch, 1-share)
	b.Step = stoker.Interval{
		Low:   max(bounds.Least, b.Step.Low-off.High),
		Point: max(bounds.Least, b.Step.Point-off.Point), High: max(bounds.Least, b.Step.High-off.Low),
	}
	b.Launch = bounds.Scale(b.Launch, share)
}

// SetMeasuredPrepare sets the core time that a sample costs the launching thread, from the
// measured cost of a batch with the workers of the setup.
func (s *Setup) SetMeasuredPrepare(took stoker.Interval) { s.PrepareCPU = s.prepareAlone(took) }

// prepareAlone returns that cost, and sets the cost of moving a byte.
func (s *Setup) prepareAlone(took stoker.Interval) stoker.Interval {
	p, err := s.compile()
	if err != nil {
		return stoker.Unknown()
	}
	moved := func(v bounds.View) float64 {
		bytes := p.batch * orNone(p.decoded[v])
		switch {
		case p.workers == 0:
			return costFreshPages(v, bytes)
		case p.feeds:
			return 0
		}
		return p.costGiving(v, bytes)
	}
	cpu := bounds.CostViews(took)
	s.Moving = min(1, (1-leastOwn)*cpu[bounds.Pessimist]/max(bounds.Least, moved(bounds.Pessimist)))
	return bounds.InEachView(func(v bounds.View) float64 {
		return max(bounds.Least, (cpu[v]/p.slowing(v)-s.Moving*moved(v))/p.batch)
	})
}

// leastOwn is the share of a batch's core time that is the data set's at least: moving
// bytes was measured on one machine, and another may be faster at it.
const leastOwn = 0.2
