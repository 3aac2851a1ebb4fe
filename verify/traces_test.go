package verify

import (
	"math/rand/v2"
	"testing"
)

// The interval of a ratio of few independent steps holds the truth in 95 of 100 pairs.
func TestFewStepsCover(t *testing.T) {
	chance := rand.New(rand.NewPCG(17, 1))
	for _, n := range []int{3, 5, 10} {
		held, pairs := 0, 4000
		for range pairs {
			draw := func(mean float64) []float64 {
				times := make([]float64, n)
				for i := range times {
					times[i] = mean * (1 + 0.05*chance.NormFloat64())
				}
				return times
			}
			ratio := fewMeasured(draw(1.3)).over(fewMeasured(draw(1)))
			if ratio.Low <= 1.3 && 1.3 <= ratio.High {
				held++
			}
		}
		if share := float64(held) / float64(pairs); share < 0.94 {
			t.Errorf("%d steps: %.3f of the intervals hold the ratio", n, share)
		}
	}
}
