package diagnose

import (
	"math"
	"strings"

	"stoker/diagnose/idle"
	"stoker/predict"
	"stoker/recording"
)

// loaderTraced scores a wait for input that a trace shows: with the loader's work
// in the launching thread, or with worker processes.
func (c *Case) loaderTraced(inThread bool) float64 {
	t := c.traced
	alone := t.loadsItself(c)
	t.itself = alone
	kind := alone
	if !inThread {
		kind = 1 - alone
	}
	starved := c.starved()
	c.because(c.Stall, "ratio", "trace.data-loader", "the device waits for input %s of the window: %s in gaps while the loop is inside its loader", percent1(c.Stall), ms(c.Stall*(c.To-c.From)))
	if !math.IsNaN(c.Costs.Wait) && c.HasSteps {
		c.because(c.Costs.Wait, "seconds", "step.wait", "the loop is inside its loader %s of a %s step; work queued on the device covers %s of it", ms(c.Costs.Wait), ms(c.Costs.Step), ms(c.Costs.Queued))
	}
	c.gapEvidence()
	c.placeEvidence(idle.DataLoader)
	// Half as much again as the largest rival still counts as much as it: what
	// input leaves uncovered shows up as other causes.
	lead := 1.0
	if most := max(t.host, t.long, t.copied, t.comm); most > 0 {
		lead = min(1, 1.5*t.input/most)
	}
	return kind * starved * lead * lead
}

// loadsItself is 1 where the loader's work is done in the launching thread, 0
// where by worker processes; in between where the trace does not tell.
func (t *traced) loadsItself(c *Case) float64 {
	workers, known := -1, false
	if l := c.Run.Loader(c.Costs.Window.PID, c.Costs.Window.Loader); l != nil {
		workers, known = l.Settings.Int("num_workers")
	}
	if known {
		return c.askFact("Does the launching thread load by itself (num_workers=0)?", workers == 0, workersText(predict.Costs{Workers: workers, Set: true}))
	}
	single, several := t.iterators()
	switch {
	case single && !several:
		return c.askFact("Does the launching thread load by itself?", true, "a single-process iterator is marked")
	case several && !single:
		return c.askFact("Does the launching thread load by itself?", false, "a multi-process iterator is marked")
	}
	share := t.worksInside()
	return c.ask("Does the launching thread work while it waits for a batch?", share, 0.1, 0.4, "operators inside the loader's span; decoding in C leaves none")
}

// iterators says which of PyTorch's iterators are named within the window.
func (t *traced) iterators() (single, several bool) {
	kinds := make([]uint8, len(t.t.Names)) // 0 not looked at, 1 neither, 2 single, 3 several
	h := &t.t.Host
	for i, name := range h.Name {
		if h.End[i] <= t.d.From || h.Start[i] >= t.d.To {
			continue
		}
		if kinds[name] == 0 {
			text := t.t.Names[name]
			switch {
			case strings.Contains(text, "_SingleProcessDataLoaderIter"):
				kinds[name] = 2
			case strings.Contains(text, "_MultiProcessingDataLoaderIter"):
				kinds[name] = 3
			default:
				kinds[name] = 1
			}
		}
		single, several = single || kinds[name] == 2, several || kinds[name] == 3
	}
	return single, several
}

// worksInside is the share of the loader's longest wait in which operators ran in
// the same thread.
func (t *traced) worksInside() float64 {
	place := t.d.Places[idle.DataLoader].Slice
	if place.From >= place.To {
		return math.NaN()
	}
	h := &t.t.Host
	inside, end := int64(0), place.From
	for i := range h.Start {
		if h.Start[i] >= place.To {
			break
		}
		if h.Thread[i] == place.Thread && h.Kind[i] == recording.Op {
			if from, to := max(h.Start[i], end), min(h.End[i], place.To); to > from {
				inside += to - from
				end = to
			}
		}
	}
	return float64(inside) / float64(place.To-place.From)
}

// noTelemetry reports whether the run is a trace without any live signal.
func (c *Case) noTelemetry() bool {
	return c.hostOnly || c.traced != nil && math.IsNaN(c.Costs.CoresUse)
}

// transferTraced scores copies that nothing covers.
func (c *Case) transferTraced() float64 {
	t := c.traced
	much := c.ask("Do copies to the device run while no kernel does?", t.copied, 0.07, 0.15, "")
	down := t.copies.ToDevice
	c.because(t.copied, "ratio", "trace.copy", "copies run alone or are being issued %s of the window", percent1(t.copied))
	if down.Bytes > 0 {
		c.because(down.Rate(), "bytes/s", "trace.copies", "%d copies to the device carry %.1f MB at %.1f GB/s, %s of them while no kernel runs",
			down.Count, float64(down.Bytes)/1e6, down.Rate()/1e9, ms(seconds(down.Alone)))
	}
	if n := t.copies.Pageable.Count; n > 0 {
		c.because(float64(n), "copies", "trace.pageable", "%d of them come from pageable memory: staged by the CPU, and the launching thread waits", n)
	}
	c.gapEvidence()
	return much * t.rival(t.copied) * t.besideInput()
}
