package text_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/internal/golden"
	"github.com/stoker-dev/stoker/internal/poison"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/predict/language"
	"github.com/stoker-dev/stoker/predict/measure"
	"github.com/stoker-dev/stoker/predict/question"
	"github.com/stoker-dev/stoker/predict/serving"
	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
	"github.com/stoker-dev/stoker/report/ci"
	"github.com/stoker-dev/stoker/report/page"
	"github.com/stoker-dev/stoker/report/text"
	"github.com/stoker-dev/stoker/report/wire"
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
	Lessons  []tutorial.Lesson
	Foreseen []question.Prediction
	Checks   []report.Check
	Kernels  []report.KernelGroup
	Runs     report.Runs
	Problems []ci.Problem
}

// everyFace calls the functions of this package that write, by name.
var everyFace = map[string]func(io.Writer, shown, text.Style) error{
	"text.WriteVerdict": func(w io.Writer, s shown, style text.Style) error {
		return text.WriteVerdict(w, s.Run, s.Verdict, s.Plan, style)
	},
	"text.WritePlan": func(w io.Writer, s shown, style text.Style) error {
		return text.WritePlan(w, s.Run, s.Verdict, s.Plan, style)
	},
	"text.Explain":      func(w io.Writer, s shown, style text.Style) error { return text.Explain(w, s.Verdict, style) },
	"text.WriteChecks":  func(w io.Writer, s shown, style text.Style) error { return text.WriteChecks(w, s.Checks, style) },
	"wire.WriteChecks":  func(w io.Writer, s shown, _ text.Style) error { return wire.WriteChecks(w, "", s.Checks, s.Kernels) },
	"ci.WriteSARIF":     func(w io.Writer, s shown, _ text.Style) error { return ci.WriteSARIF(w, s.Problems, "1") },
	"ci.WriteGitHub":    func(w io.Writer, s shown, _ text.Style) error { return ci.WriteGitHub(w, s.Problems) },
	"ci.WriteGitLab":    func(w io.Writer, s shown, _ text.Style) error { return ci.WriteGitLab(w, s.Problems) },
	"text.WriteRuns":    func(w io.Writer, s shown, style text.Style) error { return text.WriteRuns(w, s.Runs, 0, style) },
	"wire.WriteRuns":    func(w io.Writer, s shown, _ text.Style) error { return wire.WriteRuns(w, s.Runs) },
	"wire.WriteRunsCSV": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteRunsCSV(w, s.Runs) },
	"ci.WriteSummary": func(w io.Writer, s shown, _ text.Style) error {
		return ci.WriteSummary(w, s.Run, s.Verdict, s.Plan, []string{s.Verdict.Warnings[0]})
	},
	"ci.WriteOutcome": func(w io.Writer, s shown, _ text.Style) error {
		return ci.WriteOutcome(w, s.Outcome, s.Verdict, nil)
	},
	"text.WriteWords":   func(w io.Writer, _ shown, style text.Style) error { return text.WriteWords(w, style) },
	"wire.WriteVerdict": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteVerdict(w, s.Run, s.Verdict, s.Plan) },
	"text.WriteOutcome": func(w io.Writer, s shown, style text.Style) error { return text.WriteOutcome(w, s.Outcome, style) },
	"wire.WriteOutcome": func(w io.Writer, s shown, _ text.Style) error {
		return wire.WriteOutcome(w, s.Run, s.Verdict, s.Plan, s.Outcome)
	},
	"text.WriteTrace":     func(w io.Writer, s shown, style text.Style) error { return text.WriteTrace(w, s.Trace, style) },
	"wire.WriteTrace":     func(w io.Writer, s shown, _ text.Style) error { return wire.WriteTrace(w, s.Trace) },
	"text.WriteOperators": func(w io.Writer, s shown, style text.Style) error { return text.WriteOperators(w, s.Table, style) },
	"text.WriteCapture": func(w io.Writer, s shown, _ text.Style) error {
		return text.WriteCapture(w, s.Capture, judge.CaptureCost(s.Run, s.Capture))
	},
	"wire.WriteKernelsCSV": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteKernelsCSV(w, s.Trace) },
	"text.WriteTraces": func(w io.Writer, s shown, style text.Style) error {
		return text.WriteTraces(w, s.Traces, 0, style)
	},
	"wire.WriteTraces": func(w io.Writer, s shown, _ text.Style) error {
		return wire.WriteTraces(w, verify.Traced{Run: s.Run, Verdict: s.Verdict}, s.Traces)
	},
	"wire.WriteTracesCSV":  func(w io.Writer, s shown, _ text.Style) error { return wire.WriteTracesCSV(w, s.Traces) },
	"text.WriteTable":      func(w io.Writer, s shown, style text.Style) error { return text.WriteTable(w, s.Rows, style) },
	"wire.WriteTable":      func(w io.Writer, s shown, _ text.Style) error { return wire.WriteTable(w, "rows", s.Rows) },
	"wire.WriteCSV":        func(w io.Writer, s shown, _ text.Style) error { return wire.WriteCSV(w, s.Rows) },
	"text.WriteLessons":    func(w io.Writer, s shown, style text.Style) error { return text.WriteLessons(w, s.Lessons, style) },
	"wire.WriteLessons":    func(w io.Writer, s shown, _ text.Style) error { return wire.WriteLessons(w, s.Lessons) },
	"wire.WriteLessonsCSV": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteLessonsCSV(w, s.Lessons) },
	"page.WriteRun": func(w io.Writer, s shown, style text.Style) error {
		if style.Colour {
			return nil // a page has one style, and takes a while to make
		}
		before := &page.EarlierRun{Name: "before", Run: s.Run, Verdict: s.Verdict, Outcome: s.Outcome}
		return errors.Join(page.WriteRun(w, page.Subject{Name: "run", Run: s.Run, Verdict: s.Verdict, Plan: s.Plan, Before: before}),
			page.WriteRun(w, page.Subject{Name: "trace", Run: s.Trace.Run, Verdict: s.Trace.Verdict, Plan: s.Trace.Plan, Trace: &s.Trace}))
	},
	"text.WriteJob": func(w io.Writer, s shown, style text.Style) error {
		j, members := job(s)
		return text.WriteJob(w, j, members, s.Plan, style)
	},
	"wire.WriteJob": func(w io.Writer, s shown, _ text.Style) error {
		j, members := job(s)
		return wire.WriteJob(w, j, members, s.Plan)
	},
	"wire.WriteLoads": func(w io.Writer, _ shown, _ text.Style) error {
		return wire.WriteLoads(w, measure.Requests{}, serving.Server{}, nil, 0)
	},
	"wire.WriteTraining": func(w io.Writer, _ shown, _ text.Style) error {
		return wire.WriteTraining(w, language.Training{}, language.TrainingStep{}, math.NaN(), nil)
	},
	"wire.WriteServing": func(w io.Writer, _ shown, _ text.Style) error {
		return wire.WriteServing(w, language.Serving{}, language.ServingRate{}, nil)
	},
	"wire.WriteObject": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteObject(w, s.Rows) },
	"text.WritePrediction": foreseen(func(w io.Writer, p question.Prediction, style text.Style) error {
		p.Sources, p.All = style.Colour, style.Colour // with and without
		return text.WritePrediction(w, p, style)
	}),
	"text.WriteWorth": func(w io.Writer, s shown, style text.Style) error { return text.WriteWorth(w, worthOf(s), style) },
	"wire.WriteWorth": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteWorth(w, worthOf(s)) },
	"text.WriteFleet": func(w io.Writer, s shown, style text.Style) error { return text.WriteFleet(w, fleetOf(s), style) },
	"wire.WriteFleet": func(w io.Writer, s shown, _ text.Style) error { return wire.WriteFleet(w, fleetOf(s)) },
	"page.WriteTuning": func(w io.Writer, s shown, _ text.Style) error {
		text := s.Rows[0][0]
		return page.WriteTuning(w, page.Tuned{Name: text, Stopped: text, Outcome: &s.Outcome, Command: []string{text}, Trials: []page.Tried{{Settings: text, Why: text}}})
	},
	"page.WritePrediction": foreseen(func(w io.Writer, p question.Prediction, _ text.Style) error {
		return page.WritePrediction(w, p, "", "")
	}),
	"wire.WritePrediction":    foreseen(func(w io.Writer, p question.Prediction, _ text.Style) error { return wire.WritePrediction(w, p) }),
	"wire.WritePredictionCSV": foreseen(func(w io.Writer, p question.Prediction, _ text.Style) error { return wire.WritePredictionCSV(w, p) }),
}

