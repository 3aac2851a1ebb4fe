package text

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// What to do first stands in front of all figures. Where no GPU is visible that is to find
// it, whatever would help the run as it is.
func TestWhatToDoFirst(t *testing.T) {
	for name, want := range map[string]string{
		"feed-before":    "loader torch -> stoker, in the DataLoader of train.py:136: 3.49x faster",
		"heavy-getitem":  "find the GPU first: none is visible to this program",
		"request-server": "faster input changes nothing; give this GPU more requests",
	} {
		run, err := recording.Open("../../testdata/cases/" + name + "/run.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		v := judge.Judge(run)
		var shown bytes.Buffer
		if err := WriteVerdict(&shown, run, v, advise.Rank(run, v), Style{Width: 1000}); err != nil {
			t.Fatal(err)
		}
		first, _, found := strings.Cut(shown.String(), "\n  device ")
		if !found || !strings.Contains(first, "  do first  "+want) {
			t.Errorf("%s:\n%s", name, first)
		}
	}
}

// What is all there is to do stands on the page once.
func TestWhatToDoStandsOnce(t *testing.T) {
	run := &recording.Run{Facts: recording.Facts{Model: &recording.ModelFacts{Device: "cpu", Steps: 4}}}
	v := judge.Judge(run)
	var shown bytes.Buffer
	if err := WriteVerdict(&shown, run, v, advise.Rank(run, v), Style{Width: 1000}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(shown.String(), "find the GPU first"); n != 1 || !strings.Contains(shown.String(), "how much that gains is unknown here") {
		t.Errorf("%d times:\n%s", n, shown.String())
	}
}
