package stoker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostInPackages is how many packages may have a function or type of one name that is no convention.
const mostInPackages = 5

// conventions are names that Go's own packages have as well.
var conventions = strings.Fields("Close Command Error New Open Options Read Run String Write close init main open read run write")

// No function has the name of a word of the vocabulary, each word is a type where the vocabulary says, few words are
// both a type and a function anywhere, and no name is in many packages.
func TestVocabulary(t *testing.T) {
	types, functions := map[string]bool{}, map[string]string{} // "folder.Name"; lower-case name: a place
	kinds := map[string]bool{}
	packages := map[string]map[string]bool{}
	lines := 0
	for _, name := range goFiles(t, ".") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.ToSlash(filepath.Dir(name))
		note := func(name string) {
			if packages[name] == nil {
				packages[name] = map[string]bool{}
			}
			packages[name][folder] = true
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				functions[strings.ToLower(d.Name.Name)] = name
				note(d.Name.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if kind, ok := s.(*ast.TypeSpec); ok {
						types[folder+"."+kind.Name.Name], kinds[strings.ToLower(kind.Name.Name)] = true, true
						note(kind.Name.Name)
					}
				}
			}
		}
	}
	list, err := os.ReadFile("vocabulary.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^//\t(\w+) +(\S+) +\S`).FindAllStringSubmatch(string(list), -1)
	if len(rows) < 50 {
		t.Fatalf("vocabulary.go has %d words: the test looks in the wrong place", len(rows))
	}
	for _, row := range rows {
		if !types[row[2]+"."+row[1]] {
			t.Errorf("the vocabulary has %s in %s, where no such type is", row[1], row[2])
		}
		if place := functions[strings.ToLower(row[1])]; place != "" && !slices.Contains(conventions, row[1]) {
			t.Errorf("%s has a function %s: that is a word of the vocabulary, a function does something", place, row[1])
		}
	}
	both := 0
	for kind := range kinds {
		if functions[kind] != "" {
			both++
		}
	}
	if share := 1000 * float64(both) / float64(lines); share > 0.9 {
		t.Errorf("%d words are both a type and a function, %.2f per 1,000 lines: at most 0.9", both, share)
	}
	many := 0
	for name, in := range packages {
		if len(in) > mostInPackages && !slices.Contains(conventions, name) {
			t.Logf("%s is in %d packages", name, len(in))
			many++
		}
	}
	if many > 12 {
		t.Errorf("%d names that are no convention are in more than %d packages: at most 12", many, mostInPackages)
	}
}
