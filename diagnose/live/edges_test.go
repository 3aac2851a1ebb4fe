package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// TestCutEdges: what precedes a device's first work is a start, unless next to nothing is left, and what follows its last
// is an end, unless it is long.
func TestCutEdges(t *testing.T) {
	const seconds = 40
	for name, c := range map[string]struct {
		works    func(at float64) bool
		from, to float64
	}{
		"all the time":               {func(float64) bool { return true }, 20, 40},
		"from 30 on":                 {func(at float64) bool { return at >= 30 }, 30, 40},
		"from 37 on, a first batch":  {func(at float64) bool { return at >= 37 }, 20, 40},
		"at first and from 30 on":    {func(at float64) bool { return at < 2 || at >= 30 }, 20, 40},
		"until 38":                   {func(at float64) bool { return at <= 38 }, 19, 38},
		"until 30, then it hangs":    {func(at float64) bool { return at <= 30 }, 20, 40},
		"from 25 to 38":              {func(at float64) bool { return 25 <= at && at <= 38 }, 25, 38},
		"never":                      {func(float64) bool { return false }, 20, 40},
		"every fourth second, input": {func(at float64) bool { return int(at)%4 == 0 }, 20, 40},
	} {
		kernels := recording.Series{Signal: recording.GPUKernels, Subject: "gpu/0"}
		for at := range seconds + 1 {
			kernels.T, kernels.V = append(kernels.T, float64(at)), append(kernels.V, 0)
			if c.works(float64(at)) {
				kernels.V[at] = 0.9
			}
		}
		run := &recording.Run{Facts: recording.Facts{GPUs: []recording.GPU{{}}}, Series: []recording.Series{kernels}}
		l := filler{Case: diagnose.NewCase(), run: run}
		l.From, l.To = 0, seconds
		if l.cutEdges(); l.From != c.from || l.To != c.to {
			t.Errorf("%s: from %v to %v, want %v to %v", name, l.From, l.To, c.from, c.to)
		}
	}
}
