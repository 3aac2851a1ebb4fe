package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// copied copies the recording of a case, without its last bytes.
func copied(t *testing.T, short int) string {
	t.Helper()
	data, err := os.ReadFile(clitest.CaseFile("labelled-healthy/run.jsonl.gz"))
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
		{[]string{"check", whole}, cli.ExitFine, "run.jsonl.gz: whole, "},
		{[]string{"check", whole, torn}, cli.ExitError, "  the recording is cut at byte "},
		{[]string{"check", filepath.Join(t.TempDir(), "absent")}, cli.ExitError, "stoker: error: read recording: open"},
		{[]string{"trim", "--most", "1KB", whole}, cli.ExitFine, ": the rest is what is judged"},
		{[]string{"trim", "--most", "much", whole}, cli.ExitUsage, "stoker: error: --most much: "},
		{[]string{"merge", "-o", filepath.Join(t.TempDir(), "out.jsonl.gz"), whole, torn}, cli.ExitFine, "out.jsonl.gz: what 2 files hold"},
		{[]string{"merge", "-o", whole, whole, torn}, cli.ExitError, "file exists"},
		{[]string{"merge", whole, torn}, cli.ExitUsage, "-o names no file to write"},
		{[]string{"merge", "-o", "x", whole}, cli.ExitUsage, "runs merge takes at least 2 files, got 1"},
		{[]string{"check"}, cli.ExitUsage, "runs check takes at least 1 file, got 0"},
		{[]string{"shred", whole}, cli.ExitUsage, "runs takes at most 1 argument(s), got 2"},
		{[]string{"--help"}, cli.ExitFine, "stoker runs check stoker-runs"},
	} {
		code, out, errs := call(t, append([]string{"runs"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: code %d, want %d, and %q in\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

// A recording that may still be being written is not rewritten.
func TestTrimOfARunningJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"header","format":1}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := call(t, "runs", "trim", path)
	if code != cli.ExitError || !strings.Contains(errs, "it may go on") {
		t.Errorf("code %d: %s", code, errs)
	}
}
