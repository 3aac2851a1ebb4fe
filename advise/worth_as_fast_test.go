package advise

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
)

// What makes steps longer is not called faster.
func TestASlowdownIsNotCalledFaster(t *testing.T) {
	for point, want := range map[float64]string{0.7: "0.70x as fast", 1.5: "1.50x faster"} {
		f := Fix{
			Changes:  []stoker.Change{{Setting: stoker.Device, To: "h100-sxm"}},
			Forecast: predict.Forecast{Speedup: stoker.Interval{Low: point - 0.1, Point: point, High: point + 0.1}},
		}
		if said := f.Worth(); !strings.Contains(said, want) {
			t.Errorf("%v: %s", point, said)
		}
	}
}
