package picture

import (
	"math/rand/v2"
	"testing"
)

// TestStepsWithinAreThoseWithin goes step by step as well, also to where numbers of 32 bits end.
func TestStepsWithinAreThoseWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 100000 {
		pixels, n := 1+rng.IntN(40), rng.IntN(60)
		at, step := rng.Int32N(100<<16)-30<<16, rng.Int32N(8<<16)-4<<16
		switch rng.IntN(8) {
		case 0:
			step = rng.Int32N(3) - 1
		case 1:
			at = 1<<31 - 1 - rng.Int32N(100<<16)
		case 2:
			at = -1<<31 + rng.Int32N(100<<16)
		}
		first, end := stepsWithin(at, step, pixels, 0, n)
		if first < 0 || first > end || end > n {
			t.Fatalf("%d pixels, %d steps of %d from %d on: %d to %d", pixels, n, step, at, first, end)
		}
		wraps := int(at)+n*int(step) != int(at+int32(n)*step)
		for i := range n {
			place := int(at+int32(i)*step) >> 16
			if within := 0 <= place && place < pixels; within != (first <= i && i < end) && (within || !wraps) {
				t.Fatalf("%d pixels, %d steps of %d from %d on: %d to %d, and step %d is at %d", pixels, n, step, at, first, end, i, place)
			}
		}
	}
}
