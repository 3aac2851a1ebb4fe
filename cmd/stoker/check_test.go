package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
)

// --check without a value fails a run whose device is not kept busy, whichever its class, and a run
// that cannot be judged.
func TestCheckWithoutValue(t *testing.T) {
	for _, c := range []struct {
		verb, file string
		code       int
		want       string // in stderr
	}{
		{"diagnose", "labelled-healthy/run.jsonl.gz", cli.ExitFine, ""},
		{"diagnose", "labelled-gpu-bound-spinning/run.jsonl.gz", cli.ExitFine, ""},
		{"diagnose", "feed-own-keeps-up/run.jsonl.gz", cli.ExitFine, ""}, // recorded by the loader, which is fast enough
		{"diagnose", "labelled-main-thread-cpu/run.jsonl.gz", cli.ExitStarved, "cpu-bound/main-thread-loader"},
		{"diagnose", "labelled-cpu-model/run.jsonl.gz", cli.ExitStarved, "compute-on-cpu"},
		{"diagnose", "labelled-pageable-copies/run.jsonl.gz", cli.ExitStarved, "transfer-bound"},
		{"diagnose", "labelled-not-training/run.jsonl.gz", cli.ExitStarved, "neither stall nor idle is known"},
		{"trace", "trace-chains/trace.json.gz", cli.ExitFine, ""},
		{"trace", "trace-launches/trace.json.gz", cli.ExitStarved, "idle 81.5 %"},
		{"trace", "trace-gc/trace.json.gz", cli.ExitStarved, "idle 55.8 %"},
		{"trace", "trace-warm-up/trace.json.gz", cli.ExitStarved, "idle 99.3 %"},
		{"trace", "trace-loader/trace.json.gz", cli.ExitStarved, "stall 63.6 %"},
	} {
		code, _, errs := call(t, c.verb, "--check", clitest.CaseFile(c.file))
		if code != c.code || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
			t.Errorf("stoker %s --check %s: code %d, want %d; stderr lacks %q:\n%s", c.verb, c.file, code, c.code, c.want, errs)
		}
	}
}

// A bound is accepted with or without =, in several flags or separated by commas, and at every
// position where flags are allowed.
func TestCheckBounds(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"diagnose", "--check", "stall<90%", clitest.LiveRun}, cli.ExitFine, ""},
		{[]string{"diagnose", "--check=stall<90%", clitest.LiveRun}, cli.ExitFine, ""},
		{[]string{"diagnose", clitest.LiveRun, "--check", "stall < 0.9"}, cli.ExitFine, ""},
		{[]string{"diagnose", "--check", "stall<10%", clitest.LiveRun}, cli.ExitStarved, "stall 83.3 %, and stall < 10 % is asked for"},
		{[]string{"diagnose", "--check", "stall<90%,idle<20%", clitest.LiveRun}, cli.ExitStarved, "idle 83.3 %"},
		{[]string{"diagnose", "--check", "stall<90%", "--check", "idle<=90%", clitest.LiveRun}, cli.ExitFine, ""},
		{[]string{"diagnose", "--check", "step<120ms", clitest.LiveRun}, cli.ExitFine, ""},
		{[]string{"diagnose", "--check", "step<60ms", clitest.LiveRun}, cli.ExitStarved, "step 60 ms, and step < 60 ms is asked for"},
		{[]string{"diagnose", "--check=fed,step<120ms", clitest.LiveRun}, cli.ExitStarved, "main-thread-loader"},
		{[]string{"diagnose", "--json", "--check", "idle<20%", clitest.LiveRun}, cli.ExitStarved, "idle"},
		{[]string{"trace", "--check", "idle<20%", clitest.CaseFile("trace-launches/trace.json.gz")}, cli.ExitStarved, "idle"},
		{[]string{"trace", "--check", "idle<90%,stall<=0", clitest.CaseFile("trace-launches/trace.json.gz")}, cli.ExitFine, ""},
		{[]string{"verify", "--check", "idle<20%", clitest.LiveRun, clitest.LiveRun}, cli.ExitStarved, "idle"},
		{[]string{"verify", "--check", clitest.LiveRun, clitest.LiveRun}, cli.ExitFine, ""},
		{[]string{"verify", "--check=promise,stall<90%", clitest.LiveRun, clitest.LiveRun}, cli.ExitFine, ""},
		// An unknown figure fails every bound.
		{[]string{"diagnose", "--check", "stall<99%", clitest.CaseFile("labelled-cpu-model/run.jsonl.gz")}, cli.ExitStarved, "stall is unknown"},
		{[]string{"diagnose", "--check", "idle<99%", clitest.CaseFile("labelled-cpu-model/run.jsonl.gz")}, cli.ExitStarved, "idle is unknown"},
		{[]string{"diagnose", "--check", "step<99h", clitest.CaseFile("labelled-not-training/run.jsonl.gz")}, cli.ExitStarved, "step is unknown"},
	} {
		code, _, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, errs)
		}
	}
}