// worthOf has text from outside wherever there is text.
func worthOf(s shown) question.Worth {
	text := s.Rows[0][0]
	w := question.Worth{Title: text, Notes: []string{text}, Waste: &predict.Waste{}}
	w.GPU.Title, w.GPU.Name = text, text
	w.Add(text, predict.Worth{})
	return w
}

// fleetOf has text from outside wherever there is text.
func fleetOf(s shown) question.Fleet {
	text := s.Rows[0][0]
	f := question.Fleet{Assumed: []string{text}}
	f.Question.GPU.Title, f.Question.GPU.Name, f.Question.Prices.Source = text, text, text
	return f
}

func foreseen(face func(io.Writer, question.Prediction, text.Style) error) func(io.Writer, shown, text.Style) error {
	return func(w io.Writer, s shown, style text.Style) error {
		for _, p := range s.Foreseen {
			if err := face(w, p, style); err != nil {
				return err
			}
		}
		return nil
	}
}

// job is one of a single rank, with names from outside.
func job(s shown) (judge.Job, []judge.Member) {
	names := s.Rows[1]
	rank := judge.JobRank{Host: names[1], Costs: s.Verdict.Costs}
	return judge.Job{Name: names[0], World: 2, Ranks: []judge.JobRank{rank}, Late: []int{0}, Missing: []int{1}, Steps: 1, Verdict: s.Verdict},
		[]judge.Member{{Name: names[2], Run: s.Run, Verdict: s.Verdict}}
}

