package verify

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report/ci"
)

var fedBefore, fedAfter = clitest.CaseFile("feed-before/run.jsonl.gz"), clitest.CaseFile("feed-after/run.jsonl.gz")

// A bound on the change must hold for the whole interval.
func TestVerifyHoldsBounds(t *testing.T) {
	launches := clitest.CaseFile("trace-launches/trace.json.gz")
	for _, c := range []struct {
		args string
		code int
		want string // in stderr
	}{
		{"--check faster>=1.2x,step<=+5% BEFORE AFTER", cli.ExitFine, ""},
		{"--check step<=+5% AFTER BEFORE", cli.ExitStarved, "the speed-up is 0.30x (0.29 to 0.31), and step <= +5 % is asked for"},
		{"--check faster>4x BEFORE AFTER", cli.ExitStarved, "the speed-up is 3.34x (3.22 to 3.47), and faster > 4x is asked for"},
		{"--check faster>3.3x BEFORE AFTER", cli.ExitStarved, "that is not decided: longer runs, or more of them, would tell"},
		{"--check step<=+5% --check idle<20% BEFORE BEFORE", cli.ExitStarved, "idle 69.9 %"},
		{"--check step<=+50% BEFORE -- BEFORE", cli.ExitFine, ""},
		{"--check step<=+5% BEFORE BEFORE -- AFTER", cli.ExitError, ""}, // the same run twice
		{"--check step<=+5% TRACE TRACE", cli.ExitStarved, "not decided"},
		{"BEFORE AFTER --", cli.ExitUsage, "stoker verify A1 A2 -- B1 B2"},
		{"BEFORE", cli.ExitUsage, "stoker verify A1 A2 -- B1 B2"},
		{"-- BEFORE AFTER", cli.ExitFine, ""},               // as the Python client calls it
		{"-- BEFORE -- AFTER", cli.ExitFine, ""},            // the same with several files
		{"BEFORE -- AFTER --json", cli.ExitError, "--json"}, // after --, this is a file's name
		{"BEFORE -- TRACE", cli.ExitUsage, "give files of a kind"},
	} {
		args := strings.Fields(strings.NewReplacer("BEFORE", fedBefore, "AFTER", fedAfter, "TRACE", launches).Replace("verify " + c.args))
		code, _, errs := call(t, args...)
		if code != c.code || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
			t.Errorf("stoker verify %s: code %d, want %d; stderr lacks %q:\n%s", c.args, code, c.code, c.want, errs)
		}
	}
}

// Reports for pipelines name the source line. The exit code is still that of --check.
func TestReportsForPipelines(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("summary.md"), []byte("of the step before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call(t, "verify", "--github", "--check", "step<=+5%", "--sarif", file("s.sarif"), "--gitlab", file("g.json"), "--markdown", file("summary.md"), fedAfter, fedBefore)
	if code != cli.ExitStarved || !strings.Contains(errs, "step <= +5 %") {
		t.Fatalf("code %d\n%s", code, errs)
	}
	for name, want := range map[string][]string{
		"stdout":     {"::error file=examples/imagefolder/train.py,line=136,title=stoker%3A check::the speed-up is 0.30x"},
		"s.sarif":    {`"version": "2.1.0"`, `"uri": "examples/imagefolder/train.py"`, `"startLine": 136`, `"level": "error"`},
		"g.json":     {`"path": "examples/imagefolder/train.py"`, `"begin": 136`, `"severity": "major"`, `"fingerprint": "`},
		"summary.md": {"of the step before\n### stoker: slower: 0.30x", "emulated device", "| class | gpu-bound | cpu-bound/main-thread-loader |", "- **check**: the speed-up"},
	} {
		text := out
		if name != "stdout" {
			data, err := os.ReadFile(file(name))
			if err != nil {
				t.Fatal(err)
			}
			if text = string(data); name != "summary.md" && !json.Valid(data) {
				t.Errorf("%s is no JSON:\n%s", name, text)
			}
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q:\n%s", name, part, text)
			}
		}
	}
	code, out, _ = call(t, "diagnose", "--github", clitest.CaseFile("lines-decoder/run.jsonl.gz"))
	if code != cli.ExitFine || !strings.Contains(out, "bench/labelled/lines.py,line=52,title=stoker%3A slow-transform::53 %25 of preparing a batch") {
		t.Errorf("diagnose --github: code %d\n%s", code, out)
	}
}

