package replay

import (
	"slices"

	"github.com/stoker-dev/stoker/predict/bounds"
	"github.com/stoker-dev/stoker/recording"
)

// Lone reports whether collectives were recorded of one rank alone: how much of them is
// waiting for the others, such a file does not tell.
func (t *Trace) Lone() bool {
	if t.world == 1 {
		return false
	}
	for i := range t.works {
		if w := &t.works[i]; w.kind == recording.Collective && w.meet < 0 && t.isJudged(w.step) {
			return true
		}
	}
	return false
}

// UpdateShare returns the share of a window, seconds, in which the host is within steps of the optimizer.
func (t *Trace) UpdateShare(from, to float64) float64 {
	h, sum, until := &t.t.Host, 0.0, from
	for i, name := range h.Name {
		if h.Kind[i] != recording.Annotation || !recording.OptimizerSpan(t.t.Names[name]) {
			continue
		}
		if start, end := max(float64(h.Start[i])/1e9, until), min(float64(h.End[i])/1e9, to); end > start {
			sum, until = sum+end-start, end
		}
	}
	return sum / (to - from)
}

// skipExchange reports whether a view leaves a collective out of a step that only
// accumulates gradients.
func (p *play) skipExchange(i int32, v bounds.View) bool {
	w := &p.t.works[i]
	if w.kind != recording.Collective {
		return false
	}
	switch recording.ExchangeOf(p.t.t.Names[w.name]) {
	case recording.Gradients:
		return true
	case recording.UnknownExchange:
		return v != bounds.Pessimist
	case recording.Activations, recording.Weights:
	}
	return false
}

// growExchanges makes collectives longer for a larger batch: those that carry samples and, in
// the worst view, the wait of a lone rank for others that have as much more to do.
func (p *play) growExchanges(batch float64, v bounds.View) {
	lone, learns := p.t.Lone(), slices.ContainsFunc(p.t.t.Names, recording.Learns)
	for i := range p.t.works {
		w := &p.t.works[i]
		if w.kind != recording.Collective {
			continue
		}
		// A program that does not learn has no gradients to exchange, and seldom weights.
		if !learns || recording.ExchangeOf(p.t.t.Names[w.name]) == recording.Activations ||
			lone && w.meet < 0 && v == bounds.Pessimist {
			p.length[i] = scaleTime(p.length[i], batch)
		}
	}
}
