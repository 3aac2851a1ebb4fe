package predict

import (
	"testing"

	"github.com/stoker-dev/stoker/predict/bounds"
)

// LawError and Spinning are for tests outside of the package.
var LawError, Spinning = lawError, spinning

// Parts are the times of a loop without workers as the law has them, for tests.
type Parts struct{ Step, Loop, Making, CPU, Compute float64 }

// PartsOf solves the likely case.
func PartsOf(t *testing.T, s Setup) Parts {
	t.Helper()
	p, err := s.compileChecked()
	if err != nil {
		t.Fatal(err)
	}
	at := p.partTimes(bounds.Likely, bounds.Likely)
	step, loop, _ := p.combine(at, bounds.Likely)
	return Parts{Step: step, Loop: loop, Making: at[making], CPU: at[onWorker], Compute: at[onCompute]}
}
