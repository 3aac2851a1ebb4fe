package rules_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/live"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/diagnose/traced"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// Every rule is held by a case: without it, a recording of testdata/cases gets another class.
func TestEachRuleIsHeldByACase(t *testing.T) {
	cases := openCases(t)
	for _, class := range rules.Classes() {
		var red []string
		for name, c := range cases {
			if rules.AskWithout(c.filled, class).Class != c.want {
				red = append(red, name)
			}
		}
		if t.Logf("without %s: %d of %d cases fail", class, len(red), len(cases)); len(red) == 0 {
			t.Errorf("no case of testdata/cases fails without the rule of %s: add one", class)
		}
	}
	for name, c := range cases {
		if got := rules.AskAll(c.filled).Class; got != c.want {
			t.Errorf("%s: %s, want %s with all rules back", name, got, c.want)
		}
	}
}

// filledCase is a recording as the rules see it, and the class that it has to get.
type filledCase struct {
	filled *diagnose.Case
	want   diagnose.Class
}

func openCases(t *testing.T) map[string]filledCase {
	t.Helper()
	files, err := filepath.Glob("../../testdata/cases/*/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]filledCase{}
	for _, file := range files {
		var want struct{ Class diagnose.Class }
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want.Class != "" {
			cases[filepath.Base(filepath.Dir(file))] = filledCase{fill(t, filepath.Dir(file)), want.Class}
		}
	}
	if len(cases) < 60 {
		t.Fatalf("%d cases: the test looks in the wrong place", len(cases))
	}
	return cases
}

// fill makes a Case of a folder's recording or traces, as package judge does.
func fill(t *testing.T, folder string) *diagnose.Case {
	t.Helper()
	var run *recording.Run
	names, err := filepath.Glob(filepath.Join(folder, "*.[js][sq]*"))
	if err != nil {
		t.Fatal(err)
	}
	var traces []string
	for _, name := range names {
		switch {
		case strings.HasPrefix(filepath.Base(name), "run.jsonl"):
			run, err = recording.Open(name)
		case strings.HasSuffix(name, ".json.gz"), strings.HasSuffix(name, ".sqlite"):
			traces = append(traces, name)
		}
	}
	if run == nil && err == nil {
		run, err = trace.Read(context.Background(), traces, trace.Options{})
	}
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	c := diagnose.NewCase()
	live.FillCase(c, run)
	if run.Timeline != nil {
		traced.FillCase(c, run, nil)
	}
	return c
}
