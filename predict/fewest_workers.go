package predict

import (
	"math"
	"sort"

	"github.com/stoker-dev/stoker"
)

// GoodEnough is the ratio of steps up to which one is about as fast as another.
const GoodEnough = 1.02

const (
	spareWorkers = 1    // above the fewest that do as well: the law is not exact
	leastFewer   = 0.95 // the worst that fewer workers may bring
)

// EnoughWorkers returns how many of the job's workers do about as well as all of them by the
// law: half of them or fewer, and one to spare. All of them where so few do not.
func (b Baseline) EnoughWorkers() int {
	now := int(b.Workers)
	for few := 1; few+spareWorkers <= now/2; few++ {
		f := b.Forecast(stoker.Change{Setting: stoker.NumWorkers, From: b.Settings[stoker.NumWorkers], To: few})
		if f.Speedup.Point >= 1/GoodEnough && f.Speedup.Low >= leastFewer {
			return few + spareWorkers
		}
	}
	return now
}

// FewestWorkers returns how many of the setup's workers do about as much, see CountEnough.
func (s Setup) FewestWorkers() int {
	return CountEnough(int(s.Workers), func(workers int) float64 {
		if answer, err := s.WithWorkers(float64(workers)).Solve(); err == nil {
			return answer.Step.Point
		}
		return math.NaN()
	})
}

// CountEnough returns how many of so many workers make a step about as short, with one to spare. It
// returns 0 if more than half of them are needed, or if that is unknown.
func CountEnough(workers int, step func(workers int) float64) int {
	if workers < 2*(1+spareWorkers) {
		return 0
	}
	longest := GoodEnough * step(workers)
	few := 1 + spareWorkers + sort.Search(workers/2, func(i int) bool { return step(1+i) <= longest })
	if few > workers/2 || !(longest > 0) {
		return 0
	}
	return few
}