// whole is one value of everything that is shown, each time a new one.
func whole(t *testing.T) shown {
	t.Helper()
	live, err := recording.Open("../../testdata/cases/main-thread-live/run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	traced := tracedRun(2)
	s := shown{Run: live, Trace: reported(traced, operators.Options{Top: 10, Shapes: true}), Lessons: tutorial.Tutorial()}
	s.Verdict = judge.Merge(live, judge.Judge(live), s.Trace.Verdict)
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
	s.Problems = []ci.Problem{{Rule: "rule", Says: "says", Text: "text", File: "train.py", Line: 1}}
	s.Runs = report.Runs{
		Folder: "folder", Notes: []string{"note"}, Months: []report.Month{{Name: "month"}},
		Jobs: []report.Job{{Files: []string{"file"}, Command: "command", Hosts: []string{"host"}, Class: "class", Fix: "fix"}},
	}
	s.Checks = []report.Check{{What: "what", Text: "text", Help: "help"}}
	s.Kernels = []report.KernelGroup{{Name: "name", Package: "package", Routines: []string{"routine"}}}
	for _, p := range predictions() {
		s.Foreseen = append(s.Foreseen, p)
	}
	return s
}

// No field of any value can move a cursor, change a colour, end a line or reverse text on a
// terminal, with and without colours, as text, JSON or CSV.
func TestNothingFromOutsideReachesATerminal(t *testing.T) {
	s := whole(t)
	paths := poison.Paths(s)
	if len(paths) < 100 {
		t.Fatalf("only %d places with texts", len(paths))
	}
	plain, narrow := text.Style{}, text.Style{Colour: true, Width: 60}
	clean, styles := map[string]string{}, map[string][]text.Style{}
	for name, face := range everyFace { // those that look the same in both are tried in one
		var one, other bytes.Buffer
		if styles[name] = []text.Style{plain, narrow}; errors.Join(face(&one, s, plain), face(&other, s, narrow)) == nil && one.String() == other.String() {
			styles[name] = styles[name][:1]
		}
		clean[name] = one.String()
	}
	try := func(at string, faces []string) {
		for _, name := range faces {
			for _, style := range styles[name] {
				var b bytes.Buffer
				if err := everyFace[name](&b, s, style); err != nil {
					continue // a format may reject a value that Stoker does not produce
				}
				if leak := poison.Leak(b.String()); leak != "" {
					t.Errorf("%s: %s stands raw: %s", name, at, leak)
				}
			}
		}
		if leak := poison.Leak(text.SumUp(s.Run, s.Verdict)); leak != "" {
			t.Errorf("Line: %s stands raw: %s", at, leak)
		}
	}
	if poison.Into(&s, "") == 0 {
		t.Fatal("nothing holds a text")
	}
	try("all", slices.Collect(maps.Keys(everyFace)))
	poison.Out(&s, "")
	for part, paths := range partsOf(paths) { // each text of a part is tried with the faces that show any of it
		for _, at := range paths {
			if poison.Into(&s, at) == 0 {
				t.Fatalf("nothing at %s", at)
			}
		}
		var showing []string
		for name, face := range everyFace {
			var b bytes.Buffer
			if err := face(&b, s, plain); err != nil || b.String() != clean[name] {
				showing = append(showing, name)
			}
		}
		if len(showing) == 0 {
			t.Errorf("no face shows %s", part)
		}
		for _, at := range paths {
			poison.Out(&s, at)
		}
		for _, at := range paths {
			poison.Into(&s, at)
			try(at, showing)
			poison.Out(&s, at)
		}
	}
}

// partsOf groups places by the field of shown that they are in.
func partsOf(paths []string) map[string][]string {
	parts := map[string][]string{}
	for _, at := range paths {
		part := at[:strings.IndexAny(at+".", ".[")]
		parts[part] = append(parts[part], at)
	}
	return parts
}

// What a whole run, trace and outcome print as JSON is valid by the published schemas.
func TestWholeObjectsAreValid(t *testing.T) {
	s := whole(t)
	for face, name := range map[string]string{
		"wire.WriteVerdict": "diagnose", "wire.WriteJob": "diagnose", "wire.WriteOutcome": "verify", "wire.WriteTrace": "trace", "wire.WriteTraces": "trace-compare",
		"wire.WriteLessons": "predict-tutorial", "wire.WriteChecks": "doctor",
	} {
		var b bytes.Buffer
		if err := errors.Join(everyFace[face](&b, s, text.Style{}), golden.CheckSchema("../../docs/schema/"+name+".json", b.Bytes())); err != nil {
			t.Errorf("%s: %v", face, err)
		}
	}
}

// A new face is tried as well.
func TestEveryFaceIsTried(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Name.Name == "plot" {
			continue // it tries its own
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || !f.Name.IsExported() || len(f.Type.Params.List) == 0 {
				continue
			}
			if of, is := f.Type.Params.List[0].Type.(*ast.SelectorExpr); is && of.Sel.Name == "Writer" {
				found = append(found, parsed.Name.Name+"."+f.Name.Name)
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
