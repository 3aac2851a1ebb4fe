package observe

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

func copyTrace(t *testing.T, to string) {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/cases/trace-pageable/trace.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every verb judges a recording with a captured trace by both.
func TestCapturedTrace(t *testing.T) {
	path, _ := withTrace(t, "run.rank0.trace.json.gz")
	copyTrace(t, filepath.Join(filepath.Dir(path), "run.rank0.trace.json.gz"))
	code, out, errs := call(t, "diagnose", "--all", path)
	for _, want := range []string{
		"cpu-bound/main-thread-loader", "the trace of it", "which contradicts the run (see notes)", "run and trace contradict each other: the run is",
		"copies alone", "pageable",
	} {
		if code != cli.ExitFine || !strings.Contains(out, want) {
			t.Errorf("code %d, %q is missing\n%s%s", code, want, out, errs)
		}
	}
	if _, out, _ := call(t, "diagnose", "--json", path); !strings.Contains(out, `"traced": {`) || strings.Contains(out, `"contradictions": []`) {
		t.Error(out)
	}
}

// A file that a recording names is read only if it is in the same folder.
func TestTracesElsewhereAreNotRead(t *testing.T) {
	for name, want := range map[string]string{
		"missing.json": "is missing", "../up.json": "not in its folder", "/etc/passwd": "not in its folder", "": "not in its folder", "..": "not in its folder",
		"link.json": "not a plain file", "folder.json": "not a plain file", "broken.json": "read ",
	} {
		path, run := withTrace(t, name)
		dir := filepath.Dir(path)
		_ = os.Symlink("/etc/hostname", filepath.Join(dir, "link.json"))
		_ = os.Mkdir(filepath.Join(dir, "folder.json"), 0o700)
		_ = os.WriteFile(filepath.Join(dir, "broken.json"), []byte("<html>"), 0o600)
		live := judge.Judge(run)
		c := judged.JoinTraces(context.Background(), path, run, live)
		if c.Verdict.Traced != nil || c.Verdict.Class != live.Class || len(c.Trouble) != 1 || !strings.Contains(c.Trouble[0], want) {
			t.Errorf("%q: %q", name, c.Trouble)
		}
		if got := strings.Join(c.Verdict.Warnings, "|"); !strings.Contains(got, want) {
			t.Errorf("%q: the report does not say so: %s", name, got)
		}
	}
}

// Of two traces of different runs, only that of the judged process counts.
func TestTracesOfTwoPrograms(t *testing.T) {
	path, run := withTrace(t, "a.rank0.json.gz")
	run.Facts.Captures = append(run.Facts.Captures, recording.Capture{PID: 1, File: "b.rank0.json.gz"})
	for _, c := range run.Facts.Captures {
		copyTrace(t, filepath.Join(filepath.Dir(path), c.File))
	}
	c := judged.JoinTraces(context.Background(), path, run, judge.Judge(run))
	if c.Verdict.Traced == nil || len(c.Files) != 2 || len(c.Trouble) != 1 || c.Table == nil {
		t.Errorf("%+v", c)
	}
}

func TestTraceFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"observe", "--trace", "-1", "--", "true"}, "takes a number of steps"},
		{[]string{"observe", "--trace", "5000", "--", "true"}, "takes a number of steps"},
		{[]string{"observe", "--trace", "5", "--pid", "1"}, "start it with stoker observe --trace 5 -- CMD"},
		{[]string{"observe", "--trace", "5", "--no-hook", "--", "true"}, "leave --no-hook away"},
		{[]string{"observe", "--trace-stacks", "--", "true"}, "add --trace 5"},
	} {
		if code, _, errs := call(t, c.args...); code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: code %d\n%s", c.args, code, errs)
		}
	}
	if _, out, _ := call(t, "observe", "--help"); !strings.Contains(out, "--trace-shapes") || !strings.Contains(out, "--trace N") {
		t.Error(out)
	}
}

// withTrace makes a live recording that names a trace as captured with it.
func withTrace(t *testing.T, name string) (path string, run *recording.Run) {
	t.Helper()
	run, err := recording.Open(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	run.Facts.Captures = []recording.Capture{{PID: 4711, File: name, Steps: 5, From: 1, To: 2}}
	var text bytes.Buffer
	if err := recording.Write(&text, run); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, run
}
