package live

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// What a loop does before its first optimizer step is skipping only where a loader gives it
// batches: a policy that acts before it learns throws nothing away.
func TestOnlyALoadersBatchesAreSkipped(t *testing.T) {
	for loader, want := range map[int]bool{0: true, recording.OwnLoop: false} {
		run := &recording.Run{}
		for i := range 200 {
			s := recording.Step{PID: 7, Loader: loader, N: i, Start: float64(i), Period: 1, Phase: recording.Train}
			if i >= 128 {
				s.Optimized = 1
			}
			run.Steps = append(run.Steps, s)
		}
		l := filler{Case: diagnose.NewCase(), run: run}
		l.Costs.Window = recording.Window{PID: 7, Loader: loader}
		if _, told := l.findSkipping(); told != want {
			t.Errorf("loader %d: %v", loader, told)
		}
	}
}
