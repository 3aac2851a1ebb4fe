package diagnose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
)

// rows are the rows of the manual's table behind a heading.
func rows(t *testing.T, heading string) []string {
	t.Helper()
	manual, err := os.ReadFile("../docs/manual.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(manual), "\n| "+heading+" |")
	if !found {
		t.Fatalf("the manual has no table of a %s", heading)
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	return strings.Split(table, "\n")[2:]
}

// The manual's words are those of the list, in its order.
func TestManualHasTheWords(t *testing.T) {
	for heading, words := range map[string][]diagnose.Word{"class": diagnose.Classes, "finding": diagnose.Findings} {
		var want []string
		for _, w := range words {
			want = append(want, fmt.Sprintf("| `%s` | %s | %s |", w.Name, w.Says, w.Do))
		}
		if got := rows(t, heading); !slices.Equal(got, want) {
			t.Errorf("the manual's table of a %s is not the list's, which is\n%s", heading, strings.Join(want, "\n"))
		}
	}
}

// What the code can say is in the list, and what is in the list the code can say.
func TestListHasTheWords(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var said []string
	for _, name := range files {
		if name == "words.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:said|finding|syncs|phase)\("([a-z-]+)"|Class += "([a-z/-]+)"`).FindAllStringSubmatch(string(text), -1) {
			said = append(said, m[1]+m[2])
		}
	}
	var listed []string
	for _, w := range slices.Concat(diagnose.Classes, diagnose.Findings) {
		listed = append(listed, w.Name)
	}
	slices.Sort(said)
	slices.Sort(listed)
	if said, listed = slices.Compact(said), slices.Compact(listed); !slices.Equal(said, listed) {
		t.Errorf("the code says\n%v\nthe list has\n%v", said, listed)
	}
}

// Every class that is an ailment has a rule, and every rule's class is one.
func TestClassesHaveRules(t *testing.T) {
	for _, w := range diagnose.Classes {
		if _, ok := diagnose.RuleOf(diagnose.Class(w.Name)); !ok && w.Name != string(diagnose.Unknown) {
			t.Errorf("%s has no rule", w.Name)
		}
	}
}
