package idle

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The median is the same that a sort finds, and of an even number the mean of the two in the middle.
func TestMedianIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h histogram
		lengths := make([]int64, 1+r.IntN(50))
		for i := range lengths {
			lengths[i] = int64(r.ExpFloat64() * 1e6)
			h.addLength(lengths[i])
		}
		slices.Sort(lengths)
		n := len(lengths)
		if got, want := h.median(), (lengths[(n-1)/2]+lengths[n/2])/2; got != want {
			t.Fatalf("median %d, want %d of %v", got, want, lengths)
		}
	}
	if got := new(histogram).median(); got != 0 {
		t.Errorf("median %d of nothing", got)
	}
}
