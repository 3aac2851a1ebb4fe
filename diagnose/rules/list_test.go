package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/golden"
)

var (
	ruleVar   = regexp.MustCompile(`(?m)^var (\w+) = Rule\{`)
	kindsVar  = regexp.MustCompile(`(?m)^var \w+Kinds = \[\]Rule\{(.*)\}`)
	listedVar = regexp.MustCompile(`(?m)^\t(\w+),$`)
)

// list.go has the rules of all files, but for kinds of an ailment, which its file lists.
func TestListHasEachRule(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed, written, kinds []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ruleVar.FindAllStringSubmatch(string(text), -1) {
			written = append(written, m[1])
		}
		for _, m := range kindsVar.FindAllStringSubmatch(string(text), -1) {
			kinds = append(kinds, strings.Split(m[1], ", ")...)
		}
		if file == "list.go" {
			for _, m := range listedVar.FindAllStringSubmatch(string(text), -1) {
				listed = append(listed, m[1])
			}
		}
	}
	isGone := func(name string) bool { return !slices.Contains(written, name) }
	isListed := func(name string) bool { return slices.Contains(listed, name) || slices.Contains(kinds, name) }
	want := append(slices.DeleteFunc(slices.Clone(listed), isGone), slices.DeleteFunc(written, isListed)...)
	if len(want) == 0 {
		t.Fatal("no file has a rule")
	}
	golden.CheckPart(t, "list.go", "rules", "\t"+strings.Join(want, ",\n\t")+",\n\t// ")
}

// What each worker does is not in the file of a framework whose pipeline has none.
func TestPipelinesHaveNoWorkers(t *testing.T) {
	for framework, worker := range map[string]bool{"": true, diagnose.FrameworkTensorFlow: false} {
		v := diagnose.Verdict{Class: diagnose.TooFewWorkers, Grounds: diagnose.Grounds{Framework: framework}}
		if _, text, _ := rules.Describe(v); strings.Contains(text, "Every worker") != worker {
			t.Errorf("%q: %s", framework, text)
		}
	}
}
