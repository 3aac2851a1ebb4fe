package advise

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Taking batches over more cheaply removes the wait for them and no other idle time of the device.
func TestHandingOverIsWorthItsWait(t *testing.T) {
	for stall, want := range map[float64]float64{0.25: 1 / 0.75, math.NaN(): 3} {
		a := adviser{run: &recording.Run{}, verdict: diagnose.Verdict{Class: diagnose.HandsOver, Stall: stall, Idle: 2.0 / 3}}
		if fix, _ := a.handOver(); math.Abs(fix.Forecast.Speedup.High-want) > 0.01 {
			t.Errorf("a stall of %v: at most %.2fx, expected %.2fx", stall, fix.Forecast.Speedup.High, want)
		}
	}
}
