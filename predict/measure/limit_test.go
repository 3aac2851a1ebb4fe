package measure

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// The law takes all waiting for storage and the whole loop for the device: what is said is what
// was seen.
func TestLimitIsWhatWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		split *FetchSplit
		busy  float64
		step  float64 // forecast, of 100 ms today
		bound stoker.Resource
		want  stoker.Resource
	}{
		"a timer in __getitem__":               {&FetchSplit{Core: 0.02, Asleep: 0.98}, 0.1, 0.02, stoker.Storage, stoker.Waiting},
		"nobody saw for what":                  {nil, 0.1, 0.02, stoker.Storage, stoker.Waiting},
		"a disk":                               {&FetchSplit{Storage: 0.8, Asleep: 0.2}, 0.1, 0.02, stoker.Storage, stoker.Storage},
		"files of a server":                    {&FetchSplit{Network: 0.8, Asleep: 0.2}, 0.1, 0.02, stoker.Storage, stoker.Storage},
		"kernels take all of the later step":   {nil, 0.4, 0.04, stoker.GPU, stoker.GPU},
		"kernels take half of the later step":  {nil, 0.2, 0.04, stoker.GPU, stoker.Loop},
		"what the device did was not recorded": {nil, math.NaN(), 0.04, stoker.GPU, stoker.Loop},
		"cores":                                {nil, 0.2, 0.04, stoker.CPU, stoker.CPU},
	} {
		costs := Costs{Split: c.split, Busy: c.busy, Step: 0.1}
		f := predict.Forecast{Bound: c.bound, Step: stoker.Exactly(c.step)}
		if got := costs.LimitOf(f); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
