package predict

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
)

// What Size asks for reaches the target when it is solved again.
func TestSizingReachesItsTarget(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	possible := 0
	for range 1000 {
		s := anySetup(t, r)
		target := 0.3 + 0.7*r.Float64()
		if r.IntN(8) == 0 {
			target = 1
		}
		z, err := s.Size(target)
		if err != nil {
			t.Fatal(err)
		}
		if z.Reached && len(z.Changes) > 0 {
			t.Fatalf("reached with changes %v", z.Changes)
		}
		if len(z.Impossible) > 0 {
			if z.Reached {
				t.Fatalf("reached though impossible: %v, %+v", z.Impossible, s)
			}
			continue
		}
		possible++
		a := mustSolve(t, z.Setup)
		if a.Utilization.Point < target-1e-6 {
			t.Fatalf("target %.4f: reaches %.4f with %+v, of %+v, step %+v", target, a.Utilization.Point, z.Changes,
				s, a.Bound)
		}
		for _, n := range z.Changes {
			if !(n.To.Low <= n.To.Point) || n.To.Point <= n.From && n.Input != "workers" {
				t.Fatalf("%+v of %+v", n, s)
			}
		}
	}
	if possible < 300 {
		t.Errorf("only %d of 3000 possible", possible)
	}
}

// One worker less does not do.
func TestSizingAsksForNoMore(t *testing.T) {
	s := images(t)
	s.Workers, s.Step = 1, stoker.Exactly(0.01)
	s.Cores, s.HandOver = 1000, stoker.Exactly(1e-6)
	z, err := s.Size(0.95)
	if err != nil || len(z.Impossible) > 0 {
		t.Fatal(err, z.Impossible)
	}
	s = z.Setup
	s.Workers--
	if a := mustSolve(t, s); a.Utilization.Point >= 0.95 {
		t.Errorf("%v workers do as well: %+v", s.Workers, a.Utilization)
	}
}

func TestImpossibleTargets(t *testing.T) {
	s := images(t)
	s.HandOver = stoker.Exactly(1e-3)
	z, err := s.Size(0.95)
	if err != nil || len(z.Impossible) != 1 || !strings.Contains(z.Impossible[0], "collecting process") {
		t.Errorf("%v, %v", err, z.Impossible)
	}
	s = images(t)
	s.Pinned = false
	z, err = s.Size(1)
	if err != nil || len(z.Impossible) != 0 || len(z.Changes) == 0 || z.Changes[0].Input != "pin_memory" ||
		!z.Setup.Pinned {
		t.Errorf("copies from pageable memory add to compute: %v, %v, %v", err, z.Impossible, z.Changes)
	}
	for _, target := range []float64{0, -1, 1.01} {
		if _, err := s.Size(target); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("target %v: %v", target, err)
		}
	}
	s.Step = stoker.Unknown()
	if _, err := s.Size(0.9); err == nil {
		t.Error("a step of unknown time was sized")
	}
}
