package predict

import "testing"

// The queueing of a launching thread that computes the model is not that of fetching:
// a part cannot be more than the whole.
func TestHelpersSpinInFetchingOnly(t *testing.T) {
	for queue, want := range map[float64]bool{0: false, 0.05: false, 0.5: true, 1: true, 189: false} {
		c := Costs{Fetch: 1, FetchCPU: 0.4, HelperCPU: 1, FetchQueue: queue}
		if c.HelpersSpin() != want {
			t.Errorf("%v s of queueing in 1 s of fetching: spins %t", queue, !want)
		}
	}
}