// An invalid expression is a usage error that names the position and what was expected. observe
// reports it before CMD runs.
func TestInvalidCheck(t *testing.T) {
	for text, want := range map[string]string{
		"stal<10%":      `character 1: expected stall, idle`,
		"stall<":        `character 7: nothing is given, expected a share`,
		"stall<ten":     `character 7: `,
		"stall<150":     `character 7: `,
		"stall<<10%":    `character 7: `,
		"stall>10%":     `character 6: expected < or <=`,
		"stall=10%":     `character 6: expected < or <=`,
		"idle<20%,":     `character 10: expected stall, idle`,
		"idle<20%, <3":  `character 11: expected stall, idle`,
		"step<120":      `character 6: `,
		"idle<-5%":      `character 6: `,
		"stall<1e999 %": `character 7: `,
	} {
		for _, args := range [][]string{
			{"diagnose", "--check=" + text, clitest.LiveRun},
			{"diagnose", "--check", text, clitest.LiveRun},
			{"trace", "--check", text, "absent.json"},
			{"verify", "--check", text, clitest.LiveRun, clitest.LiveRun},
		} {
			code, out, errs := call(t, args...)
			if code != cli.ExitUsage || !strings.Contains(errs, want) || out != "" {
				t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(args, " "), code, cli.ExitUsage, want, errs)
			}
		}
	}
	for text, want := range map[string]string{"faster<2x": "character 7: expected > or >=", "faster>=": "character 9: ", "step<=+5": "character 7: ", "faster>=1.2y": "character 9: "} {
		if code, _, errs := call(t, "verify", "--check", text, clitest.LiveRun, clitest.LiveRun); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("verify --check %s: code %d\n%s", text, code, errs)
		}
	}
	for text, want := range map[string]string{"step<=+5%": "character 7: ", "faster>=2x": "character 1: expected stall, idle or step"} { // verbs about one run
		if code, _, errs := call(t, "diagnose", "--check", text, clitest.LiveRun); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("diagnose --check %s: code %d\n%s", text, code, errs)
		}
	}
	if code, _, errs := call(t, "diagnose", "--check=", clitest.LiveRun); code != cli.ExitUsage || !strings.Contains(errs, "character 1: expected") {
		t.Errorf("an empty bound: code %d\n%s", code, errs)
	}
	if code, _, errs := call(t, "diagnose", "--check=promise", clitest.LiveRun); code != cli.ExitUsage || !strings.Contains(errs, "expected stall, idle or step") {
		t.Errorf("a promise where none is: code %d\n%s", code, errs)
	}
}

func TestObserveChecksItsBoundsBeforeCMD(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	code, _, errs := call(t, "observe", "-o", filepath.Join(dir, "run.jsonl.gz"), "--check", "stal<10%", "--", "touch", ran)
	if _, err := os.Stat(ran); code != cli.ExitUsage || err == nil {
		t.Errorf("code %d, want %d; CMD ran: %t\n%s", code, cli.ExitUsage, err == nil, errs)
	}
	for _, c := range []struct {
		check []string
		cmd   string
		code  int
	}{
		{[]string{"--check", "stall<10%"}, "true", cli.ExitStarved}, // its stall is unknown
		{[]string{"--check"}, "true", cli.ExitStarved},
		{[]string{"--check", "stall<10%"}, "exit 7", 7}, // CMD's exit code is kept
		{nil, "true", cli.ExitFine},
	} {
		args := append([]string{"observe", "-q", "--no-hook", "-o", filepath.Join(t.TempDir(), "run.jsonl.gz")}, c.check...)
		code, _, errs := call(t, append(args, "--", "sh", "-c", c.cmd)...)
		if code != c.code {
			t.Errorf("stoker observe %q -- %s: code %d, want %d\n%s", c.check, c.cmd, code, c.code, errs)
		}
	}
}
