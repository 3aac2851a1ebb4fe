package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/internal/golden"
)

const referencePage = "../../docs/reference.md"

// The reference has the unchanged help of every verb.
func TestReferenceVerbs(t *testing.T) {
	var b strings.Builder
	var write func(cmd *cobra.Command, depth int)
	write = func(cmd *cobra.Command, depth int) {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		var help strings.Builder
		cli.WriteVerbHelp(&help, cmd)
		text := narrow(strings.TrimSuffix(help.String(), cli.GeneralFlags+"\n"))
		fmt.Fprintf(&b, "%s %s\n\n```\n%s```\n\n", strings.Repeat("#", depth), cmd.CommandPath(), text)
		for _, sub := range cmd.Commands() {
			write(sub, depth+1)
		}
	}
	root := rootCommand(&cli.App{})
	verbs := map[string]*cobra.Command{}
	for _, verb := range root.Commands() {
		verbs[verb.Name()] = verb
	}
	for _, group := range cli.ReadGroups(root) {
		for _, name := range strings.Fields(group.Names) {
			write(verbs[name], 3)
			delete(verbs, name)
		}
	}
	for _, verb := range root.Commands() { // those under "More"
		if verbs[verb.Name()] != nil {
			write(verb, 3)
		}
	}
	fmt.Fprintf(&b, "%s\n", cli.GeneralFlags)
	golden.CheckPart(t, referencePage, "verbs", b.String())
}

// narrow breaks lines that are too wide for the manual. Commands are continued with a backslash.
func narrow(help string) string {
	var lines []string
	for line := range strings.SplitSeq(help, "\n") {
		for utf8.RuneCountInString(line) > 100 {
			at := strings.LastIndexByte(line[:97], ' ')
			if !strings.HasPrefix(line, "  ") {
				lines, line = append(lines, line[:at]), line[at+1:]
				continue
			}
			lines, line = append(lines, line[:at]+" \\"), "      "+line[at+1:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// The reference has every schema, with the fields of its object.
func TestReferenceSchemas(t *testing.T) {
	files, err := filepath.Glob("../../docs/schema/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d schemas: %v", len(files), err)
	}
	var b strings.Builder
	b.WriteString("| schema | fields |\n|---|---|\n")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		var fields []string
		for name := range schema.Properties {
			fields = append(fields, "`"+name+"`")
		}
		slices.Sort(fields)
		name := filepath.Base(file)
		fmt.Fprintf(&b, "| [%s](schema/%s) | %s |\n", strings.TrimSuffix(name, ".json"), name, strings.Join(fields, " "))
	}
	golden.CheckPart(t, referencePage, "schemas", b.String())
}

// The reference has every name that Python programs may use, with the first sentence of its comment.
func TestReferencePython(t *testing.T) {
	init, err := os.ReadFile("../../python/stoker/__init__.py")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(init), "__all__ = [")
	list, _, _ = strings.Cut(list, "]")
	names := regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(list, -1)
	if len(names) < 15 {
		t.Fatalf("%d names in stoker.__all__", len(names))
	}
	var b strings.Builder
	b.WriteString("| name | what it is |\n|---|---|\n")
	elsewhere := map[string]string{"feed": "enable", "TrainerCallback": "trainer_callback"} // defined under another name
	for _, name := range names {
		defined := name[1]
		if other := elsewhere[defined]; other != "" {
			defined = other
		}
		fmt.Fprintf(&b, "| `stoker.%s` | %s |\n", name[1], pythonSentence(t, defined))
	}
	golden.CheckPart(t, referencePage, "python", b.String())
}

// pythonSentence returns the first sentence of the docstring of a function or class.
func pythonSentence(t *testing.T, name string) string {
	t.Helper()
	definition := regexp.MustCompile(`(?ms)^(?:async )?(?:def|class) ` + name + `\b[^"]*?:\n    """(.*?)(?:\.\s|\.?"""|\n\n)`)
	var files []string
	for _, pattern := range []string{"*.py", "*/*.py"} { // the client and its rooms
		found, err := filepath.Glob("../../python/stoker/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := definition.FindSubmatch(text); found != nil {
			return strings.ReplaceAll(strings.Join(strings.Fields(string(found[1])), " "), "|", `\|`)
		}
	}
	t.Errorf("stoker.%s has no comment that says what it is", name)
	return ""
}

// The reference lists every environment variable that the sources read, and every exit code.
func TestReferenceNamesVariablesAndCodes(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	others := strings.Fields("bench tests testdata internal examples release bin")
	variable := regexp.MustCompile(`\bSTOKER_[A-Z][A-Z_]*\b`)
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (len(d.Name()) > 2 && d.Name()[0] == '.' || slices.Contains(others, d.Name())) {
			return fs.SkipDir
		}
		if err != nil || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".py" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range variable.FindAllString(string(text), -1) {
			found[name] = path
		}
		return err
	})
	if err != nil || len(found) < 8 {
		t.Fatalf("variables: %v, %v", found, err)
	}
	for name, path := range found {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/reference.md lacks %s, which %s reads", name, path)
		}
	}
	for _, code := range []int{cli.ExitFine, cli.ExitError, cli.ExitUsage, cli.ExitStarved, cli.ExitMissed, cli.ExitOurs, cli.ExitCannotRun, cli.ExitNotFound, cli.ExitSignalBase} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\|[ 0-9,+n]*\b%d\b`, code)).Match(page) {
			t.Errorf("docs/reference.md lacks the exit code %d", code)
		}
	}
}
