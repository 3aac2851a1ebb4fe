package diagnose_test

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// ended is a run that made some steps of a healthy one and then ended.
func ended(t *testing.T, steps int, exit recording.ExitStatus) (*recording.Run, diagnose.Verdict) {
	t.Helper()
	run := labelled(t, "labelled-healthy")
	exit.At = run.End()
	run.Facts.Exit = &exit
	if steps < len(run.Steps) {
		run.Steps, run.Series, run.Facts.Model = run.Steps[:steps], nil, nil
	}
	if steps == 0 {
		run.Facts.Loaders = nil
	}
	return run, judge.Judge(run)
}

// A program that failed before it trained is not "another kind of program": how it ended is
// what is said first, and what to do about that.
func TestAProgramThatFailed(t *testing.T) {
	raised := &recording.Exception{Type: "ModuleNotFoundError", About: "timm", File: "/home/me/train.py", Line: 3}
	for want, exit := range map[string]recording.ExitStatus{
		"exit code 1 after ":                           {Code: 1},
		": ModuleNotFoundError (timm) at train.py:3":   {Code: 1, Raised: raised},
		"the command ended with SIGSEGV (exit code 13": {Code: 139, Signal: "SIGSEGV"},
		"SIGKILL (exit code 137) after ":               {Code: 137}, // of a shell
	} {
		for _, steps := range []int{0, 2} { // none, and too few to judge
			run, v := ended(t, steps, exit)
			if len(v.Evidence) == 0 || !strings.Contains(v.Evidence[0].Text, want) {
				t.Errorf("%d steps: the first evidence of %s lacks %q: %+v", steps, v.Class, want, v.Evidence)
			}
			lead := report.LeadOf(run, v, advise.Rank(run, v), "")
			if !strings.Contains(lead.Why, want) || !strings.Contains(lead.Next, "last lines on stderr") || lead.Try != "" {
				t.Errorf("%d steps: %+v", steps, lead)
			}
			title, text, _ := rules.Describe(v)
			if said := title + text + report.Summarize(v); strings.Contains(said, "downloading") || steps == 0 && !strings.Contains(said, "ended with an error") {
				t.Errorf("%d steps: %s", steps, said)
			}
		}
	}
}

// A run that trained keeps its class, and its error stands beside it.
func TestATrainingThatFailed(t *testing.T) {
	_, whole := ended(t, 1e9, recording.ExitStatus{})
	for kind, want := range map[string]string{
		"KeyError": ": KeyError", "torch.OutOfMemoryError": "accumulate gradients", "MemoryError": "pin_memory=False",
		"torch.AcceleratorError: pinned memory": "page-locked memory ran out", "RuntimeError: shared memory": "--shm-size",
		"RuntimeError: worker killed": "dmesg", "ModuleNotFoundError: shared memory": "shared memory)",
	} {
		kind, about, _ := strings.Cut(kind, ": ")
		exit := recording.ExitStatus{Code: 1, Raised: &recording.Exception{Type: kind, About: about}}
		_, v := ended(t, 1e9, exit)
		if v.Class != whole.Class || len(v.Findings) != len(whole.Findings)+1 || v.Findings[0].Name != diagnose.FindingFailed ||
			!strings.Contains(v.Findings[0].Text, want) {
			t.Errorf("%s: %s (%s): %+v", kind, v.Class, whole.Class, v.Findings)
		}
		run, v := ended(t, 0, exit)
		memory := kind != "KeyError" && kind != "ModuleNotFoundError"
		if lead := report.LeadOf(run, v, advise.Rank(run, v), ""); memory && !strings.Contains(lead.Next, want) {
			t.Errorf("%s before the first step: %+v", kind, lead)
		}
	}
}

// Who stops a program knows that it ended.
func TestAProgramThatWasStopped(t *testing.T) {
	for _, exit := range []recording.ExitStatus{{Code: 130, Signal: "SIGINT"}, {Code: 143, Signal: "SIGTERM"}, {Code: 130}} {
		_, v := ended(t, 0, exit)
		if title, _, _ := rules.Describe(v); v.Class != diagnose.NotTraining || v.Ending.Failed() || strings.Contains(title, "error") {
			t.Errorf("%+v: %s, %s", exit, v.Class, title)
		}
		if !strings.Contains(v.Evidence[0].Text, exit.Signal) {
			t.Errorf("%+v: %+v", exit, v.Evidence)
		}
		if _, v = ended(t, 1e9, exit); len(v.Findings) > 0 && v.Findings[0].Name == diagnose.FindingFailed {
			t.Errorf("%+v: %+v", exit, v.Findings)
		}
	}
	if diagnose.EndingOf(&recording.Run{}) != nil {
		t.Error("an end that was not seen")
	}
}
