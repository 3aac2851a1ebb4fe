package live

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// What a loop throws away is told with its seconds and its line; of a loop that trains from its
// first batch on nothing is said.
func TestSkippingIsTold(t *testing.T) {
	for skipped, want := range map[int]string{0: "", 128: "before the first was trained with", 200: "and none was trained with yet"} {
		run := &recording.Run{Facts: recording.Facts{Loaders: []recording.Loader{{PID: 7, Where: "train.py:9"}}}}
		for i := range 200 {
			s := recording.Step{PID: 7, N: i, Start: float64(i), Period: 1, Phase: recording.Train}
			if i < skipped {
				s.Phase = recording.Skip
			}
			run.Steps = append(run.Steps, s)
		}
		l := filler{Case: diagnose.NewCase(), run: run}
		l.Costs.Window = recording.Window{PID: 7}
		f, told := l.findSkipping()
		if told != (want != "") || !strings.Contains(f.Text, want) || told && (f.Seconds != float64(skipped) || f.Source != "train.py:9") {
			t.Errorf("%d skipped: %+v, told %v", skipped, f, told)
		}
		if only := l.onlySkips(); only != (skipped == 200) {
			t.Errorf("%d skipped: only these: %v", skipped, only)
		}
	}
}

// The finding names batches that a loop passes over, if they are many and the device's clock is known. Steps whose
// device works late, behind a queue, do not count.
func TestUnusedBatches(t *testing.T) {
	for name, c := range map[string]struct {
		every int // one in so many is trained on
		idle  float64
		util  float64
		want  bool
	}{
		"three of four": {4, 0.1, math.NaN(), true}, "all are trained on": {1, 0.1, math.NaN(), false},
		"no clock": {4, math.NaN(), math.NaN(), false}, "a meter that agrees": {4, 0.1, 0.04, true},
		"long steps in which the device idles": {4, 0.1, 0.01, false},
	} {
		l := filler{Case: diagnose.NewCase(), run: &recording.Run{}}
		l.Util = c.util
		l.Costs.Window.Steps = stepsOf(40, c.idle, func(i int) bool { return i%c.every == 0 })
		if f, told := l.findUnused(); told != c.want || told && !strings.Contains(f.Text, "30 of 40 batches") {
			t.Errorf("%s: told %v: %s", name, told, f.Text)
		}
	}
}

// stepsOf are so many steps, of which the device works on some.
func stepsOf(n int, idle float64, works func(int) bool) (all []recording.Step) {
	for i := range n {
		s := recording.Step{N: i, Period: 0.101, Wait: 0.1, Idle: idle, DevicePeriod: 0.1, Phase: recording.Train}
		if works(i) {
			s.DevicePeriod = 0.12
		}
		all = append(all, s)
	}
	return all
}

// A loop that takes four batches for each step gathers them, and one that takes now two and now six leaves some out.
func TestGatheredBatches(t *testing.T) {
	for name, c := range map[string]struct {
		works func(int) bool
		want  string
	}{
		"as many for each step": {func(i int) bool { return i%4 == 3 }, "4 batches of 1 sample"},
		"now more, now less":    {func(i int) bool { return i%8 == 1 || i%8 == 7 }, "the device does nothing"},
	} {
		run := &recording.Run{Facts: recording.Facts{Loaders: []recording.Loader{{
			ID: 1, PID: 7, Settings: stoker.Settings{stoker.BatchSize: 1},
		}}}}
		l := filler{Case: diagnose.NewCase(), run: run}
		l.Util = math.NaN()
		l.Costs.Window = recording.Window{PID: 7, Loader: 1, Steps: stepsOf(40, 0.1, c.works)}
		if f, told := l.findUnused(); !told || !strings.Contains(f.Text, c.want) {
			t.Errorf("%s: %v: %s", name, told, f.Text)
		}
	}
}
