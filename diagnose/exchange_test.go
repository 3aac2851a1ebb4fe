package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
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
	for seconds, want := range map[float64]string{3: "train.py:55: losses and metrics every 50 steps", 0.5: "gradient accumulation"} {
		v := diagnose.Verdict{Class: diagnose.NetworkBound, Device: -1}
		lines := []diagnose.LoopLine{{Seconds: seconds, Line: diagnose.Line{Own: own, Kind: diagnose.Collective}}}
		v.Measured.LoopLines = diagnose.LoopLines{Looks: 100, Seconds: 10, Lines: lines}
		if do := v.Do(); !strings.HasPrefix(do, want) {
			t.Errorf("%v of 10 s in its own collectives: %q, want %q", seconds, do, want)
		}
	}
}
