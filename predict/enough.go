package predict

import "github.com/stoker-dev/stoker"

// GoodEnough is the ratio of steps up to which one is about as fast as another.
const GoodEnough = 1.02

const (
	spareWorkers = 1    // above the fewest that do as well: the law is not exact
	leastFewer   = 0.95 // the worst that fewer workers may bring
)

// EnoughWorkers is how many of the job's workers do about as well as all of them by the
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
