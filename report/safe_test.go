package report_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/verify"
)

// shown is everything that some face of this package shows.
type shown struct {
	Run      *recording.Run
	Verdict  diagnose.Verdict
	Plan     advise.Plan
	Outcome  verify.Outcome
	Traces   verify.TraceOutcome
	Trace    report.TraceReport
	Table    *operators.Table
	Rows     [][]string
	Capture  recording.Capture
	Lessons  []predict.Lesson
	Foreseen []report.Prediction
	Checks   []report.Check
	Runs     report.Runs
	Problems []report.Problem
}

// everyFace calls the functions of this package that write, by name.
var everyFace = map[string]func(io.Writer, shown, report.Style) error{
	"Text": func(w io.Writer, s shown, style report.Style) error {
		return report.Text(w, s.Run, s.Verdict, s.Plan, style)
	},
	"Plan": func(w io.Writer, s shown, style report.Style) error {
		return report.Plan(w, s.Run, s.Verdict, s.Plan, style)
	},
	"Explain":    func(w io.Writer, s shown, style report.Style) error { return report.Explain(w, s.Verdict, style) },
	"Doctor":     func(w io.Writer, s shown, style report.Style) error { return report.Doctor(w, s.Checks, style) },
	"DoctorJSON": func(w io.Writer, s shown, _ report.Style) error { return report.DoctorJSON(w, "", s.Checks) },
	"SARIF":      func(w io.Writer, s shown, _ report.Style) error { return report.SARIF(w, s.Problems, "1") },
	"GitHub":     func(w io.Writer, s shown, _ report.Style) error { return report.GitHub(w, s.Problems) },
	"GitLab":     func(w io.Writer, s shown, _ report.Style) error { return report.GitLab(w, s.Problems) },
	"RunsText":   func(w io.Writer, s shown, style report.Style) error { return report.RunsText(w, s.Runs, 0, style) },
	"RunsJSON":   func(w io.Writer, s shown, _ report.Style) error { return report.RunsJSON(w, s.Runs) },
	"RunsCSV":    func(w io.Writer, s shown, _ report.Style) error { return report.RunsCSV(w, s.Runs) },
	"Markdown": func(w io.Writer, s shown, _ report.Style) error {
		return report.Markdown(w, s.Run, s.Verdict, s.Plan, []string{s.Verdict.Warnings[0]})
	},
	"OutcomeMarkdown": func(w io.Writer, s shown, _ report.Style) error {
		return report.OutcomeMarkdown(w, s.Outcome, s.Verdict, nil)
	},
	"Words":   func(w io.Writer, _ shown, style report.Style) error { return report.Words(w, style) },
	"JSON":    func(w io.Writer, s shown, _ report.Style) error { return report.JSON(w, s.Run, s.Verdict, s.Plan) },
	"Outcome": func(w io.Writer, s shown, style report.Style) error { return report.Outcome(w, s.Outcome, style) },
	"OutcomeJSON": func(w io.Writer, s shown, _ report.Style) error {
		return report.OutcomeJSON(w, s.Run, s.Verdict, s.Plan, s.Outcome)
	},
	"TraceText":     func(w io.Writer, s shown, style report.Style) error { return report.TraceText(w, s.Trace, style) },
	"TraceJSON":     func(w io.Writer, s shown, _ report.Style) error { return report.TraceJSON(w, s.Trace) },
	"OperatorsText": func(w io.Writer, s shown, style report.Style) error { return report.OperatorsText(w, s.Table, style) },
	"Capture": func(w io.Writer, s shown, _ report.Style) error {
		return report.Capture(w, s.Capture, diagnose.CaptureCost(s.Run, s.Capture))
	},
	"KernelsCSV": func(w io.Writer, s shown, _ report.Style) error { return report.KernelsCSV(w, s.Trace) },
	"TracesText": func(w io.Writer, s shown, style report.Style) error {
		return report.TracesText(w, s.Traces, 0, style)
	},
	"TracesJSON": func(w io.Writer, s shown, _ report.Style) error {
		return report.TracesJSON(w, verify.Traced{Run: s.Run, Verdict: s.Verdict}, s.Traces)
	},
	"TracesCSV":    func(w io.Writer, s shown, _ report.Style) error { return report.TracesCSV(w, s.Traces) },
	"Table":        func(w io.Writer, s shown, style report.Style) error { return report.Table(w, s.Rows, style) },
	"TableJSON":    func(w io.Writer, s shown, _ report.Style) error { return report.TableJSON(w, "rows", s.Rows) },
	"CSV":          func(w io.Writer, s shown, _ report.Style) error { return report.CSV(w, s.Rows) },
	"TutorialText": func(w io.Writer, s shown, style report.Style) error { return report.TutorialText(w, s.Lessons, style) },
	"TutorialJSON": func(w io.Writer, s shown, _ report.Style) error { return report.TutorialJSON(w, s.Lessons) },
	"TutorialCSV":  func(w io.Writer, s shown, _ report.Style) error { return report.TutorialCSV(w, s.Lessons) },
	"HTML": func(w io.Writer, s shown, style report.Style) error {
		if style.Colour {
			return nil // a page has one style, and takes a while to make
		}
		before := &report.Before{Name: "before", Run: s.Run, Verdict: s.Verdict, Outcome: s.Outcome}
		return errors.Join(report.HTML(w, report.Subject{Name: "run", Run: s.Run, Verdict: s.Verdict, Plan: s.Plan, Before: before}),
			report.HTML(w, report.Subject{Name: "trace", Run: s.Trace.Run, Verdict: s.Trace.Verdict, Plan: s.Trace.Plan, Trace: &s.Trace}))
	},
	"JobText": func(w io.Writer, s shown, style report.Style) error {
		j, members := job(s)
		return report.JobText(w, j, members, s.Plan, style)
	},
	"JobJSON": func(w io.Writer, s shown, _ report.Style) error {
		j, members := job(s)
		return report.JobJSON(w, j, members, s.Plan)
	},
	"Object": func(w io.Writer, s shown, _ report.Style) error { return report.Object(w, s.Rows) },
	"PredictText": foreseen(func(w io.Writer, p report.Prediction, style report.Style) error {
		p.Sources = style.Colour // with and without
		return report.PredictText(w, p, style)
	}),
	"TuneHTML": func(w io.Writer, s shown, _ report.Style) error {
		text := s.Rows[0][0]
		return report.TuneHTML(w, report.Tuned{Name: text, Stopped: text, Outcome: &s.Outcome, Command: []string{text}, Trials: []report.Tried{{Settings: text, Why: text}}})
	},
	"PredictHTML": foreseen(func(w io.Writer, p report.Prediction, _ report.Style) error { return report.PredictHTML(w, p, "", "") }),
	"PredictJSON": foreseen(func(w io.Writer, p report.Prediction, _ report.Style) error { return report.PredictJSON(w, p) }),
	"PredictCSV":  foreseen(func(w io.Writer, p report.Prediction, _ report.Style) error { return report.PredictCSV(w, p) }),
}

