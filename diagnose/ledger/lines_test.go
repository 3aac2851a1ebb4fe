package ledger

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// What a loader takes after the last batch of an epoch is in no step's wait: the line that iterates it is named, if the
// long steps are the last ones of epochs.
func TestALoaderThatEndsLateIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		every, awaiting float64
		kind            diagnose.Kind
	}{
		"behind each epoch": {16, 6, diagnose.LateEnd}, "every ten steps": {10, 6, ""}, "elsewhere": {16, 1, ""},
	} {
		f := filler{Case: &diagnose.Case{}, run: &recording.Run{}}
		f.Costs.EpochSteps, f.Costs.Rare = 16, measure.Rare{Every: c.every}
		line := diagnose.LoopLine{Seconds: c.awaiting}
		line.Own, line.Kind = recording.Place{File: "train.py", Line: 85}, diagnose.Awaiting
		f.LoopLines = diagnose.LoopLines{Lines: []diagnose.LoopLine{line}, Seconds: 10, Looks: 400}
		if got, _ := f.lineBetween(8, nil); got.Kind != c.kind {
			t.Errorf("%s: %+v, want %q", name, got, c.kind)
		}
	}
}
