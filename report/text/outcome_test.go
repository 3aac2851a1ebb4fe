package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/verify"
)

// Every end of a comparison, and of a promise, over a recorded pair and pieces of it.
func TestOutcomes(t *testing.T) {
	files := golden.Open(t, "testdata/outcome", ".golden")
	before, after := recorded(t, "feed-before"), recorded(t, "feed-after")
	promise := func(low, point, high float64) predict.Forecast {
		return predict.Forecast{Speedup: stoker.Interval{Low: low, Point: point, High: high}}
	}
	nothing := predict.Forecast{Speedup: stoker.Unknown()}
	for name, o := range map[string]verify.Outcome{
		"kept":                 verify.Compare(before, after, promise(2.9, 3.49, 3.6)),
		"kept-or-better":       verify.Compare(before, after, promise(3.1, 3.25, 3.3)),
		"better":               verify.Compare(before, after, promise(0.99, 1.03, 3.24)),
		"missed":               verify.Compare(before, after, promise(4, 4.5, 5)),
		"missed-beside-others": verify.Compare(before, beside(recorded(t, "feed-after"), 0.4), promise(4, 4.5, 5)),
		"not-decided":          verify.Compare(before, after, promise(3.3, 3.5, 3.6)),
		"slower":               verify.Compare(after, before, nothing),
		"no-difference":        verify.Compare(after, after, nothing),
		"too-short":            verify.Compare(piece(before, 0, 40), piece(before, 80, 120), promise(1.1, 1.2, 1.3)),
		"too-few-steps":        verify.Compare(piece(before, 0, 15), after, promise(1.1, 1.2, 1.3)),
	} {
		var shown, object bytes.Buffer
		if err := text.WriteOutcome(&shown, o, text.Style{}); err != nil {
			t.Fatal(err)
		}
		if err := wire.WriteObject(&object, o); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(shown.String(), "NaN") || strings.Contains(shown.String(), "Inf") {
			t.Errorf("%s prints an unknown as a number:\n%s", name, shown.String())
		}
		files.Check(t, name, shown.String())
		if short := strings.Contains(object.String(), `"needed": {`); short != (o.Before.Needed != nil) {
			t.Errorf("%s: needed %v, as an object\n%s", name, o.Before.Needed, object.String())
		}
	}
}

// beside adds a number of cores used by other programs.
func beside(run *recording.Run, cores float64) *recording.Run {
	series := run.Find(recording.MachineCPU, "machine")
	for i, at := range series.T {
		series.V[i] += cores * at
	}
	return run
}

// recorded is a labelled run.
func recorded(t *testing.T, name string) *recording.Run {
	t.Helper()
	run, err := recording.Open("../../testdata/cases/" + name + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// piece is a run of which only some steps were recorded.
func piece(run *recording.Run, from, to int) *recording.Run {
	cut := *run
	cut.Steps = run.Steps[from:to]
	return &cut
}
