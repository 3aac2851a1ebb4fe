package judge

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
)

// Confidence is there where the exam has verdicts of the same evidence, and null elsewhere.
func TestConfidence(t *testing.T) {
	for name, known := range map[string]bool{
		"labelled-too-few-workers": true, "labelled-healthy": true, "simulated-network-bound": true,
		"labelled-cpu-model": true, "small-files": true,
		"many-workers-start":    false, // unknown
		"request-server":        false, // the exam has no job that waits for others
		"feed-own-starved":      false, // nor Stoker's own loader
		"gpu-pageable-unhooked": true, "gpu-helpers-unhooked": true,
		"gpu-launches-unhooked": false, // nor kernels that leave the device empty
	} {
		names, err := filepath.Glob("../../testdata/cases/" + name + "/run.jsonl*")
		if err != nil || len(names) != 1 {
			t.Fatalf("%s: %v, %v", name, names, err)
		}
		run, err := recording.Open(names[0])
		if err != nil {
			t.Fatal(err)
		}
		v := Judge(run)
		if c := v.Confidence; math.IsNaN(c) == known || c > mostConfident || c < 0.5 {
			t.Errorf("%s: %s with a confidence of %.3f, known: %v", name, v.Class, c, known)
		}
	}
	c := diagnose.NewCase()
	c.WorksRecorded, c.LaunchThreadTime, c.HookLoaded = 1000, "known", true
	scores := []diagnose.Score{{Class: diagnose.GPUBound, Value: 1}, {Class: diagnose.CPUBound}}
	if got := measureConfidence(c, diagnose.Verdict{Class: diagnose.GPUBound, Scores: scores}); !math.IsNaN(got) {
		t.Errorf("a trace has a confidence of %.2f, and no exam", got)
	}
	c.WorksRecorded = math.NaN()
	if got := measureConfidence(c, diagnose.Verdict{Class: diagnose.GPUBound, Scores: scores}); got != min(mostConfident, 31./33) {
		t.Errorf("gpu-bound by the device's clock has a confidence of %.3f, want that of the exam", got)
	}
	c.SeveralRanks = true
	if got := measureConfidence(c, diagnose.Verdict{Class: diagnose.GPUBound, Scores: scores}); !math.IsNaN(got) {
		t.Errorf("one of several ranks that nobody compares has a confidence of %.3f", got)
	}
	c.SeveralRanks = false
	scores[1].Value = 0.5
	if got := measureConfidence(c, diagnose.Verdict{Class: diagnose.GPUBound, Scores: scores}); !math.IsNaN(got) {
		t.Errorf("two rules that are near each other have a confidence of %.3f", got)
	}
}

// No verdict is more certain than those of real processes were right.
func TestMostConfidentIsMeasured(t *testing.T) {
	text, err := os.ReadFile("../../bench/accuracy/PROCESSES.md")
	found := regexp.MustCompile(`(\d+) of (\d+) right`).FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("no figure in PROCESSES.md: %v", err)
	}
	right, _ := strconv.ParseFloat(string(found[1]), 64)
	runs, _ := strconv.ParseFloat(string(found[2]), 64)
	if share := (right + 1) / (runs + 2); mostConfident > share+0.005 {
		t.Errorf("real processes were right %.3f of the time, and verdicts may state %.2f", share, mostConfident)
	}
}