// The workflow of examples/ci fails a pull request if its loader is slower, and only then. All its
// steps are executed as by GitHub's runner (examples/ci/steps.py), with recordings instead of runs.
func TestWorkflow(t *testing.T) {
	for _, needed := range []string{"python3", "git", "bash"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("there is no %s", needed)
		}
	}
	leash.Hold(t)
	examples, err := filepath.Abs("../../../examples/ci")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	for name, script := range map[string]string{
		"pip": "#!/bin/sh\n",
		"stoker": `#!/bin/sh
[ "$1" = observe ] || exec "` + self + `" "$@"
case $PWD in */base) cp "$CASE_BASE" "$4" ;; *) cp "$CASE_HEAD" "$4" ;; esac
`,
	} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		base, head string
		code       int
		want       string
	}{
		"slower":     {clitest.FedRun, clitest.StarvedRun, cli.ExitStarved, "::error file=examples/imagefolder/train.py,line=136,"},
		"faster":     {clitest.StarvedRun, clitest.FedRun, cli.ExitFine, "faster: 3.34x"},
		"other work": {clitest.FedRun, "labelled-slow-disk/run.jsonl.gz", cli.ExitError, "not compared"},
	} {
		checkout := t.TempDir()
		base, err1 := filepath.Abs(clitest.CaseFile(c.base))
		head, err2 := filepath.Abs(clitest.CaseFile(c.head))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		run := func(words ...string) (string, int) {
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir = checkout
			cmd.Env = append(os.Environ(), clitest.AsCommand+"=1", "CASE_BASE="+base, "CASE_HEAD="+head)
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		if out, code := run("sh", "-ec", "git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a; git update-ref refs/remotes/origin/main HEAD"); code != 0 {
			t.Fatal(out)
		}
		out, code := run("python3", filepath.Join(examples, "steps.py"), filepath.Join(examples, "loader.yml"), "--base", "main", "--env", "ROUNDS=1", "--env", "PATH="+tools+":"+os.Getenv("PATH"))
		if code != c.code || !strings.Contains(out, c.want) || !strings.Contains(out, "\n### stoker: ") {
			t.Errorf("%s: code %d, want %d\n%s", name, code, c.code, out)
		}
	}
}

// Hostile names and texts of a recording cannot end a command, a cell or a link.
func TestHostileTextsInReportsForPipelines(t *testing.T) {
	problems := []ci.Problem{{Rule: "check", Text: "a\n::error::b" + poison.Text, File: "a,b:\n::c" + poison.Name, Line: 1}, {Rule: "check", Text: "no place"}}
	var b strings.Builder
	if err := ci.WriteGitHub(&b, problems); err != nil || strings.Count(b.String(), "\n") != 2 || !strings.Contains(b.String(), "file=a%2Cb%3A") {
		t.Errorf("%v\n%q", err, b.String())
	}
	b.Reset()
	if err := ci.WriteSARIF(&b, problems, "1"); err != nil || strings.Contains(b.String(), "\n::") || !strings.Contains(b.String(), `"uri": "a%2Cb%3A%0A%3A%3Ac`) {
		t.Errorf("%v\n%s", err, b.String())
	}
	run, err := recording.Open(fedBefore)
	if err != nil {
		t.Fatal(err)
	}
	j := judged.Judge(fedBefore, run)
	j.Verdict.Warnings = []string{"<img src=x onerror=y> [a](http://b) | @c" + poison.Text}
	b.Reset()
	if err := ci.WriteSummary(&b, run, j.Verdict, j.Plan, nil); err != nil || strings.ContainsAny(b.String(), "<@\x1b[") || strings.Contains(b.String(), "http://") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
