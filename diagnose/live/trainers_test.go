package live

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
)

// Processes that train without a launcher have no ranks: they are told apart by their numbers.
func TestTrainersWithoutRanks(t *testing.T) {
	l := filler{Case: diagnose.NewCase()}
	for pid, wait := range map[int]float64{41: 0.5, 42: 0.25} {
		k := measure.Costs{Wait: wait, HostStep: 1}
		k.Window.PID = pid
		l.trainers = append(l.trainers, k)
	}
	l.Costs.Window.PID = 41
	text := l.describeRanks()
	for _, part := range []string{"2 processes train", "process 41 is the one judged", "process 41 waits for input 50 %", "process 42 waits for input 25 %"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %q", part, text)
		}
	}
	if strings.Contains(text, "rank") {
		t.Error(text)
	}
}
