package advise

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/recording"
)

// Data for workers that have none is advised before more workers. A number of parts is advised only if the library
// tells how many the data set has.
func TestWorkersGetDataBeforeThereAreMore(t *testing.T) {
	run, err := recording.Open("../testdata/cases/iterable-one-shard/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	run.Facts.Machine.CPUs, run.Facts.Machine.Allowed = 64, 64
	for shards, change := range map[int]string{0: "", 1: "shards 1 -> 4"} {
		run.Facts.Loaders[0].Shards = shards
		v := judge.Judge(run)
		plan := Rank(run, v)
		if len(plan.Fixes) == 0 {
			t.Fatalf("%d shards: rejected %v", shards, plan.Rejected)
		}
		fix, said := plan.Fixes[0], ""
		for _, c := range fix.Changes {
			said = strings.TrimPrefix(said+", "+c.String(), ", ")
		}
		if fix.Name != string(stoker.Shards) || said != change || fix.Forecast.Speedup.High > 4 {
			t.Errorf("%d shards: %q, at most %v: %+v", shards, said, fix.Forecast.Speedup.High, fix)
		}
		if shards == 0 && (!strings.HasPrefix(fix.Title, "give each worker data of its own") || !strings.Contains(fix.Where, ":")) {
			t.Errorf("%+v", fix)
		}
		if _, text, _ := rules.Describe(v); strings.Contains(text, "Every worker") {
			t.Error(text)
		}
	}
}

// The gain is bounded by the number of workers that get data.
func TestGainOfWorkersIsBound(t *testing.T) {
	f := adviser{}.atMost(3)
	f.Speedup.Point = 2.5
	if got := capAt(f, 2).Speedup; got.High != 2 || got.Point != 2 || math.IsNaN(got.Low) {
		t.Errorf("%v", got)
	}
	if got := capAt(f, 4).Speedup; got != f.Speedup {
		t.Errorf("%v", got)
	}
}
