package verify

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/report/wire"
	"github.com/stoker-dev/stoker/tune"
)

// asWell is the error of measured shares, and so of bounds by them. It is the error of the model.
const asWell = 1.03

// ofDevice are changes of the device's own work, so that its busy time is no bound.
var ofDevice = []stoker.Setting{
	stoker.BatchSize, stoker.Precision, stoker.TF32, stoker.Compile, stoker.CUDAGraphs, stoker.FusedOptimizer, stoker.OnDevice,
	stoker.ComputeOn, stoker.Device, stoker.Accumulation,
}

// mostByShares returns the largest possible speed-up of a step by a fix, by the measured shares: the
// device's computing time stays the same. It is infinite if the shares are unknown.
func mostByShares(j judged.Recording, fix advise.Fix) float64 {
	outside := fix.Name == string(j.Verdict.Class) // the device itself is slowed
	if outside || slices.ContainsFunc(fix.Changes, func(c stoker.Change) bool { return slices.Contains(ofDevice, c.Setting) }) {
		return math.Inf(1)
	}
	idle := j.Verdict.Idle
	if busy := j.Verdict.Costs.Busy; j.Verdict.Device < 0 && !math.IsNaN(busy) { // in a live run, copies may be saved, too
		idle = 1 - busy
	} else if j.Verdict.Device >= 0 {
		idle = 1 - j.Verdict.Shares.Kernel
	}
	if math.IsNaN(idle) {
		return math.Inf(1)
	}
	most := 1 / (1 - min(idle, 0.99))
	for _, f := range j.Verdict.Findings { // about work in parallel with the device
		if fix.Name == "overlap" && f.Name == diagnose.FindingHostWork {
			most = min(most, 1/max(f.Saves, 1-f.Saves))
		}
	}
	if fix.Name == "input-ahead" && strings.Contains(fix.Title, "while the device works") {
		most = min(most, 1/max(idle, 1-idle))
	}
	return most
}

func readNothing(string) ([]byte, error) { return nil, nil }

// All verbs give the same promise for the same change, and none promises more than the measured
// shares allow: removing a share of the time gains 1/(1 - share) at most.
func TestPromisesOfAllVerbs(t *testing.T) {
	asked := 0
	for _, file := range append(clitest.CaseFiles(t, "run.jsonl*"), clitest.CaseFiles(t, "trace.json*")...) {
		runs, _, err := bothSides(t.Context(), &cli.App{}, []string{file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		j := judged.Judge(file, runs[0])
		var object struct {
			Plan []struct {
				Fix     string
				Speedup struct{ Low, Point, High *float64 }
				Run     struct{ High *float64 } `json:"run_speedup"`
			}
		}
		var text bytes.Buffer
		if err := wire.WriteVerdict(&text, j.Run, j.Verdict, j.Plan); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text.Bytes(), &object); err != nil || len(object.Plan) != len(j.Plan.Fixes) {
			t.Fatalf("%s: %v, %d fixes of %d", file, err, len(object.Plan), len(j.Plan.Fixes))
		}
		for i, fix := range j.Plan.Fixes {
			asked++
			s := fix.Forecast.Speedup
			if most := mostByShares(j, fix); s.High > asWell*most {
				t.Errorf("%s: %s promises up to %.2fx, and at most %.2fx can be won", file, fix.Name, s.High, most)
			}
			if math.IsNaN(s.High) { // a row outside of the steps only has a gain of the run
				if p := object.Plan[i].Run.High; p == nil || *p != fix.Run.High || !(*p > 1) {
					t.Errorf("%s: %s promises the run %v, and %v in JSON", file, fix.Name, fix.Run, p)
				}
				continue
			}
			if p := object.Plan[i].Speedup.High; p == nil || *p != s.High {
				t.Errorf("%s: %s promises %v, and %v in JSON", file, fix.Name, s, object.Plan[i].Speedup)
			}
			if !s.Known() || len(fix.Changes) == 0 || j.Plan.Replay != nil {
				continue
			}
			if v := judged.ForecastPromise(j.Run, fix.Changes).Speedup; v != s {
				t.Errorf("%s: %v is promised %v by advise and %v by verify", file, fix.Changes, s, v)
			}
			if p, err := tune.New(j.Run, j.Verdict, advise.Plan{Fixes: []advise.Fix{fix}}, file, "test", readNothing); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if len(p.Loaders) == 1 && len(p.Loaders[0].Changes) == len(fix.Changes) && *p.Loaders[0].Worth != s {
				t.Errorf("%s: %v is promised %v by advise and %v by its plan", file, fix.Changes, s, *p.Loaders[0].Worth)
			}
			if f := fix.Forecast; f.Throughput.Known() {
				samples, _ := stoker.Settings{"v": measure.From(j.Run).Batch}.Float("v")
				if got := f.Throughput.Point * f.Step.Point; !slices.ContainsFunc(fix.Changes, func(c stoker.Change) bool { return c.Setting == stoker.BatchSize }) && math.Abs(got/samples-1) > 1e-6 {
					t.Errorf("%s: %v: a step of %v s at %v samples/s has %v samples, not %v", file, fix.Changes, f.Step.Point, f.Throughput.Point, got, samples)
				}
			}
		}
	}
	if asked < 80 {
		t.Errorf("only %d fixes were asked about", asked)
	}
}
