package diagnose_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// diaryOfTurns has short passes of a loader that trains, and between them others of one that validates. No phase tells
// them apart.
func diaryOfTurns(first, other float64, stays bool) *diary {
	d := newDiary()
	for i, s := range []bool{false, stays} {
		l := &d.run.Facts.Loaders[i]
		l.Settings = stoker.Settings{stoker.NumWorkers: 1, stoker.PersistentWorkers: s, stoker.BatchSize: 32}
		l.Call = []string{"train.py:8", "train.py:9"}[i]
	}
	for range 30 {
		for i := range 20 {
			wait := 0.0
			if i == 0 {
				wait = first
			}
			d.step(1, recording.Train, wait, 0.02, 0, i == 0)
		}
		for i := range 10 {
			wait := 0.0
			if i == 0 {
				wait = other
			}
			d.step(2, recording.Train, wait, 0.02, 0, i == 0)
		}
	}
	return d
}

// A change of one loader gains the program no more than that loader loses, if another one takes turns with it. One that
// starts its workers anew as well is named.
func TestLoadersThatTakeTurns(t *testing.T) {
	for _, c := range []struct {
		what  string
		other float64
		stays bool
		gain  float64 // if no first batch is waited for
		also  []string
	}{
		{"both lose", 1, false, 2.6 / 0.6, []string{"train.py:9"}},
		{"the other's workers stay", 1, true, 2.6 / 1.6, nil},
		{"the other loses nothing", 0, false, 1.6 / 0.6, nil},
	} {
		d := diaryOfTurns(1, c.other, c.stays)
		v := d.judge()
		epoch := 0.6 + 1 + c.other
		if rate := v.Costs.Rate(); math.Abs(rate/(20*32/epoch)-1) > 0.05 {
			t.Errorf("%s: %v samples/s, want %v", c.what, rate, 20*32/epoch)
		}
		edge := v.Ledger.Find(diagnose.RowEdge).Seconds
		if want := 30 * (1 + c.other); v.Headline() != diagnose.AtEpochEdges || math.Abs(edge/want-1) > 0.05 {
			t.Errorf("%s: %s, %v s at the edges of epochs, want %v", c.what, v.Headline(), edge, want)
		}
		plan := advise.Rank(&d.run, v)
		if len(plan.Fixes) == 0 || plan.Fixes[0].Name != string(stoker.PersistentWorkers) {
			t.Errorf("%s: %v", c.what, plan.Fixes)
			continue
		}
		fix := plan.Fixes[0]
		if s := fix.Forecast.Speedup; s.Point < 0.8*c.gain || s.High > 1.05*c.gain || !slices.Equal(fix.Also, c.also) {
			t.Errorf("%s: %v faster, want %v, with %v", c.what, s, c.gain, fix.Also)
		}
	}
}
