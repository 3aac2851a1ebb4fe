package advise

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// The manual lists every gate, in order.
func TestGatesStandInTheManual(t *testing.T) {
	page, err := os.ReadFile("../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "## Gates: when a gain is not given")
	if !found {
		t.Fatal("docs/traces.md has no section on gates")
	}
	for _, gate := range gates {
		row := "| " + string(gate.gate) + " | " + gate.asks
		if _, after, found := strings.Cut(rest, row); found {
			rest = after
		} else {
			t.Errorf("docs/traces.md lacks, at its place: %s", row)
		}
	}
}

// findingOf is a verdict on a trace with one finding that no replay has a model of.
func findingOf(f diagnose.Finding, cause string, share float64) diagnose.Verdict {
	return diagnose.Verdict{
		Device: 0, Idle: 0.7, Findings: []diagnose.Finding{f},
		Causes: []diagnose.Cause{{Cause: cause, Share: share}},
	}
}

// A bound passes the gates as a replayed gain does.
func TestBoundsPassTheGates(t *testing.T) {
	buckets := diagnose.Finding{
		Name: diagnose.FindingExposedCommunication, Saves: 0.3,
		Settings: []stoker.Change{{Setting: stoker.BucketMB, To: 100}},
	}
	host := diagnose.Finding{Name: diagnose.FindingHostWork, Saves: 0.3}
	for name, c := range map[string]struct {
		verdict diagnose.Verdict
		lost    float64
		kernels int
		gate    Gate
		why     string
	}{
		"launches are known":     {findingOf(buckets, "launch", 0.7), 0, 100, "", ""},
		"launches are not known": {findingOf(buckets, "unlinked", 0.6), 0, 100, Evidence, "links to no launch"},
		"work is missing":        {findingOf(buckets, "launch", 0.7), 0.2, 100, Evidence, "no right time"},
		"work does not start":    {findingOf(buckets, "device-wait", 0.6), 0, 100, Evidence, "no reason is in the file"},
		"one kernel":             {findingOf(host, "unrecorded", 0.5), 0, 1, Evidence, "only 1 kernel in the file"},
		"many kernels":           {findingOf(host, "unrecorded", 0.5), 0, 100, "", ""},
	} {
		run := &recording.Run{}
		run.Facts.WorkLost = c.lost
		c.verdict.Grounds.Kernels, c.verdict.Grounds.Program = c.kernels, diagnose.Training
		plan := Plan{}
		adviser{run: run, verdict: c.verdict}.proposeTraced(&plan)
		switch {
		case c.gate == "" && (len(plan.Fixes) != 1 || !math.IsNaN(plan.Fixes[0].Forecast.Speedup.Point)):
			t.Errorf("%s: %+v", name, plan)
		case c.gate == "":
		case len(plan.Rejected) != 1 || plan.Rejected[0].Gate != c.gate || !strings.Contains(plan.Rejected[0].Why, c.why):
			t.Errorf("%s: %+v, want it refused by %s: %s", name, plan, c.gate, c.why)
		}
	}
}
