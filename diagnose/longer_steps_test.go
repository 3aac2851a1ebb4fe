package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// A list that is added up in each step makes steps longer to the end. A start that is shorter, a neighbour that comes and
// what has reached its length are something else, and longer work of the device has no line.
func TestLongerSteps(t *testing.T) {
	const steps = 1000
	for _, c := range []struct {
		name          string
		host, device  func(i int) float64 // seconds of step i
		found, advise bool
	}{
		{"grows", func(i int) float64 { return 0.001 + 2e-5*float64(i) }, func(int) float64 { return 0.01 }, true, true},
		{"stays", func(int) float64 { return 0.01 }, func(int) float64 { return 0.01 }, false, false},
		{"jumps", func(i int) float64 { return 0.01 + 0.02*float64(i/(steps/2)) }, func(int) float64 { return 0.01 }, false, false},
		{"reaches its length", func(i int) float64 { return 0.001 + 1e-4*float64(min(i, 300)) }, func(int) float64 { return 0.01 }, false, false},
		{"gets shorter", func(i int) float64 { return 0.03 - 2e-5*float64(i) }, func(int) float64 { return 0.01 }, false, false},
		{"on the device", func(int) float64 { return 0.001 }, func(i int) float64 { return 0.01 + 2e-5*float64(i) }, true, false},
	} {
		d := newDiary()
		looks := recording.Series{Signal: recording.FetchLooks, Subject: "process/7;loop"}
		list := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;core;/home/me/train.py:31 Means.update"}
		model := recording.Series{Signal: recording.FetchStack, Subject: "process/7;loop;asleep;/home/me/train.py:9 train;torch/cuda/streams.py:1 Event.synchronize"}
		onList, onModel := 0.0, 0.0
		for i := range steps {
			d.step(1, recording.Train, 0.0001, c.device(i), c.host(i), i == 0)
			onList, onModel = onList+c.host(i), onModel+c.device(i)
			if i%20 == 0 {
				looks.T, looks.V = append(looks.T, d.at), append(looks.V, 100*d.at)
				list.T, list.V = append(list.T, d.at), append(list.V, onList)
				model.T, model.V = append(model.T, d.at), append(model.V, onModel)
			}
		}
		d.run.Series = []recording.Series{d.busy, looks, list, model}
		v := judge.Judge(&d.run)
		is := func(f diagnose.Finding) bool { return f.Name == diagnose.FindingLongerSteps }
		if got := slices.ContainsFunc(v.Findings, is); got != c.found {
			t.Errorf("%s: found %t", c.name, got)
		}
		fixes := advise.Rank(&d.run, v).Fixes
		at := slices.IndexFunc(fixes, func(f advise.Fix) bool { return f.Name == diagnose.FindingLongerSteps })
		if (at >= 0) != c.advise {
			t.Errorf("%s: advised %t", c.name, at >= 0)
		}
		// At the end a step takes 31.1 ms instead of 11.1, and 26 ms in the judged half.
		if most := 26. / 11; at >= 0 && (fixes[at].At != "train.py:31" || fixes[at].Forecast.Speedup.High < most-0.6 ||
			fixes[at].Forecast.Speedup.High > most+0.6) {
			t.Errorf("%s: %s, at most %.2fx", c.name, fixes[at].At, fixes[at].Forecast.Speedup.High)
		}
		if at >= 0 && !strings.Contains(fixes[at].Notes[0], "takes 29") {
			t.Errorf("%s: %s", c.name, fixes[at].Notes[0])
		}
	}
}
