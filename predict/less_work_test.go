package predict

import (
	"testing"

	"github.com/stoker-dev/stoker"
)

// TestWithout: nothing taken away is worth nothing, all of it leaves the loop, and half of
// it half.
func TestWithout(t *testing.T) {
	share := stoker.Exactly
	for _, workers := range []int{0, 1, 3} {
		if f := loader(0.050, 0.010, 8, workers).Without(share(0), share(0)); f.Speedup != share(1) {
			t.Errorf("%d workers, nothing taken away: %+v", workers, f.Speedup)
		}
	}
	b := loader(0.050, 0.010, 8, 0)
	if f := b.Without(share(1), share(1)); !near(f.Step.Point, 0.010, 0.001) || f.Bound != stoker.GPU {
		t.Errorf("all taken away: %+v, bound %s; want the loop's 10 ms", f.Step, f.Bound)
	}
	if f := b.Without(stoker.Interval{Low: 0.4, Point: 0.5, High: 0.6}, share(0)); !near(f.Step.Point, 0.035,
		0.002) || !(f.Step.Low < 0.031 && f.Step.High > 0.039) {
		t.Errorf("half of the core time taken away: %+v, want 35 ms, 30 to 40", f.Step)
	}
	asleep := b
	asleep.PrepareCPU, asleep.Wait = share(0.010), share(0.040)
	if core, waits := asleep.Without(share(1), share(0)),
		asleep.Without(share(0), share(1)); !near(core.Step.Point, 0.050, 0.003) ||
		!near(waits.Step.Point, 0.020, 0.002) {
		t.Errorf("of 10 ms on a core and 40 asleep: %+v without the first, %+v without the second", core.Step,
			waits.Step)
	}
}

// A batch of which nobody knows what it cost on a core may have cost none: that is a
// setup that the law takes.
func TestNoCoreTimeIsTaken(t *testing.T) {
	for _, batch := range []float64{1, 8, 4096} {
		s := Setup{Batch: batch, Workers: 2, Cores: 4, Step: stoker.Exactly(0.1)}
		s.PrepareCPU = s.prepareAlone(stoker.Interval{Low: 0, Point: 0.01, High: 0.02})
		if err := s.checkFields(); err != nil {
			t.Errorf("batch %v: %v", batch, err)
		}
	}
}