func foreseen(face func(io.Writer, report.Prediction, report.Style) error) func(io.Writer, shown, report.Style) error {
	return func(w io.Writer, s shown, style report.Style) error {
		for _, p := range s.Foreseen {
			if err := face(w, p, style); err != nil {
				return err
			}
		}
		return nil
	}
}

// job is one of a single rank, with names from outside.
func job(s shown) (diagnose.Job, []diagnose.Member) {
	names := s.Rows[1]
	rank := diagnose.JobRank{Host: names[1], Costs: s.Verdict.Costs}
	return diagnose.Job{Name: names[0], World: 2, Ranks: []diagnose.JobRank{rank}, Late: []int{0}, Missing: []int{1}, Steps: 1, Verdict: s.Verdict},
		[]diagnose.Member{{Name: names[2], Run: s.Run, Verdict: s.Verdict}}
}

// whole is one value of everything that is shown, each time a new one.
func whole(t *testing.T) shown {
	t.Helper()
	live, err := recording.Open("../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	traced := tracedRun(2)
	s := shown{Run: live, Trace: reported(traced, operators.Options{Top: 10, Shapes: true}), Lessons: predict.Tutorial()}
	s.Verdict = diagnose.Merge(live, diagnose.Judge(live), s.Trace.Verdict)
	s.Verdict.Traced.Evidence = append(s.Verdict.Traced.Evidence, diagnose.Evidence{Text: "evidence"})
	s.Verdict.Warnings = append(s.Verdict.Warnings, "a warning")
	s.Plan = advise.Rank(live, s.Verdict)
	s.Plan.Rejected = append(s.Plan.Rejected, advise.Rejected{Name: "name", Why: "why"})
	s.Outcome = verify.Compare(live, live, predict.Forecast{})
	s.Outcome.Was, s.Outcome.Now = "was", "now"
	side := verify.Traced{Run: s.Trace.Run, Verdict: s.Trace.Verdict, Gaps: s.Trace.Gaps}
	s.Traces = verify.Traces([]verify.Traced{side}, []verify.Traced{side}, []verify.TracedPromise{{Fix: "fix", Changes: s.Trace.Plan.Fixes[0].Changes, Promised: s.Trace.Plan.Fixes[0].Forecast.Speedup}})
	s.Traces.Warnings = append(s.Traces.Warnings, "a warning")
	s.Trace.Source.Files = []string{"trace.json"}
	s.Trace.Verdict.Findings = append(s.Trace.Verdict.Findings, diagnose.Finding{
		Name: "name", Text: "text", From: 1, To: 2, Thread: "thread", Kernel: "kernel", Source: "train.py(1): f", Advice: "advice",
	})
	s.Table = operators.Tabulate(traced.Timeline, operators.Options{Top: 10, Shapes: true})
	s.Rows = [][]string{{"name", "rate", "sources"}, {"a", "1", "b"}, {"c", "2", "b"}}
	s.Problems = []report.Problem{{Rule: "rule", Says: "says", Text: "text", File: "train.py", Line: 1}}
	s.Runs = report.Runs{
		Folder: "folder", Notes: []string{"note"}, Months: []report.Month{{Name: "month"}},
		Jobs: []report.Job{{Files: []string{"file"}, Command: "command", Hosts: []string{"host"}, Class: "class", Fix: "fix"}},
	}
	s.Checks = []report.Check{{What: "what", Text: "text", Help: "help"}}
	for _, p := range predictions() {
		s.Foreseen = append(s.Foreseen, p)
	}
	return s
}

// Whatever is shown, of whichever field it comes: nothing that moves a cursor,
// changes a colour, ends a line or turns text around reaches a terminal, with
// colours and without, as text, JSON or CSV.
func TestNothingFromOutsideReachesATerminal(t *testing.T) {
	s := whole(t)
	paths := poison.Paths(s)
	if len(paths) < 100 {
		t.Fatalf("only %d places with texts", len(paths))
	}
	plain, narrow := report.Style{}, report.Style{Colour: true, Width: 60}
	styles := map[string][]report.Style{}
	for name, face := range everyFace { // those that look the same in both are tried in one
		var one, other bytes.Buffer
		if styles[name] = []report.Style{plain, narrow}; errors.Join(face(&one, s, plain), face(&other, s, narrow)) == nil && one.String() == other.String() {
			styles[name] = styles[name][:1]
		}
	}
	for _, at := range append([]string{""}, paths...) {
		if poison.Into(&s, at) == 0 {
			t.Fatalf("nothing at %s", at)
		}
		for name, face := range everyFace {
			for _, style := range styles[name] {
				var b bytes.Buffer
				if err := face(&b, s, style); err != nil {
					continue // a face may refuse what is no value of its own
				}
				if leak := poison.Leak(b.String()); leak != "" {
					t.Errorf("%s: %s stands raw: %s", name, at, leak)
				}
			}
		}
		if leak := poison.Leak(report.Line(s.Run, s.Verdict)); leak != "" {
			t.Errorf("Line: %s stands raw: %s", at, leak)
		}
		poison.Out(&s, at)
	}
}

// What a whole run, trace and outcome print as JSON is valid by the published schemas.
func TestWholeObjectsAreValid(t *testing.T) {
	s := whole(t)
	for face, name := range map[string]string{
		"JSON": "diagnose", "JobJSON": "diagnose", "OutcomeJSON": "verify", "TraceJSON": "trace", "TracesJSON": "trace-compare",
		"TutorialJSON": "predict-tutorial", "DoctorJSON": "doctor",
	} {
		var b bytes.Buffer
		if err := errors.Join(everyFace[face](&b, s, report.Style{}), report.Valid(name, b.Bytes())); err != nil {
			t.Errorf("%s: %v", face, err)
		}
	}
}

// A new face is tried as well.
func TestEveryFaceIsTried(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || !f.Name.IsExported() || len(f.Type.Params.List) == 0 {
				continue
			}
			if of, is := f.Type.Params.List[0].Type.(*ast.SelectorExpr); is && of.Sel.Name == "Writer" {
				found = append(found, f.Name.Name)
			}
		}
	}
	var tried []string
	for _, name := range reflect.ValueOf(everyFace).MapKeys() {
		tried = append(tried, name.String())
	}
	slices.Sort(found)
	slices.Sort(tried)
	if !slices.Equal(found, tried) {
		t.Errorf("these write: %v\nthese are tried: %v", found, tried)
	}
}
