package diagnose_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace"
)

// expect is what a case folder's expect.json may demand; absent fields demand
// nothing.
type expect struct {
	Class           diagnose.Class  `json:"class"`
	NotClass        diagnose.Class  `json:"not_class"`
	Headline        diagnose.Class  `json:"headline"` // of the run, where its steps do not cost most
	Stall           []float64       `json:"stall"`    // low, high
	StallSource     diagnose.Source `json:"stall_source"`
	Idle            []float64       `json:"idle"`
	Rank            int             `json:"rank"`
	Fix             string          `json:"fix"`
	NoFix           bool            `json:"no_fix"`
	SpeedupContains float64         `json:"speedup_contains"`
	Changes         []stoker.Change `json:"changes"`
	Findings        []string        `json:"findings"`
	SpeedupHas      float64         `json:"speedup_has"` // as speedup_contains, however wide the interval is
	Says            string          `json:"says"`        // part of an evidence

	// Of traces.
	Leading string `json:"leading"` // the cause with most idle time
	First   string `json:"first"`   // the finding that comes first
	Source  string `json:"source"`  // part of the user's line that a finding names
	Warning string `json:"warning"` // part of a warning

	Do       string            `json:"do"`        // part of what to do about the class
	Doubt    string            `json:"doubt"`     // part of what a page says before its figures
	Most     float64           `json:"most"`      // no fix promises more
	NotFixes []string          `json:"not_fixes"` // fixes that are not advised
	Rejected map[string]string `json:"rejected"`  // of a fix that is not advised, part of why
	Steps    int               `json:"steps"`     // that are judged
}

// TestCases judges every recording under testdata/cases: Runs from live jobs,
// from traces and of several ranks go the same way.
func TestCases(t *testing.T) {
	folders, err := filepath.Glob("../testdata/cases/*/expect.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases under testdata/cases: %v", err)
	}
	for _, file := range folders {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) { checkCase(t, dir) })
	}
}

func checkCase(t *testing.T, dir string) {
	var want expect
	data, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	run, err := openCase(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(run)
	plan := advise.Rank(run, v)
	if want.Class != "" && v.Class != want.Class {
		t.Errorf("class %s, want %s; scores %v", v.Class, want.Class, v.Scores)
	}
	if want.Headline != "" && v.Headline() != want.Headline {
		t.Errorf("headline %s, want %s: %s", v.Headline(), want.Headline, namesOf(v.Ledger))
	}
	if want.NotClass != "" && v.Class == want.NotClass {
		t.Errorf("class %s must not be", v.Class)
	}
	within(t, "stall", v.Stall, want.Stall)
	within(t, "idle", v.Idle, want.Idle)
	if want.StallSource != "" && v.StallSource != want.StallSource {
		t.Errorf("stall source %q, want %q", v.StallSource, want.StallSource)
	}
	if v.Rank != want.Rank {
		t.Errorf("rank %d, want %d", v.Rank, want.Rank)
	}
	checkPlan(t, plan, want)
	for _, name := range want.Findings {
		if !slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == name }) {
			t.Errorf("finding %q is missing from %v", name, v.Findings)
		}
	}
	if want.Says != "" && !slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return strings.Contains(e.Text, want.Says) }) {
		t.Errorf("no evidence says %q: %v", want.Says, v.Evidence)
	}
	checkTrace(t, v, want)
	checkGates(t, plan, want)
	checkSum(t, v.Ledger)
	if s := v.Costs.Split; s != nil && math.Abs(s.Core+s.Queued+s.Storage+s.Network+s.Asleep-1) > 1e-9 {
		t.Errorf("the time of a fetch does not add up to 1: %+v", *s)
	}
}

// checkSum holds that each second of a run stands in one row, busy or idle.
func checkSum(t *testing.T, l diagnose.Ledger) {
	t.Helper()
	sum := 0.0
	for _, r := range l.Rows {
		sum += r.Seconds
		if math.Abs(r.Busy+r.Idle-r.Seconds) > 0.01*l.Wall {
			t.Errorf("row %s takes %.2f s, and is busy for %.2f s and idle for %.2f s", r.Name, r.Seconds, r.Busy, r.Idle)
		}
	}
	if math.Abs(sum-l.Wall) > 0.01*l.Wall {
		t.Errorf("rows add up to %.2f s of %.2f s", sum, l.Wall)
	}
}

