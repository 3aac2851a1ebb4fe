package recording

import (
	"fmt"
	"math"
	"testing"
)

// The parts of the judged steps have a mean and a 95th percentile, and their means add up;
// steps that are not judged do not count.
func TestPartsOfJudgedSteps(t *testing.T) {
	run := &Run{}
	for i := range 40 {
		s := Step{PID: 7, N: i, Start: float64(i), Period: 1, Phase: Train, Wait: 0.1, Optimized: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN()}
		if i%2 == 1 {
			s.Inside = &Inside{Clock: "cuda", Span: 1, Input: 0.1, Forward: 0.2, Backward: 0.4, Syncs: new(2.0), SyncTime: new(0.25)}
		}
		switch i {
		case 1: // warm-up
			s.Inside.Forward = 0.9
		case 3:
			s.Inside.Clock = HostClock
		case 39:
			s.Inside.Forward, s.Inside.Span = 0.4, 1.2
		}
		run.Steps = append(run.Steps, s)
	}
	w := run.Windows()[0]
	parts, clock := w.StepParts()
	got, sum := "", 0.0
	for _, p := range parts {
		got += fmt.Sprintf(" %s %.3f %.3f", p.Name, p.Mean, p.P95)
		sum += p.Mean
	}
	want := " input wait 0.100 0.100 copy in 0.000 0.000 forward 0.211 0.230 backward 0.400 0.400 optimizer 0.000 0.000 exchange 0.000 0.000 rest 0.300 0.300"
	if got != want || clock != "cuda" || math.Abs(sum-(17+1.2)/18) > 1e-9 {
		t.Errorf("parts on %s:%s, want%s; they add up to %v", clock, got, want, sum)
	}
	if a := w.Asks(); a.Syncs != 2 || math.Abs(a.SyncTime-0.25) > 1e-9 || !math.IsNaN(a.Launches) {
		t.Errorf("asks %+v", a)
	}
	if parts, _ := (Window{}).StepParts(); parts != nil {
		t.Errorf("parts of no step: %v", parts)
	}
}
