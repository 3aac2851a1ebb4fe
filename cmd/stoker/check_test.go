package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/verify"
)

func caseFile(name string) string { return filepath.Join("../../testdata/cases", name) }

// --check alone fails a run whose device is not kept at work, whatever the class is
// called, and one of which nothing is known.
func TestCheckAlone(t *testing.T) {
	for _, c := range []struct {
		verb, file string
		code       int
		want       string // in stderr
	}{
		{"diagnose", "labelled-healthy/run.jsonl.gz", exitFine, ""},
		{"diagnose", "labelled-gpu-bound-spinning/run.jsonl.gz", exitFine, ""},
		{"diagnose", "feed-own-keeps-up/run.jsonl.gz", exitFine, ""}, // the loader's own side: it keeps up
		{"diagnose", "labelled-main-thread-cpu/run.jsonl.gz", exitStarved, "cpu-bound/main-thread-loader"},
		{"diagnose", "labelled-cpu-model/run.jsonl.gz", exitStarved, "compute-on-cpu"},
		{"diagnose", "labelled-pageable-copies/run.jsonl.gz", exitStarved, "transfer-bound"},
		{"diagnose", "labelled-not-training/run.jsonl.gz", exitStarved, "neither stall nor idle is known"},
		{"trace", "trace-chains/trace.json.gz", exitFine, ""},
		{"trace", "trace-launches/trace.json.gz", exitStarved, "idle 81.5 %"},
		{"trace", "trace-gc/trace.json.gz", exitStarved, "idle 55.8 %"},
		{"trace", "trace-warm-up/trace.json.gz", exitStarved, "idle 99.3 %"},
		{"trace", "trace-loader/trace.json.gz", exitStarved, "stall 63.6 %"},
	} {
		code, _, errs := call(t, c.verb, "--check", caseFile(c.file))
		if code != c.code || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
			t.Errorf("stoker %s --check %s: code %d, want %d; stderr lacks %q:\n%s", c.verb, c.file, code, c.code, c.want, errs)
		}
	}
}

// A bound is written as in the issue, with = or without, several times or with
// commas, wherever flags may stand.
func TestCheckBounds(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"diagnose", "--check", "stall<90%", liveRun}, exitFine, ""},
		{[]string{"diagnose", "--check=stall<90%", liveRun}, exitFine, ""},
		{[]string{"diagnose", liveRun, "--check", "stall < 0.9"}, exitFine, ""},
		{[]string{"diagnose", "--check", "stall<10%", liveRun}, exitStarved, "stall 83.3 %, and stall < 10 % is asked for"},
		{[]string{"diagnose", "--check", "stall<90%,idle<20%", liveRun}, exitStarved, "idle 83.3 %"},
		{[]string{"diagnose", "--check", "stall<90%", "--check", "idle<=90%", liveRun}, exitFine, ""},
		{[]string{"diagnose", "--check", "step<120ms", liveRun}, exitFine, ""},
		{[]string{"diagnose", "--check", "step<60ms", liveRun}, exitStarved, "step 60 ms, and step < 60 ms is asked for"},
		{[]string{"diagnose", "--check=fed,step<120ms", liveRun}, exitStarved, "main-thread-loader"},
		{[]string{"diagnose", "--json", "--check", "idle<20%", liveRun}, exitStarved, "idle"},
		{[]string{"trace", "--check", "idle<20%", caseFile("trace-launches/trace.json.gz")}, exitStarved, "idle"},
		{[]string{"trace", "--check", "idle<90%,stall<=0", caseFile("trace-launches/trace.json.gz")}, exitFine, ""},
		{[]string{"verify", "--check", "idle<20%", liveRun, liveRun}, exitStarved, "idle"},
		{[]string{"verify", "--check", liveRun, liveRun}, exitFine, ""},
		{[]string{"verify", "--check=promise,stall<90%", liveRun, liveRun}, exitFine, ""},
		// What is not known passes no bound.
		{[]string{"diagnose", "--check", "stall<99%", caseFile("labelled-cpu-model/run.jsonl.gz")}, exitStarved, "stall is unknown"},
		{[]string{"diagnose", "--check", "idle<99%", caseFile("labelled-cpu-model/run.jsonl.gz")}, exitStarved, "idle is unknown"},
		{[]string{"diagnose", "--check", "step<99h", caseFile("labelled-not-training/run.jsonl.gz")}, exitStarved, "step is unknown"},
	} {
		code, _, errs := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
			t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, errs)
		}
	}
}

// An expression that cannot be read is an error of usage that says where and what
// was expected, and observe says so before CMD runs.
func TestCheckThatCannotBeRead(t *testing.T) {
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
			{"diagnose", "--check=" + text, liveRun},
			{"diagnose", "--check", text, liveRun},
			{"trace", "--check", text, "absent.json"},
			{"verify", "--check", text, liveRun, liveRun},
		} {
			code, out, errs := call(t, args...)
			if code != exitUsage || !strings.Contains(errs, want) || out != "" {
				t.Errorf("stoker %s: code %d, want %d; stderr lacks %q:\n%s", strings.Join(args, " "), code, exitUsage, want, errs)
			}
		}
	}
	for text, want := range map[string]string{"faster<2x": "character 7: expected > or >=", "faster>=": "character 9: ", "step<=+5": "character 7: ", "faster>=1.2y": "character 9: "} {
		if code, _, errs := call(t, "verify", "--check", text, liveRun, liveRun); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("verify --check %s: code %d\n%s", text, code, errs)
		}
	}
	for text, want := range map[string]string{"step<=+5%": "character 7: ", "faster>=2x": "character 1: expected stall, idle or step"} { // of one run
		if code, _, errs := call(t, "diagnose", "--check", text, liveRun); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("diagnose --check %s: code %d\n%s", text, code, errs)
		}
	}
	if code, _, errs := call(t, "diagnose", "--check=", liveRun); code != exitUsage || !strings.Contains(errs, "character 1: expected") {
		t.Errorf("an empty bound: code %d\n%s", code, errs)
	}
	if code, _, errs := call(t, "diagnose", "--check=promise", liveRun); code != exitUsage || !strings.Contains(errs, "expected stall, idle or step") {
		t.Errorf("a promise where none is: code %d\n%s", code, errs)
	}
}

