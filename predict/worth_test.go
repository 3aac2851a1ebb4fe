package predict

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
)

// A job that computes for 40 % of the time gains 2.5x at most, nothing of a faster device where
// loading runs beside computing, and twice with twice the input.
func TestUse(t *testing.T) {
	job := Use{Share: 0.4}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("at most", job.AtMost(), 2.5)
	faster := job.OnDevice(stoker.Exactly(0.5))
	near("a device twice as fast, beside", faster.Speedup.Point, 1)
	near("its use", faster.Utilization.Point, 0.2)
	near("a device twice as fast, in turns", faster.Speedup.High, 2.5/2)
	job.InLoop = true
	near("in turns", job.OnDevice(stoker.Exactly(0.5)).Speedup.Point, 2.5/2)
	job.InLoop = false
	near("a device a third as fast", job.OnDevice(stoker.Exactly(3)).Speedup.Point, 2.5/3)
	near("twice the input", job.WithInput(2).Speedup.Point, 2)
	near("ten times the input", job.WithInput(10).Speedup.Point, 2.5)
	near("its use", job.WithInput(10).Utilization.Point, 1)
	busy := Use{Share: 1}
	near("a job that never waits, on a device twice as fast", busy.OnDevice(stoker.Exactly(0.5)).Speedup.Point, 2)
	near("if its input just keeps up", busy.OnDevice(stoker.Exactly(0.5)).Speedup.Low, 1)
}
