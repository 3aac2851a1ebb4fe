package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
)

// asCommand makes the test's own program the command, for what calls it by name.
const asCommand = "STOKER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(leash.Main(m))
}

const liveRun = "../../testdata/cases/main-thread-live/run.jsonl"

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
		{[]string{"--help"}, exitFine, "See what starves the GPU\n  observe "},
		{[]string{"verify", "--help"}, exitFine, "Exit codes: 0 fine, 1 error, 2 usage, 3 a bound is missed or unknown, 4 a prediction is missed"},
		{[]string{"--version"}, exitFine, "stoker "},
		{[]string{"diagnose", "--help"}, exitFine, "stoker diagnose --explain"},
		{[]string{"diagnose", liveRun}, exitFine, "cpu-bound/main-thread-loader"},
		{[]string{"diagnose", "--json", liveRun}, exitFine, `"stall_source": "device-events"`},
		{[]string{"diagnose", "--explain", liveRun}, exitFine, "Is GPU-Util high?"},
		{[]string{"diagnose", "--check", liveRun}, exitStarved, "main-thread"},
		{[]string{"diagnose", "--list"}, exitFine, "io-bound/small-files"},
		{[]string{"doctor", "--help"}, exitFine, "stoker doctor --python"},
		{[]string{"doctor", "--python", "/nowhere/python3"}, exitFine, "MISSING  start-up hook"},
		{[]string{"doctor", "--check", "--python", "/nowhere/python3"}, exitStarved, "stoker doctor --python PATH"},
		{[]string{"doctor", "--json", "--python", "/nowhere/python3"}, exitFine, `"what": "start-up hook"`},
		{[]string{"advise", liveRun}, exitFine, "num_workers 0 -> 7"},
		{[]string{"advise", "--emit", "torch", liveRun}, exitFine, "num_workers=7,"},
		{[]string{"advise", "--emit", "hf", liveRun}, exitFine, "dataloader_num_workers=7,"},
		{[]string{"advise", "--emit", "lightning", liveRun}, exitFine, "num_workers=7,"},
		{[]string{"verify", liveRun, liveRun}, exitFine, "no detectable difference"},
		{[]string{"verify", "--json", liveRun, liveRun}, exitFine, `"outcome"`},
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
		{[]string{"diagnos"}, exitUsage, "unknown command"},
		{[]string{"diagnose", "--nope"}, exitUsage, "unknown flag"},
		{[]string{"diagnose", "a", "b"}, exitError, "no such file"},
		{[]string{"doctor", "me"}, exitUsage, "at most 0"},
		{[]string{"diagnose", filepath.Join(dir, "absent")}, exitError, "no such file"},
		{[]string{"diagnose", dir}, exitError, "none in"},
		{[]string{"diagnose", file("empty", "")}, exitError, "the file is empty"},
		{[]string{"diagnose", file("text", "hello\nworld\n")}, exitError, "expected a recording of Stoker"},
		{[]string{"diagnose", file("json", "{\"a\":1}\n")}, exitError, "expected a recording of Stoker"},
		{[]string{"diagnose", file("newer", `{"kind":"header","format":99,"version":"9.1"}`+"\n")}, exitError, "use stoker 9.1 or newer"},
		{[]string{"advise", "--emit", "yaml", liveRun}, exitUsage, `expected one of hf, lightning, torch`},
		{[]string{"verify", liveRun}, exitUsage, "two recordings"},
		{[]string{"observe"}, exitUsage, "a command after --"},
		{[]string{"observe", "train.py"}, exitUsage, "after --"},
		{[]string{"observe", "--pid", "1", "--", "true"}, exitUsage, "--pid"},
		{[]string{"observe", "--log", "wandy", "--", "true"}, exitUsage, "known are wandb, mlflow, figures"},
		{[]string{"observe", "--log", "wandb", "--no-hook", "--", "true"}, exitUsage, "--log needs the hook"},
		{[]string{"observe", "--otlp", "localhost:4318", "--", "true"}, exitUsage, "no address of a collector"},
	} {
		code, out, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "stoker: error: ") {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s%s", strings.Join(c.args, " "), code, c.code, c.want, out, errs)
		}
	}
}

func TestNoRecordingHere(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := call(t, "diagnose"); code != exitError || !strings.Contains(errs, "stoker observe -- python train.py") {
		t.Errorf("code %d, stderr %q: want a hint how to record", code, errs)
	}
}
