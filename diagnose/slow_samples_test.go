package diagnose_test

import (
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// Fetches may differ much and still not be what the loop waits for: a collection of garbage in a worker, say.
func TestSlowFetchesHaveToExplainTheWait(t *testing.T) {
	run, err := recording.Open("../testdata/cases/input-slow-samples/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	if class := judge.Judge(run).Class; class != diagnose.SlowSamples {
		t.Fatalf("the case itself: %s, want %s", class, diagnose.SlowSamples)
	}
	for _, wall := range run.All(recording.FetchWall) {
		counts := run.Find(recording.FetchCount, wall.Subject)
		for i := range wall.V {
			wall.V[i] = 0.02 * counts.V[i] // all take the same, and the squares still say that they differ
		}
	}
	if class := judge.Judge(run).Class; class == diagnose.SlowSamples {
		t.Errorf("fetches without a slow one: %s", class)
	}
}
