package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name of the file says the format; what says none is told all that there are.
func TestExportWritesFormats(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	for name, begins := range map[string]string{"a.prom": "# HELP stoker_", "a.json": `{"displayTimeUnit"`, "events.out.tfevents.1.x": "", "a.json.gz": "\x1f\x8b"} {
		file := filepath.Join(dir, name)
		code, _, errs := call(t, "export", "-o", file, liveRun)
		text, err := os.ReadFile(file)
		if code != exitFine || err != nil || len(text) == 0 || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s: code %d, %v, %q", name, code, err, errs)
		}
	}
	logs := filepath.Join(dir, "logs")
	_ = os.Mkdir(logs, 0o755)
	if code, _, errs := call(t, "export", "-o", logs, liveRun); code != exitFine {
		t.Errorf("a folder: %q", errs)
	}
	if found, _ := filepath.Glob(filepath.Join(logs, "events.out.tfevents.*")); len(found) != 1 {
		t.Errorf("in the folder: %v", found)
	}
	for _, args := range [][]string{{"export", liveRun}, {"export", "-o", "a.xyz", liveRun}} {
		if code, _, errs := call(t, args...); code != exitUsage || !strings.Contains(errs, "FILE.prom") {
			t.Errorf("%v: code %d, %q", args, code, errs)
		}
	}
}