func checkTrace(t *testing.T, v diagnose.Verdict, want expect) {
	t.Helper()
	if want.Leading != "" && (len(v.Causes) == 0 || v.Causes[0].Cause != want.Leading) {
		t.Errorf("leading cause is not %s: %v", want.Leading, v.Causes)
	}
	if want.First != "" && (len(v.Findings) == 0 || v.Findings[0].Name != want.First) {
		t.Errorf("first finding is not %s: %v", want.First, v.Findings)
	}
	if do := v.Do(); !strings.Contains(do, want.Do) {
		t.Errorf("what to do does not say %q: %q", want.Do, do)
	}
	named := func(f diagnose.Finding) bool { return strings.Contains(f.Source, want.Source) }
	if want.Source != "" && !slices.ContainsFunc(v.Findings, named) {
		t.Errorf("no finding names %s: %v", want.Source, v.Findings)
	}
	warned := func(text string) bool { return strings.Contains(text, want.Warning) }
	if want.Warning != "" && !slices.ContainsFunc(v.Warnings, warned) {
		t.Errorf("no warning says %q: %q", want.Warning, v.Warnings)
	}
	doubted := func(text string) bool { return strings.Contains(text, want.Doubt) }
	if want.Doubt != "" && !slices.ContainsFunc(v.Doubts, doubted) {
		t.Errorf("no doubt says %q: %q", want.Doubt, v.Doubts)
	}
	if n := len(v.Costs.Window.Steps); want.Steps > 0 && n != want.Steps {
		t.Errorf("%d steps are judged, want %d", n, want.Steps)
	}
	if len(v.Causes) == 0 {
		return
	}
	sum := 0.0
	for _, c := range v.Causes {
		sum += c.Share
	}
	if math.Abs(sum-v.Idle) > 1e-3*v.Idle {
		t.Errorf("causes add up to %.5f of the window, idle time is %.5f", sum, v.Idle)
	}
}

func checkGates(t *testing.T, plan advise.Plan, want expect) {
	t.Helper()
	for _, fix := range plan.Fixes {
		if slices.Contains(want.NotFixes, fix.Name) {
			t.Errorf("%s is advised", fix.Name)
		}
		if most := fix.Forecast.Speedup.High; want.Most > 0 && most > want.Most {
			t.Errorf("%s is worth up to %.2f, want at most %.2f", fix.Name, most, want.Most)
		}
	}
	for name, why := range want.Rejected {
		if !slices.ContainsFunc(plan.Rejected, func(r advise.Rejected) bool { return r.Name == name && strings.Contains(r.Why, why) }) {
			t.Errorf("%s is not rejected because of %q: %v", name, why, plan.Rejected)
		}
	}
}

func openCase(dir string) (*recording.Run, error) {
	for _, name := range []string{"run.jsonl", "run.jsonl.gz"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return recording.Open(filepath.Join(dir, name))
		}
	}
	traces, err := filepath.Glob(filepath.Join(dir, "*.[js][sq][ol]*")) // .json.gz, .sqlite
	traces = slices.DeleteFunc(traces, func(file string) bool { return strings.HasSuffix(file, "expect.json") })
	if err != nil || len(traces) == 0 {
		return nil, os.ErrNotExist
	}
	return trace.Read(context.Background(), traces, trace.Options{})
}

func checkPlan(t *testing.T, plan advise.Plan, want expect) {
	t.Helper()
	if want.NoFix && len(plan.Fixes) > 0 {
		t.Errorf("fix %s advised, want none", plan.Fixes[0].Name)
	}
	if want.Fix == "" {
		return
	}
	if len(plan.Fixes) == 0 {
		t.Fatalf("no fix advised, want %s; rejected: %v", want.Fix, plan.Rejected)
	}
	first := plan.Fixes[0]
	if first.Name != want.Fix {
		t.Errorf("first fix %s, want %s", first.Name, want.Fix)
	}
	if s := first.Forecast.Speedup; want.SpeedupContains > 0 && (!s.Contains(want.SpeedupContains) || s.High/s.Low > 1.6) {
		t.Errorf("speed-up %+v of %v does not contain %.2f or is wider than 1.6", s, first.Changes, want.SpeedupContains)
	}
	if s := first.Forecast.Speedup; want.SpeedupHas > 0 && !s.Contains(want.SpeedupHas) {
		t.Errorf("speed-up %+v of %v does not contain %.2f", s, first.Changes, want.SpeedupHas)
	}
	for _, c := range want.Changes {
		if !slices.ContainsFunc(first.Changes, func(have stoker.Change) bool { return have.String() == c.String() }) {
			t.Errorf("change %v is missing from %v", c, first.Changes)
		}
	}
}

func within(t *testing.T, what string, got float64, bounds []float64) {
	t.Helper()
	if len(bounds) == 2 && !(got >= bounds[0] && got <= bounds[1]) {
		t.Errorf("%s %.3f, want %.3f to %.3f", what, got, bounds[0], bounds[1])
	}
}
