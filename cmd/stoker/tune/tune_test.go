//go:build linux

package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// tune reports errors before a command begins.
func TestTuneUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	privatetest.MakeFolder(t)
	write := func(name, text string) string {
		path, err := filepath.Abs(name)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := write("train.py", "print(1)\n")
	plan := func(name, sum, doubts string) string {
		return write(name, `{"plan": 1, "command": ["python", "train.py"], "loaders": [{"call": "`+script+`:1", "sha256": "`+sum+`", "dataset": "D", "doubts": [`+doubts+`],
			"changes": [{"setting": "num_workers", "from": 0, "to": 2}]}]}`)
	}
	good, other := plan("good.json", "", ""), plan("other.json", "abc", "")
	draws := plan("draws.json", "", `{"allow": "draws", "why": "samples draw random numbers"}`)
	numbers := write("numbers.json", `{"plan": 1, "command": ["python", "train.py"], "program": [{"setting": "tf32", "from": false, "to": true}]}`)
	old := write("old.json", `{"plan": 7}`)
	for _, c := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"tune", "--plan", good}, cli.ExitUsage, "tune takes a command behind --"},
		{[]string{"tune", "--plan", good, "--live", "--", "true"}, cli.ExitUsage, "leave out --live"},
		{[]string{"tune", "--plan", good, "--json", "--", "true"}, cli.ExitUsage, "leave out --json"},
		{[]string{"tune", "--force", "--", "true"}, cli.ExitUsage, "--plan FILE --force"},
		{[]string{"tune", "--plan", good, "--allow", "all", "--", "python", "train.py"}, cli.ExitUsage, "expected one of draws, state, order, precision"},
		{[]string{"tune", "--plan", "absent.json", "--", "python", "train.py"}, cli.ExitOurs, "no such file"},
		{[]string{"tune", "--plan", script, "--", "python", "train.py"}, cli.ExitOurs, "it is not a plan"},
		{[]string{"tune", "--plan", old, "--", "python", "train.py"}, cli.ExitOurs, "format 7"},
		{[]string{"tune", "--plan", other, "--", "python", "train.py"}, cli.ExitOurs, "--force applies this one"},
		{[]string{"tune", "--plan", good, "--", "python", "eval.py"}, cli.ExitOurs, "made of train.py, and this is eval.py"},
		{[]string{"tune", "--plan", draws, "--", "python", "train.py"}, cli.ExitOurs, draws + " --allow draws -- "},
		{[]string{"tune", "--plan", numbers, "--", "python", "train.py"}, cli.ExitOurs, "losses may change: tf32 false -> true changes numbers\nstoker: hint: stoker tune --plan " + numbers + " --allow precision "},
		{[]string{"tune", "--plan", numbers, "--allow", "draws", "--", "python", "train.py"}, cli.ExitOurs, "losses may change"},
		{[]string{"tune", "--plan", numbers, "--allow", "precision", "--", "./absent"}, cli.ExitNotFound, "name a program on PATH"},
		{[]string{"tune", "--plan", good, "--", "./absent"}, cli.ExitNotFound, "name a program on PATH"},
		{[]string{"tune"}, cli.ExitUsage, "tune takes a command"},
		{[]string{"tune", "--starts", "1", "--", "true"}, cli.ExitUsage, "2 to 100"},
		{[]string{"tune", "--longest", "1s", "--", "true"}, cli.ExitUsage, "at least 10s"},
		{[]string{"tune", "--env", "OUT", "--", "true"}, cli.ExitUsage, "NAME=VALUE"},
		{[]string{"tune", "-o", good, "--", "true"}, cli.ExitUsage, "is not replaced"},
		{[]string{"tune", "--", "true"}, cli.ExitUsage, "add --yes"},
		{[]string{"tune", "--live", "--starts", "3", "--", "true"}, cli.ExitUsage, "leave out --starts"},
		{[]string{"tune", "--live", "-o", "x.json", "--", "true"}, cli.ExitUsage, "the plan goes into the folder"},
		{[]string{"tune", "--live", "--allow", "precision", "--", "true"}, cli.ExitUsage, "leave out --live"},
		{[]string{"tune", "--live", "--", "./absent"}, cli.ExitNotFound, "name a program on PATH"},
		{[]string{"tune", "--yes", "--", "./absent"}, cli.ExitError, "no such"},
		{[]string{"tune", "--yes", "--", "true"}, cli.ExitError, "0 steady training steps were seen"},
		{[]string{"tune", "--yes", "--", "sh", "-c", "echo out of memory; exit 3"}, cli.ExitError, "CMD failed with code 3: out of memory ("},
		{[]string{"tune", "--yes", "--", "sh", "-c", "read password || exit 9"}, cli.ExitError, "code 9"},
		{[]string{"tune", "--yes", "--", "sh", "-c", "true </dev/tty || exit 8"}, cli.ExitError, "code 8"},
		{[]string{"tune", "--yes", "--", "sh", "-c", "sleep 1000 & exit 0"}, cli.ExitError, "0 steady training steps were seen"},
		{[]string{"tune", "--yes", "--env", "OUT={scratch}", "--args", "{scratch}", "--", "sh", "-c", `test "$OUT" = "$0" && rmdir "$OUT" && exit 7`}, cli.ExitError, "code 7"},
		{[]string{"advise", "-o", "new.json", filepath.Join(packageFolder, "../../../testdata/cases/main-thread-live/run.jsonl")}, cli.ExitError, "nothing to apply"},
		{[]string{"advise", "-o", good}, cli.ExitError, ""},
	} {
		code, _, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, errs)
		}
	}
	if _, err := os.Stat("new.json"); err == nil {
		t.Error("a plan of nothing was written")
	}
}

// A second tuning in a folder works as the first did, and the recordings of both are listed.
func TestTuneTwiceInAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	privatetest.MakeFolder(t)
	if err := os.WriteFile("plan.json", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		code, _, errs := call(t, "tune", "--yes", "--", "true")
		if code != cli.ExitError || !strings.Contains(errs, "0 steady training steps were seen") || !strings.Contains(errs, "the plan: plan-2.json") {
			t.Errorf("code %d: %s", code, errs)
		}
	}
	code, out, errs := call(t, "runs", "--json")
	if code != cli.ExitFine || strings.Count(out, `/0.jsonl.gz"`) != 2 || strings.Count(out, `"tune-`) != 2 {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	if text, _ := os.ReadFile("plan.json"); string(text) != "mine" {
		t.Errorf("plan.json is %q now", text)
	}
}

// packageFolder is the current folder when tests begin.
var packageFolder, _ = os.Getwd()

// tune --plan gives CMD the hook and the plan, and CMD's own exit code.
func TestTunePlan(t *testing.T) {
	privatetest.MakeFolder(t)
	environment, err := plannedEnvironment([]string{"PYTHONPATH=/mine", "STOKER_PLAN=/old", "A=b"}, map[string]string{"STOKER_PLAN": "/plan.json", "STOKER_PLAN_ALLOW": "draws"})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(environment, "\n")
	for _, want := range []string{"/plan.json", "STOKER_PLAN_ALLOW=draws", ":/mine", "A=b"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
	if strings.Contains(all, "/old") {
		t.Errorf("the plan around it is still there:\n%s", all)
	}
	for entry := range strings.SplitSeq(all, "\n") {
		if value, found := strings.CutPrefix(entry, "PYTHONPATH="); found {
			folder, _, _ := strings.Cut(value, ":")
			if _, err := os.Stat(filepath.Join(folder, "apply.py")); err != nil {
				t.Error(err)
			}
		}
	}
}
