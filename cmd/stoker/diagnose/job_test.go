package diagnose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// jobFolder makes a folder with the recordings of two ranks of a job, and others.
func jobFolder(t *testing.T, others map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	of := func(job, host, rank string) string {
		facts := strings.Replace(string(text), `"facts":{`, `"facts":{"job":"`+job+`","host":"`+host+`",`, 1)
		facts = strings.Replace(facts, `"monotonic_ns":`, `"monotonic_ns":1`+rank, 1)
		facts = strings.ReplaceAll(facts, `"kind":"step",`, `"kind":"step","rank":`+rank+`,`)
		return strings.ReplaceAll(facts, `"rank":0`, `"rank":`+rank+`,"world":2`)
	}
	files := map[string]string{"a.jsonl": of("SLURM_JOB_ID=4711", "node-a", "0"), "b.jsonl": of("SLURM_JOB_ID=4711", "node-b", "1"), "notes.txt": "?"}
	for name, job := range others {
		files[name] = job
		if id, ok := strings.CutPrefix(job, "job "); ok {
			files[name] = of(id, "node-c", "0")
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestDiagnoseJob(t *testing.T) {
	folder := jobFolder(t, nil)
	code, out, errs := call(t, "diagnose", folder)
	for _, want := range []string{"2 ranks of SLURM_JOB_ID=4711 in 2 recordings", "node-b", "cpu-bound/main-thread-loader", "no rank makes the others wait"} {
		if code != cli.ExitFine || !strings.Contains(out, want) {
			t.Fatalf("code %d, %s\n%s\nwant %s", code, errs, out, want)
		}
	}
	_, out, _ = call(t, "diagnose", "--json", filepath.Join(folder, "b.jsonl"), filepath.Join(folder, "a.jsonl"))
	var o struct {
		Verdict struct{ Class string }
		Job     struct {
			Name  string
			Ranks []struct {
				Rank      int
				Host      string
				Recording string
			}
			Late []int
		}
	}
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		t.Fatal(err)
	}
	if first := o.Job.Ranks[0]; len(o.Job.Ranks) != 2 || first.Rank != 0 || first.Host != "node-a" || filepath.Base(first.Recording) != "a.jsonl" || len(o.Job.Late) > 0 {
		t.Errorf("%+v", o)
	}
	if code, _, _ := call(t, "diagnose", "--check", folder); code != cli.ExitStarved {
		t.Errorf("--check of a starved job ends with %d", code)
	}
}

// Recordings that are not of one job, and unreadable ones, are errors.
func TestDiagnoseFolders(t *testing.T) {
	code, _, errs := call(t, "diagnose", jobFolder(t, map[string]string{"c.jsonl": "job SLURM_JOB_ID=4712"}))
	if code != cli.ExitError || !strings.Contains(errs, "c.jsonl are of different jobs: SLURM_JOB_ID=4711 and SLURM_JOB_ID=4712") || !strings.Contains(errs, "hint: stoker runs FOLDER") {
		t.Errorf("code %d: %s", code, errs)
	}
	code, out, errs := call(t, "diagnose", jobFolder(t, map[string]string{"d.jsonl": "torn"}))
	if flat := strings.Join(strings.Fields(out), " "); code != cli.ExitFine || !strings.Contains(flat, "2 ranks of") || !strings.Contains(flat, "d.jsonl") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	if code, _, errs := call(t, "diagnose", t.TempDir()); code != cli.ExitError || !strings.Contains(errs, "list recordings: none in") {
		t.Errorf("code %d: %s", code, errs)
	}
	if code, out, _ := call(t, "diagnose", filepath.Dir(clitest.LiveRun)); code != cli.ExitFine || strings.Contains(out, "recordings") {
		t.Errorf("code %d, a folder with one recording: %s", code, out)
	}
}
