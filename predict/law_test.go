package predict

import (
	"testing"

	"github.com/stoker-dev/stoker"
)

// Reads per second and latency bind where bytes/s do not: the figures.
func TestReadsBind(t *testing.T) {
	s := images(t)
	s.Workers, s.Cores, s.Sample, s.Storage = 16, 64, stoker.Exactly(110e3), stoker.Exactly(270e6)
	s.Reads, s.PerFile, s.Latency = stoker.Exactly(152), stoker.Exactly(1), stoker.Exactly(1/152.)
	if a := mustSolve(t, s); !near(a.Step.Point, 256.0/152, 0.01) || a.Bound.Resource != stoker.Storage {
		t.Errorf("a hard disk reads 256 files in %v s, %s binds; want 1.7 s", a.Step.Point, a.Bound.Resource)
	}
	s.Storage, s.Reads, s.Latency = stoker.Exactly(2.8e9), stoker.Exactly(5500), stoker.Exactly(0.15)
	if a := mustSolve(t, s); !near(a.Step.Point, 256*0.15/16, 0.15) || a.Bound.Resource != stoker.Worker {
		t.Errorf("16 workers that wait 150 ms for each of 256 objects take %v s, %s binds; want 2.4 s", a.Step.Point,
			a.Bound.Resource)
	}
}
