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
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/internal/golden"
)

// The manual's words are those of the program, in its order.
func TestManualHasTheWords(t *testing.T) {
	for name, words := range map[string][]diagnose.Word{"classes": diagnose.Classes, "findings": diagnose.Findings, "causes": diagnose.GapCauses} {
		var table strings.Builder
		for _, w := range words {
			fmt.Fprintf(&table, "| `%s` | %s | %s |\n", w.Name, w.Says, w.Do)
		}
		golden.CheckPart(t, "../docs/verdicts.md", name, "| "+name+" | says | what to do |\n|---|---|---|\n"+table.String())
	}
}

// The list of causes is that of the package that finds them.
func TestListHasTheCauses(t *testing.T) {
	if len(diagnose.GapCauses) != idle.Causes {
		t.Fatalf("%d causes are listed, %d are found", len(diagnose.GapCauses), idle.Causes)
	}
	for c := idle.Cause(0); int(c) < idle.Causes; c++ {
		if listed := diagnose.GapCauses[c].Name; listed != c.String() {
			t.Errorf("a cause is listed as %s and found as %s", listed, c)
		}
	}
}

// findingNames are the constants of finding_names.go and what they stand for.
func findingNames(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("finding_names.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, m := range regexp.MustCompile(`(Finding\w+) += "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = m[2]
	}
	return names
}

// What the code can say is in the list, and what is in the list the code can say.
func TestListHasTheWords(t *testing.T) {
	files := []string{"class.go"}
	for _, room := range []string{"rules", "live", "traced", "judge", "ledger"} {
		found, err := filepath.Glob(room + "/*.go")
		if err != nil || len(found) == 0 {
			t.Fatalf("no files of %s: %v", room, err)
		}
		files = append(files, found...)
	}
	constants := findingNames(t)
	var said []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:NewTextFinding|NewFinding|findSyncs|findPhase)\((?:diagnose\.)?(Finding\w+)|Class += "([a-z/-]+)"`).FindAllStringSubmatch(string(text), -1) {
			said = append(said, constants[m[1]]+m[2])
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
		if _, ok := rules.FindRule(diagnose.Class(w.Name)); !ok && w.Name != string(diagnose.Unknown) && !isOfRow(w.Name) {
			t.Errorf("%s has no rule", w.Name)
		}
	}
}

// Only a program that trains, or loops over a data set, is told of its loss.
func TestWhoReadsALoss(t *testing.T) {
	for want, grounds := range map[bool][]diagnose.Grounds{
		true: {{Program: diagnose.Training}, {Loads: true}, {Program: diagnose.Training, Framework: "JAX"}},
		false: {
			{},
			{Program: diagnose.Inference},
			{Program: diagnose.Inference, Loads: true},
			{Framework: diagnose.FrameworkCUDA, Loads: true},
			{Program: diagnose.Training, Framework: diagnose.FrameworkCUDA},
		},
	} {
		for _, g := range grounds {
			if got := g.ReadsLoss(); got != want || strings.Contains(g.SyncAdvice(), "loss") != want {
				t.Errorf("%+v: %v, %q", g, got, g.SyncAdvice())
			}
		}
	}
}

// isOfRow reports whether a class is that of a row of the ledger, which no rule gives.
func isOfRow(class string) bool {
	return slices.ContainsFunc(diagnose.LedgerRows, func(r diagnose.Word) bool {
		return string(diagnose.ClassOfRow(diagnose.RowName(r.Name))) == class
	})
}
