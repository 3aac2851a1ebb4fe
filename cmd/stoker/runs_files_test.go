package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copied is a copy of a case's recording, without its last bytes.
func copied(t *testing.T, short int) string {
	t.Helper()
	data, err := os.ReadFile(caseFile("labelled-healthy/run.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	if err := os.WriteFile(path, data[:len(data)-short], 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunsOfFiles(t *testing.T) {
	whole, torn := copied(t, 0), copied(t, 10)
	for _, c := range []struct {
		args []string
		code int
		want string // of stdout or stderr
	}{
		{[]string{"check", whole}, exitFine, "run.jsonl.gz: whole, "},
		{[]string{"check", whole, torn}, exitError, "  the recording ends in the middle of a second: that second is left out"},
		{[]string{"check", filepath.Join(t.TempDir(), "absent")}, exitError, "stoker: error: read recording: open"},
		{[]string{"trim", "--most", "1KB", whole}, exitFine, ": the rest is what is judged"},
		{[]string{"trim", "--most", "much", whole}, exitUsage, "stoker: error: --most much: "},
		{[]string{"merge", "-o", filepath.Join(t.TempDir(), "out.jsonl.gz"), whole, torn}, exitFine, "out.jsonl.gz: what 2 files hold"},
		{[]string{"merge", "-o", whole, whole, torn}, exitError, "file exists"},
		{[]string{"merge", whole, torn}, exitUsage, "-o names no file to write"},
		{[]string{"merge", "-o", "x", whole}, exitUsage, "runs merge takes at least 2 files, got 1"},
		{[]string{"check"}, exitUsage, "runs check takes at least 1 file, got 0"},
		{[]string{"shred", whole}, exitUsage, "runs takes at most 1 argument(s), got 2"},
		{[]string{"--help"}, exitFine, "stoker runs check stoker-runs"},
	} {
		code, out, errs := call(t, append([]string{"runs"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: code %d, want %d, and %q in\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

// A recording that may still be written is not written anew under the writer's feet.
func TestTrimOfARunThatGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"header","format":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := call(t, "runs", "trim", path)
	if code != exitError || !strings.Contains(errs, "it may go on") {
		t.Errorf("code %d: %s", code, errs)
	}
}
