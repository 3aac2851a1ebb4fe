package traced

import (
	"math"
	"strings"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// askLoading asks who loads the data: the launching thread or worker processes. In
// between where the trace does not tell.
func (t *filler) askLoading(run *recording.Run) (alone, workers diagnose.Quantity) {
	const ask, other = "Does the launching thread load by itself?", "Are there worker processes?"
	if l := run.FindLoader(t.costs.Window.PID, t.costs.Window.Loader); l != nil {
		if n, known := l.Settings.Int("num_workers"); known {
			set := diagnose.WorkersText(measure.Costs{Workers: n, Set: true})
			return diagnose.AskFact("Does the launching thread load by itself (num_workers=0)?", n == 0, set),
				diagnose.AskFact(other, n != 0, set)
		}
	}
	single, several := t.findIterators()
	switch {
	case diagnose.IsTensorFlow(run.Facts.Software.Framework):
		const text = "tf.data prepares batches in threads of its own"
		return diagnose.AskFact(ask, false, text),
			diagnose.AskFact("Do others than the launching thread load?", true, text)
	case single && !several:
		const text = "a single-process iterator is marked"
		return diagnose.AskFact(ask, true, text), diagnose.AskFact(other, false, text)
	case several && !single:
		const text = "a multi-process iterator is marked"
		return diagnose.AskFact(ask, false, text), diagnose.AskFact(other, true, text)
	}
	const note = "operators inside the loader's span, and decoding in C leaves none"
	works := t.measureWorkInside()
	return diagnose.AskShare("Does the launching thread work while it waits for a batch?", works, diagnose.WorksInLoader, note),
		diagnose.AskShare("Does the launching thread rest while it waits for a batch?", 1-works, diagnose.RestsInLoader, note)
}

// findIterators says which of PyTorch's iterators are named within the window.
func (t *filler) findIterators() (single, several bool) {
	kinds := make([]uint8, len(t.t.Names)) // 0 not looked at, 1 neither, 2 single, 3 several
	h := &t.t.Host
	for i, name := range h.Name {
		if h.End[i] <= t.d.From || h.Start[i] >= t.d.To {
			continue
		}
		if kinds[name] == 0 {
			text := t.t.Names[name]
			switch {
			case strings.Contains(text, "SingleProcessDataLoaderIter"):
				kinds[name] = 2
			case strings.Contains(text, "MultiProcessingDataLoaderIter"):
				kinds[name] = 3
			default:
				kinds[name] = 1
			}
		}
		single, several = single || kinds[name] == 2, several || kinds[name] == 3
	}
	return single, several
}

// measureWorkInside is the share of the loader's longest wait in which operators ran in
// the same thread.
func (t *filler) measureWorkInside() float64 {
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
