package predict

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/hardware"
)

func gpu(t testing.TB, name string) hardware.GPU {
	t.Helper()
	g, found := hardware.FindGPU(name)
	if !found {
		t.Fatalf("no GPU %s", name)
	}
	return g
}

func TestRidgePoints(t *testing.T) {
	for name, want := range map[string]float64{"a100-80gb-sxm": 153, "h100-sxm": 295} {
		r, err := RooflineOf(gpu(t, name), hardware.FP16, 25e9, 0.9e9)
		if err != nil || len(r.Diagonals) != 3 {
			t.Fatal(err, r.Diagonals)
		}
		if got := r.Diagonals[0].Ridge; math.Round(got) != want {
			t.Errorf("%s: ridge at %.1f FLOP/byte, want %v", name, got, want)
		}
		if got := r.Diagonals[2].Ridge; !near(got, r.Peak/0.9e9, 1e-6) {
			t.Errorf("%s: input ridge at %v", name, got)
		}
	}
	if r, err := RooflineOf(gpu(t, "h100-sxm"), hardware.FP16, math.NaN(), 0); err != nil || len(r.Diagonals) != 1 {
		t.Errorf("unknown lines: %v, %+v", err, r.Diagonals)
	}
	if _, err := RooflineOf(hardware.GPU{Name: "x"}, hardware.FP16, 1, 1); err == nil {
		t.Error("a device without a peak has a roofline")
	}
}

// A workload lies under its roof, by its likely value; with starved input it
// delivers less than it attains, and the input line says so.
func TestPointsLieUnderTheRoof(t *testing.T) {
	s := trained(t)
	r, err := s.DrawRoofline()
	if err != nil || len(r.Points) != 1 {
		t.Fatal(err, r.Points)
	}
	w := r.Points[0]
	if !(w.Device > 0) || !(w.Stored > w.Copied*0.1) || !(w.Attained.Low <= r.Peak) {
		t.Errorf("%+v", w)
	}
	s.Workers = 1
	r, err = s.DrawRoofline()
	if err != nil {
		t.Fatal(err)
	}
	w = r.Points[0]
	if w.Bound != InputSupply || w.Delivered.Point > w.Roof*(1+1e-9) || !near(w.Delivered.Point/w.Roof, 1, 1e-6) ||
		w.Delivered.Point >= w.Attained.Point {
		t.Errorf("one worker: %+v", w)
	}
}
