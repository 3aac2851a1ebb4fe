package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// The file's name selects the format. If it selects none, the error lists all formats.
func TestExportWritesFormats(t *testing.T) {
	clitest.HideOwnRows(t)
	dir := t.TempDir()
	for name, begins := range map[string]string{"a.prom": "# HELP stoker_", "a.json": `{"displayTimeUnit"`, "events.out.tfevents.1.x": "", "a.json.gz": "\x1f\x8b", "a.steps.csv": "recording,host,job,rank,", "signals.csv": "recording,host,job,signal,", "steps.csv.gz": "\x1f\x8b"} {
		file := filepath.Join(dir, name)
		code, _, errs := call(t, "export", "-o", file, clitest.LiveRun)
		text, err := os.ReadFile(file)
		if code != cli.ExitFine || err != nil || len(text) == 0 || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s: code %d, %v, %q", name, code, err, errs)
		}
	}
	logs := filepath.Join(dir, "logs")
	_ = os.Mkdir(logs, 0o755)
	if code, _, errs := call(t, "export", "-o", logs, clitest.LiveRun); code != cli.ExitFine {
		t.Errorf("a folder: %q", errs)
	}
	if found, _ := filepath.Glob(filepath.Join(logs, "events.out.tfevents.*")); len(found) != 1 {
		t.Errorf("in the folder: %v", found)
	}
	absent := filepath.Join(dir, "a", "b")
	if code, _, errs := call(t, "export", "-o", absent+"/", clitest.LiveRun); code != cli.ExitFine {
		t.Errorf("a folder that is made: %q", errs)
	}
	if found, _ := filepath.Glob(filepath.Join(absent, "events.out.tfevents.*")); len(found) != 1 {
		t.Errorf("in the folder that is made: %v", found)
	}
	for _, args := range [][]string{{"export", clitest.LiveRun}, {"export", "-o", "a.xyz", clitest.LiveRun}, {"export", "-o", "a.parquet", clitest.LiveRun}} {
		if code, _, errs := call(t, args...); code != cli.ExitUsage || !strings.Contains(errs, "FILE.prom") {
			t.Errorf("%v: code %d, %q", args, code, errs)
		}
	}
}

// A table has all recordings of a folder except unreadable ones, which are listed. An unreadable
// recording that was named is an error.
func TestExportTables(t *testing.T) {
	clitest.HideOwnRows(t)
	dir := clitest.MakeFolder(t, map[string]string{"a.jsonl.gz": clitest.FedRun, "b.jsonl.gz": clitest.StarvedRun})
	a, table := filepath.Join(dir, "a.jsonl.gz"), filepath.Join(dir, "steps.csv")
	size := func(args ...string) int64 {
		t.Helper()
		code, _, errs := call(t, append([]string{"export", "-o", table}, args...)...)
		info, err := os.Stat(table)
		if code != cli.ExitFine || err != nil {
			t.Fatalf("%v: code %d, %v\n%s", args, code, err, errs)
		}
		return info.Size()
	}
	one, two := size(a), size(dir)
	bad := filepath.Join(dir, "bad.jsonl.gz")
	_ = os.WriteFile(bad, []byte("none"), 0o600)
	if one >= two || size(dir) != two {
		t.Errorf("%d bytes of one, %d of two", one, two)
	}
	if code, _, errs := call(t, "export", "-o", table, dir); code != cli.ExitFine || !strings.Contains(errs, "left out: ") || !strings.Contains(errs, bad) || !strings.Contains(errs, "2 of 3 recordings") {
		t.Errorf("code %d\n%s", code, errs)
	}
	for _, args := range [][]string{{a, bad}, {bad}, {filepath.Join(dir, "none.jsonl.gz")}} {
		missing := filepath.Join(dir, "not.signals.csv")
		code, _, errs := call(t, append([]string{"export", "-o", missing}, args...)...)
		if _, err := os.Stat(missing); code != cli.ExitError || err == nil || !strings.Contains(errs, "stoker: error: ") {
			t.Errorf("%v: code %d, %v\n%s", args, code, err, errs)
		}
	}
	if code, _, errs := call(t, "export", "-o", filepath.Join(dir, "a.prom"), a, a); code != cli.ExitUsage || !strings.Contains(errs, "2 recordings") {
		t.Errorf("several as Prometheus' text: code %d\n%s", code, errs)
	}
}
