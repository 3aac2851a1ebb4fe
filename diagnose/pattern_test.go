package diagnose_test

import (
	"math"
	"testing"

	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// What GPU-Util looks like is told apart, and no class depends on it.
func TestPatterns(t *testing.T) {
	for name, util := range map[string]func(i int) float64{
		"sawtooth":     func(i int) float64 { return 0.5 + 0.5*math.Copysign(1, math.Sin(float64(i)/3)) },
		"steadily-low": func(i int) float64 { return 0.4 + 0.05*math.Sin(float64(i)) },
		"spikes":       func(i int) float64 { return map[bool]float64{true: 0.9, false: 0.05}[i%14 == 0] },
		"drops":        func(i int) float64 { return map[bool]float64{true: 0.0, false: 0.85}[i%11 == 0] },
		"":             func(int) float64 { return 0.97 },
	} {
		run, err := recording.Open("../testdata/cases/small-launches/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		s := run.Find(recording.GPUUtilisation, "gpu/0")
		for i := range s.V {
			s.V[i] = util(i)
		}
		found := ""
		for _, f := range judge.Judge(run).Findings {
			switch f.Name {
			case "sawtooth", "steadily-low", "spikes", "drops":
				found += f.Name
			}
		}
		if found != name {
			t.Errorf("%q was called %q", name, found)
		}
	}
}
