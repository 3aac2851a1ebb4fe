package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// withLoader returns the hand-written recording with other facts about its loader.
func withLoader(t *testing.T, facts, workers string) string {
	t.Helper()
	text, err := os.ReadFile(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(`"dataset":"ImageFolder","reader":"torchvision.datasets.folder.DatasetFolder"`, `"dataset":"Lines","call":"/job/train.py:7",`+facts,
		`"num_workers":0`, `"num_workers":`+workers).Replace(string(text))
	if changed == string(text) {
		t.Fatal("the recording has no such loader any more")
	}
	file := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// facesOfAdvice are all commands that can advise a number of workers.
func facesOfAdvice(t *testing.T, file string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, args := range []string{
		"diagnose", "diagnose --all", "diagnose --json", "advise", "advise --json", "advise --emit torch", "advise --emit hf", "advise --emit lightning", "watch --once",
	} {
		code, out, errs := call(t, append(strings.Fields(args), file)...)
		if code != cli.ExitFine {
			t.Fatalf("%s: code %d: %s", args, code, errs)
		}
		all[args] = strings.Join(strings.Fields(out), " ")
	}
	page := filepath.Join(t.TempDir(), "run.html")
	if code, _, errs := call(t, "report", "-o", page, file); code != cli.ExitFine {
		t.Fatalf("report: code %d: %s", code, errs)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all["report"] = string(text)
	plan := filepath.Join(t.TempDir(), "plan.json")
	_, out, errs := call(t, "advise", "-o", plan, file)
	all["advise -o"] = out + errs
	if text, err := os.ReadFile(plan); err == nil {
		all["advise -o"] += string(text)
	}
	return all
}

// No verb advises more workers if each of them would read the whole data set. A verb that does
// prints the lines that split the data set.
func TestNoVerbAdvisesToRepeatSamples(t *testing.T) {
	for face, text := range facesOfAdvice(t, withLoader(t, `"iterable":true,"split":"none"`, "0")) {
		if face != "report" && face != "diagnose" && face != "watch --once" && face != "advise -o" && !strings.Contains(text, "get_worker_info") {
			t.Errorf("%s gives no line that splits the data set: %s", face, text)
		}
		if face == "advise -o" && !strings.Contains(text, "each worker reads all of the data set Lines") {
			t.Errorf("the plan does not say why it sets no workers: %s", text)
		}
		at := strings.Index(text, "num_workers 0 -> ")
		if split := strings.Index(text, "split the data set"); at >= 0 && face != "advise -o" && (split < 0 || split > at) {
			t.Errorf("%s advises workers before the data set is split: %s", face, text)
		}
		if strings.Contains(text, `"setting":"num_workers"`) && face == "advise -o" {
			t.Errorf("the plan sets workers: %s", text)
		}
	}
}

// If it is unknown how the data set is split, no number of workers is advised.
func TestUnknownDataSetsGetNoWorkers(t *testing.T) {
	for _, facts := range []string{`"iterable":true`, `"split":"own-state"`, `"iterable":true,"split":"per-worker"`} {
		for face, text := range facesOfAdvice(t, withLoader(t, facts, "0")) {
			if strings.Contains(text, "num_workers 0 -> ") || strings.Contains(text, "num_workers=6") || strings.Contains(text, `"setting": "num_workers"`) {
				t.Errorf("%s: %s advises workers: %s", facts, face, text)
			}
		}
	}
	for face, text := range facesOfAdvice(t, withLoader(t, `"iterable":true,"split":"worker-info"`, "0")) {
		if face == "advise" && !strings.Contains(text, "num_workers 0 -> ") {
			t.Errorf("a data set that asks for its part gets no workers: %s", text)
		}
	}
}

// If each worker yields every sample, that is reported first.
func TestRepeatedSamplesAreSaid(t *testing.T) {
	file := withLoader(t, `"iterable":true,"split":"none"`, "4")
	_, out, _ := call(t, "diagnose", file)
	text := strings.Join(strings.Fields(out), " ")
	for _, part := range []string{"next split the data set between its workers", "saves training on each sample 4 times", "repeated-samples: "} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q: %s", part, text)
		}
	}
}
