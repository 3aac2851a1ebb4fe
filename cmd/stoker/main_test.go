package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/internal/leash"
)

func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }

// call runs the command as a user would.
func call(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestVerbs(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string // in stdout
	}{
		{[]string{"--help"}, cli.ExitFine, "See what starves the GPU\n  observe "},
		{[]string{"verify", "--help"}, cli.ExitFine, "Exit codes: 0 fine, 1 error, 2 usage, 3 a bound is missed or unknown, 4 a prediction is missed"},
		{[]string{"--version"}, cli.ExitFine, "stoker "},
		{[]string{"diagnose", "--help"}, cli.ExitFine, "stoker diagnose --explain"},
		{[]string{"diagnose", clitest.LiveRun}, cli.ExitFine, "cpu-bound/main-thread-loader"},
		{[]string{"diagnose", "--json", clitest.LiveRun}, cli.ExitFine, `"stall_source": "device-events"`},
		{[]string{"diagnose", "--explain", clitest.LiveRun}, cli.ExitFine, "Is GPU-Util high?"},
		{[]string{"diagnose", "--check", clitest.LiveRun}, cli.ExitStarved, "main-thread"},
		{[]string{"diagnose", "--list"}, cli.ExitFine, "io-bound/small-files"},
		{[]string{"doctor", "--help"}, cli.ExitFine, "stoker doctor --python"},
		{[]string{"doctor", "--python", "/nowhere/python3"}, cli.ExitFine, "MISSING  start-up hook"},
		{[]string{"doctor", "--check", "--python", "/nowhere/python3"}, cli.ExitStarved, "stoker doctor --python PATH"},
		{[]string{"doctor", "--json", "--python", "/nowhere/python3"}, cli.ExitFine, `"what": "start-up hook"`},
		{[]string{"advise", clitest.LiveRun}, cli.ExitFine, "num_workers 0 -> 7"},
		{[]string{"advise", "--emit", "torch", clitest.LiveRun}, cli.ExitFine, "num_workers=7,"},
		{[]string{"advise", "--emit", "hf", clitest.LiveRun}, cli.ExitFine, "dataloader_num_workers=7,"},
		{[]string{"advise", "--emit", "lightning", clitest.LiveRun}, cli.ExitFine, "num_workers=7,"},
		{[]string{"verify", clitest.LiveRun, clitest.LiveRun}, cli.ExitFine, "no detectable difference"},
		{[]string{"verify", "--json", clitest.LiveRun, clitest.LiveRun}, cli.ExitFine, `"outcome"`},
	} {
		code, out, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("stoker %s: code %d, want %d; stdout lacks %q:\n%s%s", strings.Join(c.args, " "), code, c.code, c.want, out, errs)
		}
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"diagnos"}, cli.ExitUsage, "unknown command"},
		{[]string{"diagnose", "--nope"}, cli.ExitUsage, "unknown flag"},
		{[]string{"diagnose", "a", "b"}, cli.ExitError, "no such file"},
		{[]string{"doctor", "me"}, cli.ExitUsage, "at most 0"},
		{[]string{"diagnose", filepath.Join(dir, "absent")}, cli.ExitError, "no such file"},
		{[]string{"diagnose", dir}, cli.ExitError, "none in"},
		{[]string{"diagnose", file("empty", "")}, cli.ExitError, "the file is empty"},
		{[]string{"diagnose", file("text", "hello\nworld\n")}, cli.ExitError, "expected a recording of Stoker"},
		{[]string{"diagnose", file("json", "{\"a\":1}\n")}, cli.ExitError, "expected a recording of Stoker"},
		{[]string{"diagnose", file("newer", `{"kind":"header","format":99,"version":"9.1"}`+"\n")}, cli.ExitError, "use stoker 9.1 or newer"},
		{[]string{"advise", "--emit", "yaml", clitest.LiveRun}, cli.ExitUsage, `expected one of hf, lightning, torch`},
		{[]string{"verify", clitest.LiveRun}, cli.ExitUsage, "two recordings"},
		{[]string{"observe"}, cli.ExitUsage, "a command after --"},
		{[]string{"observe", "train.py"}, cli.ExitUsage, "after --"},
		{[]string{"observe", "--pid", "1", "--", "true"}, cli.ExitUsage, "--pid"},
		{[]string{"observe", "--log", "wandy", "--", "true"}, cli.ExitUsage, "known are wandb, mlflow, figures"},
		{[]string{"observe", "--log", "wandb", "--no-hook", "--", "true"}, cli.ExitUsage, "--log needs the hook"},
		{[]string{"observe", "--otlp", "localhost:4318", "--", "true"}, cli.ExitUsage, "no address of a collector"},
	} {
		code, out, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "stoker: error: ") {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s%s", strings.Join(c.args, " "), code, c.code, c.want, out, errs)
		}
	}
}

func TestNoRecordingInFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := call(t, "diagnose"); code != cli.ExitError || !strings.Contains(errs, "stoker observe -- python train.py") {
		t.Errorf("code %d, stderr %q: want a hint how to record", code, errs)
	}
}
