package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// A large batch that the launching thread reads from a pipe was no tensor. One of tensors, and a thread that awaits its
// batch at the pipe, say nothing of arrays.
func TestArraysComeThroughAPipe(t *testing.T) {
	const loop, next = "process/7;loop;", "/t.py:9 train;torch/utils/data/dataloader.py:725 _BaseDataLoaderIter.__next__;"
	for name, c := range map[string]struct {
		state, last string
		bytes       float64
		want        bool
	}{
		"arrays":  {"core;", "multiprocessing/connection.py:395 Connection._recv", 41e6, true},
		"small":   {"core;", "multiprocessing/connection.py:395 Connection._recv", 41e3, false},
		"awaited": {"asleep;", "multiprocessing/connection.py:395 Connection._recv", 41e6, false},
		"tensors": {"core;", "torch/multiprocessing/reductions.py:116 rebuild_tensor", 41e6, false},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{Series: []recording.Series{
			{Signal: recording.FetchLooks, Subject: "process/7;loop", T: []float64{0, 30}, V: []float64{0, 3000}},
			{Signal: recording.FetchStack, Subject: loop + c.state + next + c.last, T: []float64{0, 30}, V: []float64{0, 15}},
			{Signal: recording.FetchStack, Subject: loop + "asleep;" + next + "selectors.py:9 select", T: []float64{0, 30}, V: []float64{0, 5}},
		}}}
		l.run.Facts.Loaders = []recording.Loader{{PID: 7, Tensors: 3, Objects: 1, BatchBytes: c.bytes}}
		l.From, l.To, l.Costs.Window.PID, l.Costs.Workers = 0, 30, 7, 1
		l.LoopLines = FindLoopLines(l.run, 7, 0, 30)
		q := l.askHandOver()
		if got := q.Score == 1 && len(q.Evidence) > 0 && q.Evidence[0].Signal == diagnose.SignalPiped; got != c.want {
			t.Errorf("%s: %t, %+v", name, got, q)
		}
	}
}

// A call of a loader waits for a batch and takes it over. Each sample counts for what it does, in any order.
func TestWaitsAreNoHandOver(t *testing.T) {
	const next = ";/t.py:9 train;torch/utils/data/dataloader.py:725 _BaseDataLoaderIter.__next__;"
	l := filler{Case: diagnose.NewCase(), run: &recording.Run{Series: []recording.Series{
		{Signal: recording.FetchLooks, Subject: "process/7;loop", T: []float64{0, 30}, V: []float64{0, 3000}},
		{
			Signal: recording.FetchStack, Subject: "process/7;loop;core" + next + "torch/multiprocessing/reductions.py:9 rebuild",
			T: []float64{0, 30}, V: []float64{0, 16},
		},
		{
			Signal: recording.FetchStack, Subject: "process/7;loop;asleep" + next + "selectors.py:9 select",
			T: []float64{0, 30}, V: []float64{0, 4},
		},
	}}}
	l.run.Facts.Loaders = []recording.Loader{{PID: 7, Tensors: 99}}
	l.From, l.To, l.Costs.Window.PID, l.Costs.Workers = 0, 30, 7, 1
	l.LoopLines = FindLoopLines(l.run, 7, 0, 30)
	if taken, all := l.measureInLoader(diagnose.HandOver); taken != 16 || all != 20 {
		t.Errorf("%g of %g s takes batches over", taken, all)
	}
}
