package text

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/report"
)

// A job is named by its command, without the folders of its files, or by its recording.
func TestRunsText(t *testing.T) {
	nan := math.NaN()
	job := func(command string, files ...string) report.Job {
		return report.Job{Command: command, Files: files, Hosts: []string{"vm"}, Class: "gpu-bound", Stall: nan, Rate: nan, Lost: nan, GPUHours: nan, Idle: nan, Speedup: nan}
	}
	var shown bytes.Buffer
	jobs := []report.Job{job("/env/bin/python3.11 /work/train.py --epochs 3"), job("", "/runs/a.jsonl.gz")}
	if err := WriteRuns(&shown, report.Runs{Folder: "/runs", Recordings: 2, Jobs: jobs}, 0, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  train.py --epochs 3  ", "  a.jsonl.gz  "} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("%q is not in\n%s", want, shown.String())
		}
	}
}
