package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// What joins the devices already is not advised, and one process has no ranks.
func TestExchangeAdviceKnowsTheMachine(t *testing.T) {
	for name, c := range map[string]struct {
		grounds   diagnose.Grounds
		has, lack string
	}{
		"PCIe":        {diagnose.Grounds{}, "ranks joined by NVLink", "devices"},
		"SXM":         {diagnose.Grounds{Joined: true}, "fewer ranks for a model that fits on fewer. Larger", "NVLink"},
		"one process": {diagnose.Grounds{OneOwner: true}, "devices joined by NVLink", "ranks"},
		"own, served": {diagnose.Grounds{Program: diagnose.Inference, OwnReduce: true}, "fewer ranks", "gradients"},
		"layers, SXM": {diagnose.Grounds{Program: diagnose.Training, Exchange: recording.Gradients, Joined: true}, "fits on fewer, or a one-shot", "NVLink,"},
	} {
		if advice := c.grounds.ExchangeAdvice(); !strings.Contains(advice, c.has) || strings.Contains(advice, c.lack) {
			t.Errorf("%s: %q; want %q and no %q", name, advice, c.has, c.lack)
		}
	}
}

// Without a loader nothing is said of batches and images: a program may copy anything.
func TestCopiesWithoutALoader(t *testing.T) {
	with := diagnose.Grounds{Loader: &recording.Loader{}, Traffic: diagnose.Traffic{Full: true}}
	without := diagnose.Grounds{Traffic: diagnose.Traffic{Full: true}}
	for grounds, want := range map[*diagnose.Grounds][2]string{
		&with: {"images as uint8", "DataLoader(..., pin_memory=True), or"}, &without: {"narrower types", "tensor.pin_memory(), once"},
	} {
		v := diagnose.Verdict{Class: diagnose.TransferBound, Grounds: *grounds}
		if do, pin := v.Do(), grounds.PinAdvice(); !strings.Contains(do, want[0]) || !strings.HasPrefix(pin, want[1]) {
			t.Errorf("%q, %q; want %q", do, pin, want)
		}
	}
}

// Of values that the program exchanges by calls of its own, no gradients are advised.
func TestExchangeOfTheProgramsOwnValues(t *testing.T) {
	own := recording.Place{File: "/me/train.py", Line: 55, Function: "metrics"}
	for seconds, want := range map[float64]string{3: "train.py:55: losses and metrics that only the log needs: every 50 steps", 0.5: "gradient accumulation"} {
		v := diagnose.Verdict{Class: diagnose.NetworkBound, Device: -1}
		lines := []diagnose.LoopLine{{Seconds: seconds, Line: diagnose.Line{Own: own, Kind: diagnose.Collective}}}
		v.Measured.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 10, Lines: lines}
		if do := v.Do(); !strings.HasPrefix(do, want) {
			t.Errorf("%v of 10 s in its own collectives: %q, want %q", seconds, do, want)
		}
	}
}

// Ranks that make several batches between two steps of the optimizer exchange gradients in the last backward. Where all of
// them do, the device waits in each; with one batch a step that is as it should be, and one process exchanges nothing.
func TestExchangeInEachBackward(t *testing.T) {
	for name, c := range map[string]struct {
		exchange, updates float64
		want              bool
	}{
		"by own calls": {0.001, 0.125, true},
		"in each":      {0.001, 0.125, true},
		"one batch":    {0.001, 1, false},
		"one process":  {0, 0.125, false},
	} {
		backward := "lock;/home/me/train.py:59 train;torch/_tensor.py:1 Tensor.backward"
		if name == "by own calls" {
			backward = "asleep;/home/me/train.py:59 post_backward;torch/distributed/c10d_logger.py:83 wrapper"
		}
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0.0005, 0.03, 0.02, i == 0)
			s := &d.run.Steps[i]
			if s.Optimized = 0; c.updates == 1 || i%8 == 7 {
				s.Optimized = 1
			}
			s.Inside = &recording.Inside{
				Span: s.Period, Launches: stat.Known(2), LaunchTime: stat.Known(1e-5), Syncs: stat.Known(1), SyncTime: stat.Known(0.029), SyncAt: "/home/me/train.py:58",
				Exchange: c.exchange, Clock: "emulated",
			}
		}
		v := d.judgeSeen(map[string]float64{
			backward: 0.42,
			"asleep;/home/me/train.py:58 train;torch/cuda/__init__.py:1 synchronize":       0.56,
			"core;/home/me/train.py:50 train;torch/nn/modules/module.py:1 Module.__call__": 0.02,
		})
		between := v.Ledger.Find(diagnose.RowBetween)
		if got := between.Line.Kind == diagnose.Exchanging && between.Line.Own.Line == 59; got != c.want {
			t.Errorf("%s: %s (%s), %s", name, between.Line, between.Line.Kind, v.Headline())
		}
		if !c.want {
			continue
		}
		if fixes := advise.Rank(&d.run, v).Fixes; len(fixes) == 0 || !strings.Contains(fixes[0].Title, "no_sync()") {
			t.Errorf("%s: %v", name, fixes)
		}
	}
}
