package stoker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Diagnosis uses quantities and does not depend on the origin of a Run: a Run with a Timeline
// and one without take the same path. Code that uses a Timeline is listed, with its reason; a
// folder includes its files.
var timelines = map[string]string{
	"predict/replay":          "it plays the events of a trace again",
	"diagnose/idle":           "it measures the gaps of a trace",
	"diagnose/operators":      "it adds up the operators of a trace",
	"diagnose/ranks":          "it compares the ranks of a trace",
	"diagnose/lanes":          "it draws a step of a trace",
	"diagnose/flame":          "it adds up what the host did in a trace",
	"diagnose/memory":         "it follows the allocations of a trace",
	"diagnose/traced":         "it fills the Case from a trace",
	"diagnose/judge/judge.go": "caseOf chooses who fills the Case, once",
	"advise/replayed.go":      "it hands a trace to the replay, and takes no for an answer",
	"report/trace.go":         "it prints what a trace left out",
	"report/text/trace.go":    "it prints what a trace left out",
	"report/wire/trace.go":    "it prints what a trace left out",

	"report/kernels.go":    "it prints kernels by what launched them",
	"verify/alike.go":      "it says how alike what two traces ran is, by name",
	"verify/trace_side.go": "it names the work of a trace, to compare two by name",
}

func TestFewAskForATimeline(t *testing.T) {
	used := map[string]bool{}
	files := token.NewFileSet()
	for _, name := range goFiles(t, ".") {
		if !slices.Contains([]string{"predict", "diagnose", "advise", "verify", "report"}, floorOf(name)) {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range namesTimeline(file) {
			key := name
			if timelines[key] == "" {
				key = filepath.ToSlash(filepath.Dir(name))
			}
			if timelines[key] == "" {
				t.Errorf("%s: asks for a Timeline: ask a quantity of the Case, and let diagnose/traced fill it", files.Position(at))
			}
			used[key] = true
		}
	}
	for name, why := range timelines {
		if !used[name] {
			t.Errorf("%s no longer names a Timeline (%s): take it off the list", name, why)
		}
	}
}

// namesTimeline is where a file names Run.Timeline or its type.
func namesTimeline(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(node ast.Node) bool {
		if s, ok := node.(*ast.SelectorExpr); ok && s.Sel.Name == "Timeline" {
			found = append(found, s.Pos())
		}
		return true
	})
	return found
}

// An unknown number is NaN, or a nil pointer; 0 and -1 are numbers. A position in a list (an
// index, an id, a rank) may be -1, and a count that cannot be 0 may be 0, because an integer
// has no NaN.
var zeroes = regexp.MustCompile(`(?i)(^|[^0-9.])(0|-1)\b[^.;]*\b(unknown|not known|not recorded|nobody knows)`)

// unset lists descriptions written by hand, in which a missing field is 0.
var unset = []string{"predict/setup.go", "predict/replay/graph.go"}

func TestUnknownIsNaN(t *testing.T) {
	files, fields := token.NewFileSet(), 0
	for _, name := range goFiles(t, ".") {
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			field, ok := node.(*ast.Field)
			if !ok {
				return true
			}
			if kind, _ := field.Type.(*ast.Ident); kind == nil || !strings.HasPrefix(kind.Name, "float") {
				return true
			}
			fields++
			if said := field.Doc.Text() + field.Comment.Text(); zeroes.MatchString(said) && !slices.Contains(unset, name) {
				t.Errorf("%s: %s", files.Position(field.Pos()), said)
			}
			return true
		})
	}
	if fields < 500 {
		t.Fatalf("found %d fields of numbers: the test looks in the wrong place", fields)
	}
}

// units matches numbers with a unit or a per cent sign that a format prints directly.
var units = regexp.MustCompile(`%[+]?\.?[0-9]*[fg] ?(%%|ns|us|µs|ms|kB|KB|MB|GB|[KMG]iB|[KMG]?B/s)`)

// spelt are the files that still print such numbers themselves, each with its reason.
var spelt = map[string]string{
	"predict/tutorial/tutorial.go":         "the tutorial's own figures have the digits that its authors printed",
	"predict/words.go":                     "a bound of a note, in whole per cent",
	"verify/work.go":                       "whole per cent of bytes",
	"diagnose/traced/places.go":            "an instant is looked up in another tool, to the microsecond",
	"report/trace.go":                      "an instant is looked up in another tool, to the microsecond",
	"report/text/lanes.go":                 "an instant is looked up in another tool, to the microsecond",
	"report/ranks.go":                      "a clock's offset has a sign",
	"report/text/traced.go":                "a difference has a sign",
	"predict/replay/forecast.go":           "a difference has a sign",
	"trace/alike.go":                       "a threshold in whole per cent, of the reader and not of a run",
	"cmd/stoker/feed/feed.go":              "a table of one unit",
	"cmd/stoker/predict/tutorial.go":       "the tutorial's own formulas, with its digits",
	"cmd/stoker/internal/traces/traces.go": "progress",
}

func TestNumbersArePrintedInOnePlace(t *testing.T) {
	files := token.NewFileSet()
	used := map[string]bool{}
	for _, name := range goFiles(t, ".") {
		if folder := floorOf(name); folder == "bench" || folder == "feed" || folder == "examples" || folder == "internal" {
			continue // they measure and print for those who do; internal knows no root
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING && units.MatchString(text.Value) {
				used[name] = true
				if spelt[name] == "" {
					t.Errorf("%s: %s: print it with quantity.Percent, AboutSeconds, AboutBytes or AboutRate", files.Position(text.Pos()), text.Value)
				}
			}
			return true
		})
	}
	for name, why := range spelt {
		if !used[name] {
			t.Errorf("%s prints no such number any more (%s): take it off the list", name, why)
		}
	}
}
