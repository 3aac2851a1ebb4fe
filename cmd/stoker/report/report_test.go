package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// Every kind of page is written completely or not at all.
func TestReportWritesPages(t *testing.T) {
	clitest.HideOwnRows(t)
	dir := t.TempDir()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	live := filepath.Join(root, "..", "..", "..", "testdata", "cases", "main-thread-live", "run.jsonl")
	recorded := clitest.WriteTrace(t, "trace.json", 0, 1)
	t.Chdir(dir)
	for name, args := range map[string][]string{
		"run.html": {live}, "own.html": {"-o", "own.html", live}, "two.html": {"-o", "two.html", live, live},
		strings.TrimSuffix(filepath.Base(recorded), ".json") + ".html": {recorded},
	} {
		code, out, errs := call(t, append([]string{"report"}, args...)...)
		text, err := os.ReadFile(name)
		if code != cli.ExitFine || out != "" || err != nil || !strings.HasSuffix(string(text), "</html>\n") || !strings.Contains(errs, name+" is written") {
			t.Errorf("report %q: code %d, %v, stderr %q", args, code, err, errs)
		}
	}
	code, out, _ := call(t, "report", "-o", "-", live)
	if code != cli.ExitFine || !strings.HasPrefix(out, "<!doctype html>") {
		t.Errorf("to stdout: code %d", code)
	}
	for want, args := range map[string][]string{
		"no such file":   {"absent.jsonl.gz"},
		"no packed page": {"-o", "run.html.gz", live},
		"takes at most":  {live, live, live},
		"write absent":   {"-o", "absent/run.html", live},
	} {
		if code, _, errs := call(t, append([]string{"report"}, args...)...); code == cli.ExitFine || !strings.Contains(errs, want) {
			t.Errorf("report %q: code %d, %q", args, code, errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
