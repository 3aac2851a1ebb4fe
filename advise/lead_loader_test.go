package advise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/recording"
)

// loading is an adviser of a process with these loaders, the first of which is judged.
func loading(workers int, loaders ...recording.Loader) adviser {
	run := &recording.Run{}
	for i, l := range loaders {
		l.ID, l.PID = i+1, 7
		run.Facts.Loaders = append(run.Facts.Loaders, l)
	}
	costs := measure.Costs{Window: recording.Window{PID: 7, Loader: 1}, Workers: workers, FirstFetch: math.NaN()}
	return adviser{run: run, costs: costs}
}

// One function trains and evaluates with two loaders: the advice on evaluation is for the second.
func TestEvaluationsLoaderInTheSameLoop(t *testing.T) {
	settings := func(workers int) stoker.Settings { return stoker.Settings{stoker.NumWorkers: workers} }
	a := loading(2, recording.Loader{Where: "/t.py:32", Call: "/t.py:50", Settings: settings(2)},
		recording.Loader{Where: "/t.py:32", Call: "/t.py:51", Settings: settings(0)})
	for i := range 5 {
		a.run.Steps = append(a.run.Steps, recording.Step{
			PID: 7, Loader: 2, N: i, Start: float64(i), Period: 0.1, Wait: 0.05, Phase: recording.Evaluate,
		})
	}
	lead := &diagnose.Lead{Row: diagnose.Row{
		Name: diagnose.RowEvaluation, Seconds: 10, Idle: 8, Waits: []diagnose.Wait{{For: diagnose.WaitInput, Seconds: 8}},
		Line: diagnose.Line{Own: recording.Place{File: "/t.py", Line: 32}},
	}}
	var fix Fix
	want := []stoker.Change{{Setting: stoker.NumWorkers, From: 0, To: 2}}
	if a.feedEvaluation(&fix, lead); !slices.Equal(fix.Changes, want) || fix.Where != "/t.py:51" {
		t.Errorf("%+v", fix)
	}
}

// Settings that are known are not asked for. A loader that is made anew for each epoch's own samples is to be one for
// all, as workers that stay would go on with the first samples.
func TestWorkersThatStartAtEachEpoch(t *testing.T) {
	for name, c := range map[string]struct {
		anew, changes bool
		title         string
		sets          int
	}{
		"restarted": {false, false, "keep the workers", 1}, "made anew": {true, true, "by its sampler", 0},
		"data that change": {false, true, "change the data set less often", 0},
	} {
		a := loading(2, recording.Loader{
			Anew: c.anew, Changes: c.changes, Call: "/t.py:5",
			Settings: stoker.Settings{stoker.NumWorkers: 2, stoker.PersistentWorkers: false},
		})
		fix := Fix{Title: "as the class says"}
		a.bridgeEpochs(&fix, &diagnose.Lead{})
		if !strings.Contains(fix.Title, c.title) || len(fix.Changes) != c.sets {
			t.Errorf("%s: %+v", name, fix)
		}
	}
}

// An epoch of one batch waits for all of the work on it, in each epoch, whether workers stay or not.
func TestAnEpochsOnlyBatchIsTheWork(t *testing.T) {
	for fetch, want := range map[float64]bool{1.1: true, 0.1: false} {
		a := loading(2, recording.Loader{Anew: true, Settings: stoker.Settings{stoker.NumWorkers: 2}})
		a.costs.Fetch, a.costs.EpochStart = fetch, 1.15
		a.verdict.Lines = []diagnose.Line{{Own: recording.Place{File: "/t.py", Line: 33}}}
		var fix Fix
		a.bridgeEpochs(&fix, &diagnose.Lead{})
		if strings.Contains(fix.Title, "alone") != want || (fix.At == "t.py:33") != want {
			t.Errorf("%v s: %+v", fetch, fix)
		}
	}
}

// A Manager's process answers one worker after the other.
func TestMoreWorkersOfAManagerOnlyWait(t *testing.T) {
	a := loading(2, recording.Loader{})
	for kind, want := range map[diagnose.Kind]bool{diagnose.Proxies: true, diagnose.Reading: false} {
		a.verdict.Lines = []diagnose.Line{{Kind: kind, Share: stoker.Exactly(0.7)}}
		if why := a.whyNoWorkers(2); strings.Contains(why, "Manager") != want {
			t.Errorf("%s: %q", kind, why)
		}
	}
}

// A loop that gathers batches is told the size of those that the loader can make, if it waits for them.
func TestGatheredBatchesAreTheLoaders(t *testing.T) {
	for stall, want := range map[float64]bool{0.8: true, 0: false} {
		a := loading(2, recording.Loader{})
		f := diagnose.NewTextFinding(diagnose.FindingGatheredBatches, "16 batches of 1 sample")
		f.Advice = "batch_size=16"
		a.verdict = diagnose.Verdict{Idle: 0.9, Stall: stall, Findings: []diagnose.Finding{f}}
		fix, _ := a.removeFindings()
		if told := fix.Title == f.Advice; told != want || told && math.Abs(fix.Forecast.Speedup.High-5) > 1e-9 {
			t.Errorf("stall %v: %+v", stall, fix)
		}
	}
}
