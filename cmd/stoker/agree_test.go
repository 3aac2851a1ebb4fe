package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/advise/emit"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/trace"
)

// answers are the answers of every verb about one case, with uniform white space and no markup.
type answers struct {
	judged.Recording

	texts map[string]string // by verb: the text for people
	emits map[string]string // by dialect
	json  struct {
		Verdict  struct{ Class string }
		Settings stoker.Settings
		Plan     []struct {
			Fix, Title, Binds string
			Changes           []stoker.Change
			Speedup           stoker.Interval
		}
		Rejected []advise.Rejected
		Findings []struct {
			Name, Advice, Denied string
			Changes              []stoker.Change
		}
	}
}

// explained are terms that a page explains at their first use.
var explained = strings.NewReplacer(" (many launches recorded as one)", "", " (the thread of the program that gives the GPU its work)", "",
	" (the GPU reaches such memory by itself)", "")

// blanks matches the white space at which a page breaks its lines.
var blanks = regexp.MustCompile(`\s+`)

func even(text string) string {
	return explained.Replace(blanks.ReplaceAllString(html.UnescapeString(text), " "))
}

// askVerbs runs every verb on a case.
func askVerbs(t *testing.T, folder string) answers {
	t.Helper()
	a := answers{texts: map[string]string{}, emits: map[string]string{}}
	files := globbed(folder, "run.jsonl*")
	verbs := map[string][]string{"diagnose": {"diagnose", "--all"}, "advise": {"advise"}, "json": {"diagnose", "--json"}}
	if len(files) == 0 {
		files = append(globbed(folder, "*.json.gz"), globbed(folder, "*.sqlite")...)
		verbs = map[string][]string{"trace": {"trace", "--all"}, "json": {"trace", "--json"}}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if len(files) <= 2 { // a page takes two files at most
		verbs["page"] = []string{"report", "-o", page}
	}
	for verb, args := range verbs {
		code, out, errs := call(t, append(args, files...)...)
		if code != cli.ExitFine {
			t.Fatalf("%s %s: code %d: %s", verb, folder, code, errs)
		}
		if verb == "page" {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			out, _, _ = strings.Cut(string(text), `<script type="application/json"`)
			out = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(out, "")
		}
		a.texts[verb] = even(out)
		if verb == "json" {
			if err := json.Unmarshal([]byte(out), &a.json); err != nil {
				t.Fatal(err)
			}
			delete(a.texts, verb)
		}
	}
	run, err := recording.Open(files[0])
	if verbs["trace"] != nil {
		run, err = trace.Read(t.Context(), files, trace.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Recording = judged.Judge(files[0], run)
	for dialect := range emit.Dialects {
		if verbs["trace"] == nil {
			_, out, errs := call(t, "advise", "--emit", dialect, files[0])
			a.emits[dialect] = out + errs
			continue
		}
		var b bytes.Buffer
		for _, fix := range a.Plan.Fixes {
			if err := emit.Dialects[dialect](&b, fix); err != nil {
				t.Fatal(err)
			}
		}
		a.emits[dialect] = b.String()
	}
	return a
}

func globbed(folder, pattern string) []string {
	files, _ := filepath.Glob(filepath.Join(folder, pattern)) // the pattern is valid
	return files
}

// Every verb gives the same answers on a case: the first advice, the gain of each change and the
// limit after it, the present value of a setting, and the changes that are not worth it.
func TestFacesAgree(t *testing.T) {
	folders, err := filepath.Glob("../../testdata/cases/*")
	if err != nil || len(folders) < 50 {
		t.Fatalf("%d cases: %v", len(folders), err)
	}
	for _, folder := range folders {
		if len(globbed(folder, "expect.json")) == 0 {
			continue
		}
		t.Run(filepath.Base(folder), func(t *testing.T) {
			a := askVerbs(t, folder)
			a.leadsAlike(t)
			a.plansAlike(t)
			a.settingsAlike(t)
			a.findingsAlike(t)
			a.limitsWereSeen(t)
			a.coresAlike(t)
		})
	}
}

// leadsAlike checks that every output begins with the same advice.
func (a answers) leadsAlike(t *testing.T) {
	lead := report.LeadOf(a.Run, a.Verdict, a.Plan, "")
	next := even(lead.Next)
	for verb, text := range a.texts {
		if !strings.Contains(text, next) || !strings.Contains(text, string(a.Verdict.Headline())) {
			t.Errorf("%s does not say %s, next %q", verb, a.Verdict.Headline(), next)
		}
	}
	if a.json.Verdict.Class != string(a.Verdict.Headline()) {
		t.Errorf("JSON says %s, the others %s", a.json.Verdict.Class, a.Verdict.Headline())
	}
	for dialect, text := range a.emits {
		switch first, _, _ := strings.Cut(text, "\n"); {
		case len(a.Plan.Fixes) > 0 && report.LeadsWithFix(a.Verdict, a.Plan):
			if !strings.HasPrefix(first, "# "+a.Plan.Fixes[0].Name+": ") {
				t.Errorf("%s begins with %q, the others with %q", dialect, first, next)
			}
		case a.Run.Timeline == nil && !strings.Contains(even(text), next):
			t.Errorf("%s does not say what the others do first: %q\n%s", dialect, next, text)
		}
	}
}

// plansAlike checks that every output has the same fixes, gains and limits in the same order.
func (a answers) plansAlike(t *testing.T) {
	if len(a.json.Plan) != len(a.Plan.Fixes) {
		t.Fatalf("JSON has %d fixes, the plan %d", len(a.json.Plan), len(a.Plan.Fixes))
	}
	for i, fix := range a.Plan.Fixes {
		j := a.json.Plan[i]
		if j.Fix != fix.Name || j.Binds != string(fix.Forecast.Bound) || fmt.Sprint(j.Changes) != fmt.Sprint(fix.Changes) {
			t.Errorf("fix %d of JSON is %+v, of the plan %s %v, %s", i, j, fix.Name, fix.Changes, fix.Forecast.Bound)
		}
		for verb, text := range a.texts {
			for _, want := range []string{report.SayChanges(fix), report.DescribeGain(fix)} {
				if !strings.Contains(text, even(want)) {
					t.Errorf("%s lacks %q", verb, want)
				}
			}
		}
		for dialect, text := range a.emits {
			if !strings.Contains(text, fix.Worth()) {
				t.Errorf("%s lacks %q", dialect, fix.Worth())
			}
		}
	}
}

// settingsAlike checks that a change starts from the recorded value of a setting, and that no
// change proposes the present value.
func (a answers) settingsAlike(t *testing.T) {
	check := func(who string, changes []stoker.Change) {
		for _, c := range changes {
			now, known := a.json.Settings[c.Setting]
			if known && fmt.Sprint(c.From) != fmt.Sprint(now) {
				t.Errorf("%s: %s, which is %v", who, c, now)
			}
			if c.From != nil && fmt.Sprint(c.From) == fmt.Sprint(c.To) {
				t.Errorf("%s: %s", who, c)
			}
		}
	}
	for _, fix := range a.Plan.Fixes {
		if !fix.Beside { // the settings of another loader
			check(fix.Name, fix.Changes)
		}
	}
	for _, f := range a.json.Findings {
		check(f.Name, f.Changes)
	}
	for dialect, text := range a.emits {
		for line := range strings.Lines(text) {
			for name := range a.json.Settings {
				if strings.HasPrefix(strings.TrimSpace(line), string(name)+"=") && strings.Contains(line, "unknown") {
					t.Errorf("%s: %s", dialect, line)
				}
			}
		}
	}
}

// findingsAlike checks that no finding advises a change that the plan rejects.
func (a answers) findingsAlike(t *testing.T) {
	for _, f := range a.Verdict.Findings {
		set, denied := report.AdviceOn(f, a.Plan)
		if set != "" && denied != "" {
			t.Errorf("%s: set %s, not %s", f.Name, set, denied)
		}
		for _, r := range a.Plan.Rejected {
			if words := spelling[r.Name]; words != "" && strings.Contains(set, words) {
				t.Errorf("%s: set %q, but the plan says not %s: %s", f.Name, set, r.Name, r.Why)
			}
		}
	}
}

// spelling has the settings as the advice of findings writes them.
var spelling = map[string]string{
	"pin_memory": "pin_memory=True", "compile": "torch.compile(", "precision": "torch.autocast", "batch_size": "larger batch_size",
	"num_workers": "num_workers=", "sync_every": "no .item()", "accumulation": "accumulation",
}

// limitsWereSeen checks that storage is named as a limit only if a wait for it was observed, and
// that the device is named if it computes for nearly the whole step.
func (a answers) limitsWereSeen(t *testing.T) {
	for _, fix := range a.Plan.Fixes {
		s, bound := a.Verdict.Costs.Split, fix.Forecast.Bound
		if bound == stoker.Storage && (s == nil || s.Storage+s.Network < s.Asleep) {
			t.Errorf("%s: then storage is the limit, and fetches go into %+v", fix.Name, s)
		}
		busy := a.Verdict.Costs.Busy * a.Verdict.Costs.Step / fix.Forecast.Step.Point
		if a.Run.Timeline == nil && (bound == stoker.GPU && busy < 0.9 || bound == stoker.Loop && busy >= 0.9) {
			t.Errorf("%s: then %s, and kernels take %.0f %% of a step", fix.Name, report.DescribeLimit(bound), 100*busy)
		}
	}
}

// coresAlike checks that no output gives a job cores that it may already use, and that all use the plan's words.
func (a answers) coresAlike(t *testing.T) {
	allowed := a.Run.Facts.Machine.Cores()
	for _, fix := range a.Plan.Fixes {
		at := slices.IndexFunc(fix.Changes, func(c stoker.Change) bool { return c.Setting == stoker.Cores })
		if at < 0 {
			continue
		}
		words, _ := fix.InWords(fix.Changes[at])
		for dialect, text := range a.emits {
			if !strings.Contains(text, "# "+words) {
				t.Errorf("%s does not say %q:\n%s", dialect, words, text)
			}
		}
		if to, _ := fix.Changes[at].To.(float64); to <= allowed && !strings.HasPrefix(fix.Title, "stop the other programs") {
			t.Errorf("%s: %s, and the job may use %.0f", fix.Title, fix.Changes[at], allowed)
		}
		if a.Verdict.Class == diagnose.Neighbour && !strings.HasPrefix(fix.Title, "stop the other programs") {
			t.Errorf("%s: %s", a.Verdict.Class, fix.Title)
		}
	}
}
