package verify

import (
	"math"

	"stoker"
	"stoker/internal/stat"
)

// Start values of the statistics.
const (
	leastSteps = 20   // [J] four blocks of the shortest length; fewer give no interval worth printing
	leastBlock = 5    // steps that are kept together at the very least: queues of workers make neighbours alike
	blockShare = 4    // a block is at most one n-th of the run, so that several are drawn
	alike      = 0.1  // autocorrelation below which steps count as independent
	rounding   = 1e-9 // relative deviation that is arithmetic, not steps
	draws      = 1000

	// The two sides are drawn independently; the constants make every Outcome
	// repeatable.
	seedBefore, seedAfter = 1, 2

	// The two ends of a 95 % interval.
	lowTail, highTail = 0.025, 0.975
)

// sample is one side's times with the means that the bootstrap drew from them.
type sample struct {
	times []float64
	block int
	means []float64
}

func resample(times []float64, seed uint64) sample {
	block := blockLength(times)
	return sample{times: times, block: block, means: stat.BlockMeans(times, block, draws, seed)}
}

// mean is the mean with its 95 % interval.
func (s sample) mean() stoker.Interval {
	return interval(s.means, stat.Mean(s.times))
}

// over is the ratio of two means with its 95 % interval.
func (s sample) over(other sample) stoker.Interval {
	ratios := make([]float64, len(s.means))
	for i := range ratios {
		ratios[i] = s.means[i] / other.means[i]
	}
	return interval(ratios, stat.Mean(s.times)/stat.Mean(other.times))
}

// interval holds the middle 95 % of the draws, and the point.
func interval(drawn []float64, point float64) stoker.Interval {
	return stoker.Interval{
		Low:   min(point, stat.Quantile(drawn, lowTail)),
		Point: point,
		High:  max(point, stat.Quantile(drawn, highTail)),
	}
}

// blockLength is the first lag at which the autocorrelation of x falls below
// 0.1, at least 5 and at most a quarter of x. Steps are not independent: workers
// hand over in bursts, and a queue remembers. Resampling single steps would call
// such runs far more certain than they are.
func blockLength(x []float64) int {
	longest := max(1, len(x)/blockShare)
	mean := stat.Mean(x)
	variance := lagged(x, mean, 0)
	constant := variance <= float64(len(x))*rounding*rounding*mean*mean
	lag := 1
	for !constant && lag < longest && lagged(x, mean, lag) >= alike*variance {
		lag++
	}
	return min(max(lag, leastBlock), longest)
}

// lagged is the sum of products of deviations lag steps apart.
func lagged(x []float64, mean float64, lag int) float64 {
	sum := 0.0
	for i := lag; i < len(x); i++ {
		sum += (x[i] - mean) * (x[i-lag] - mean)
	}
	return sum
}

// noise is by which share a run differs from itself: the larger of what its two
// halves differ by (drift) and what its odd and even blocks differ by (bursts).
func (s sample) noise() float64 {
	half := len(s.times) / 2
	var odd, even []float64
	for i, t := range s.times {
		if i/s.block%2 == 0 {
			even = append(even, t)
		} else {
			odd = append(odd, t)
		}
	}
	return max(apart(s.times[:half], s.times[half:]), apart(odd, even))
}

// apart is by which share the larger mean exceeds the smaller.
func apart(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return math.Exp(math.Abs(math.Log(stat.Mean(a)/stat.Mean(b)))) - 1
}

// beyond judges a ratio of times against its interval and the noise floor.
func beyond(ratio stoker.Interval, noise float64) Difference {
	switch {
	case ratio.Low > 1 && ratio.Point > 1+noise:
		return Faster
	case ratio.High < 1 && ratio.Point < 1/(1+noise):
		return Slower
	}
	return None
}