func TestObserveChecksItsBoundsBeforeCMD(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	code, _, errs := call(t, "observe", "-o", filepath.Join(dir, "run.jsonl.gz"), "--check", "stal<10%", "--", "touch", ran)
	if _, err := os.Stat(ran); code != exitUsage || err == nil {
		t.Errorf("code %d, want %d; CMD ran: %t\n%s", code, exitUsage, err == nil, errs)
	}
	for _, c := range []struct {
		check []string
		cmd   string
		code  int
	}{
		{[]string{"--check", "stall<10%"}, "true", exitStarved}, // nothing is known of it
		{[]string{"--check"}, "true", exitStarved},
		{[]string{"--check", "stall<10%"}, "exit 7", 7}, // CMD's own code is its own
		{nil, "true", exitFine},
	} {
		args := append([]string{"observe", "-q", "--no-hook", "-o", filepath.Join(t.TempDir(), "run.jsonl.gz")}, c.check...)
		code, _, errs := call(t, append(args, "--", "sh", "-c", c.cmd)...)
		if code != c.code {
			t.Errorf("stoker observe %q -- %s: code %d, want %d\n%s", c.check, c.cmd, code, c.code, errs)
		}
	}
}

// A stall that is only bounded is held against the bound as what it is.
func TestCheckOfWhatIsPartlyKnown(t *testing.T) {
	known := func(stall, idle float64, source diagnose.Source) diagnose.Verdict {
		return diagnose.Verdict{Class: diagnose.Unknown, Stall: stall, Idle: idle, StallSource: source}
	}
	nan := math.NaN()
	for _, c := range []struct {
		check string
		v     diagnose.Verdict
		want  string // "" passes
	}{
		{"fed", known(0.05, 0.10, diagnose.DeviceEvents), ""},
		{"fed", known(0.05, 0.11, diagnose.DeviceEvents), "idle 11 %"},
		{"fed", known(nan, 0.78, diagnose.NoSource), "idle 78 %"},
		{"fed", known(0.05, nan, diagnose.HostWait), ""},
		{"fed", known(0.11, nan, diagnose.DeviceEvents), "stall 11 %"},
		{"fed", known(nan, nan, diagnose.NoSource), "neither"},
		{"stall<10%", known(nan, 0.05, diagnose.NoSource), ""}, // it is no more than idle
		{"stall<10%", known(nan, 0.78, diagnose.NoSource), "stall at most 78 %"},
		{"stall<10%", known(0.78, 0.78, diagnose.Utilisation), "stall at most 78 %"},
		{"stall<10%", known(0.1, 0.2, diagnose.DeviceEvents), "stall 10 %"},
		{"stall<=10%", known(0.1, 0.2, diagnose.DeviceEvents), ""},
	} {
		var check checkFlag
		if err := check.Set(c.check); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(check.failed(c.v), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("--check %s, stall %v, idle %v: %q, want %q", c.check, c.v.Stall, c.v.Idle, got, c.want)
		}
	}
}

// Only a value of --check is joined to it, and only what is ours to read.
func TestJoinChecks(t *testing.T) {
	for in, want := range map[string]string{
		"diagnose --check stall<10% RUN":                "diagnose --check=stall<10% RUN",
		"diagnose --check RUN":                          "diagnose --check RUN",
		"diagnose RUN --check":                          "diagnose RUN --check",
		"diagnose --check stall=10% RUN":                "diagnose --check=stall=10% RUN",
		"diagnose --check a=b.jsonl.gz":                 "diagnose --check a=b.jsonl.gz",
		"diagnose --check=fed --check idle<=0.2":        "diagnose --check=fed --check=idle<=0.2",
		"observe --check -- train --check a<b":          "observe --check -- train --check a<b",
		"observe --check step<1s -- train --check x<1s": "observe --check=step<1s -- train --check x<1s",
	} {
		if got := strings.Join(joinChecks(strings.Fields(in)), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A promise that was missed fails, one that is not decided passes and says so.
func TestCheckPromise(t *testing.T) {
	for kept, c := range map[verify.PromiseState]struct {
		code int
		want string
	}{
		verify.PromiseKept:      {exitFine, ""},
		verify.PromiseReached:   {exitFine, ""},
		verify.PromiseExceeded:  {exitFine, ""},
		verify.NotPromised:      {exitFine, ""},
		verify.PromiseUndecided: {exitFine, "longer runs would tell"},
		verify.PromiseMissed:    {exitMissed, "the prediction was missed"},
	} {
		var said bytes.Buffer
		a := &app{stderr: &said}
		err := a.kept(&checkFlag{promise: true}, verify.Outcome{Promise: verify.Promise{Kept: kept}})
		var code exitCode
		if errors.As(err, &code); int(code) != c.code || !strings.Contains(said.String(), c.want) || c.want == "" && said.Len() > 0 {
			t.Errorf("%s: %v, said %q", kept, err, said.String())
		}
	}
}
