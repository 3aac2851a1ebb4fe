package predict

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict/bounds"
)

// What a loader does whose batches are all alike can be counted on fingers.
func TestQueueByHand(t *testing.T) {
	alike := func(workers int, batch, loop float64) queue {
		return queue{workers: workers, prefetch: 2, batch: service{mean: batch}, loop: loop}
	}
	short := alike(2, 1, 0.1)
	short.epoch, short.start, short.persistent = 4, 0.5, false
	kept := short
	kept.persistent = true
	for _, c := range []struct {
		name string
		queue
		want float64
	}{
		{"one worker", alike(1, 1, 0.1), 1},
		{"two workers take turns", alike(2, 1, 0.1), 0.5},
		{"the loop binds", alike(4, 1, 0.3), 0.3},
		{"start 0.5, two rounds of 1, one loop each of the last two", short, (0.5 + 2 + 0.2) / 4},
		{"kept: two rounds of 1", kept, (2 + 0.2) / 4},
	} {
		if got := c.meanStep(); !near(got, c.want, 1e-3) {
			t.Errorf("%s: a step of %.4f, want %.4f", c.name, got, c.want)
		}
	}
}

// In order one late batch holds up what is ready; any order does not wait.
func TestAnyOrderIsNeverSlower(t *testing.T) {
	for _, workers := range []int{2, 4, 16} {
		q := queue{workers: workers, prefetch: 2, batch: service{mean: 1, cv: 1}, loop: 0.5 / float64(workers)}
		ordered := q.meanStep()
		q.anyOrder = true
		if free := q.meanStep(); free > ordered*1.01 || workers > 2 && free > 0.9*ordered {
			t.Errorf("%d workers: %.4f in order, %.4f in any", workers, ordered, free)
		}
	}
}

// The closed form, which sweeps and sizes, stays with the queue that forecasts.
func TestClosedFormStaysWithTheQueue(t *testing.T) {
	const within = 0.07
	worst, sum, n := 0.0, 0.0, 0
	for _, workers := range []float64{1, 2, 3, 8, 16, 64} {
		for _, prefetch := range []float64{2, 4, 8} {
			for _, cv := range []float64{0, 0.1, 0.3, 0.6, 1} {
				for _, load := range []float64{0.3, 0.8, 1, 1.25, 3} { // of the workers, over the loop
					for _, ordered := range []bool{true, false} {
						s := queued(workers, prefetch, cv, load)
						s.AnyOrder = !ordered
						closed, played := s.solved(t, false), s.solved(t, true)
						off := closed/played - 1
						worst, sum, n = math.Max(worst, math.Abs(off)), sum+math.Abs(off), n+1
						if math.Abs(off) > within {
							t.Errorf("%v workers, prefetch %v, CV %v, load %v, in order %v: closed %.4f, played "+
								"%.4f: %+.1f %%", workers, prefetch, cv, load, ordered, closed, played, 100*off)
						}
					}
				}
			}
		}
	}
	t.Logf("%d settings: %.1f %% apart in the mean, %.1f %% at most", n, 100*sum/float64(n), 100*worst)
}

// queued is a job whose workers together take load times as long for a batch as the
// loop, which takes 1 s.
func queued(workers, prefetch, cv, load float64) Setup {
	crowd := crowding.Point
	if workers == 1 {
		crowd = 1
	}
	return Setup{
		Batch: 1, Step: stoker.Exactly(1), Workers: workers, Cores: 1e6, PhysCores: 1e6,
		PrepareCPU: stoker.Exactly(load * workers / crowd),
		BatchCV:    cv, Prefetch: prefetch, Cached: 1, LoopCPU: stoker.Exactly(1e-9),
	}
}

func (s Setup) solved(t *testing.T, exactly bool) float64 {
	t.Helper()
	p, err := s.compileChecked()
	if err != nil {
		t.Fatal(err)
	}
	p.exactly = exactly
	step, _, _ := p.combine(p.partTimes(bounds.Likely, bounds.Likely), bounds.Likely)
	return step
}
