package measure

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// One fetch in ten seconds that takes 3 s longer than the others costs a step its share of these 3 s.
func TestSlowFetchesOfAStep(t *testing.T) {
	run := youngWorkers(1000)
	slowOf := func() float64 {
		costs, _ := Slowest(run)
		return costs.FetchSlow
	}
	if slow := slowOf(); math.Abs(slow) > 1e-9 {
		t.Errorf("fetches that all take the same: %v s of a step are slow, want none", slow)
	}
	wall := run.Find(recording.FetchWall, "process/11")
	for i := range wall.V {
		wall.V[i] += 3 * math.Floor(wall.T[i]/10)
	}
	if slow, want := slowOf(), 3/10.0*0.09; !near(slow, want, want/4) {
		t.Errorf("slow fetches take %v s of a step, want about %v", slow, want)
	}
}

// What an iterable data set does first it does in each epoch; what a map-style one does first stays with its worker.
func TestFirstFetchIsOfIterableDataSets(t *testing.T) {
	run := youngWorkers(5)
	for i := range run.Steps {
		run.Steps[i].First = i%50 == 0
	}
	for _, iterable := range []bool{true, false} {
		run.Facts.Loaders[0].Iterable = iterable
		costs, _ := Slowest(run)
		if known := !math.IsNaN(costs.FirstFetch); known != iterable {
			t.Errorf("iterable %t: the first fetch takes %v s of its own", iterable, costs.FirstFetch)
		}
	}
}
