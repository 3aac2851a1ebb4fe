package stoker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docNames finds what a package comment names as Go: "A Setup is", "(Stage)",
// "Baseline.Forecast".
var docNames = regexp.MustCompile(
	`\bAn? ([A-Z][a-z]\w+) (?:is|has|holds)\b|\(([A-Z][a-z]\w+)\)|\b([A-Z]\w+\.[A-Z]\w+)\b`)

// notOurs are words of others that look like names of Go.
var notOurs = map[string]bool{"Kineto": true, "TempDir": true}

// What a package comment names exists: in the package, or as a type of another one.
func TestPackageCommentsNameWhatExists(t *testing.T) {
	types, comments := map[string]bool{}, map[string]string{}
	names := map[string]map[string]bool{} // of each package
	for _, name := range goFiles(t, ".") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(name)
		if names[folder] == nil {
			names[folder] = map[string]bool{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names[folder][id.Name] = true
			}
			if kind, ok := n.(*ast.TypeSpec); ok {
				types[kind.Name.Name] = true
			}
			return true
		})
		comments[folder] += file.Doc.Text()
	}
	found := 0
	for folder, text := range comments {
		for _, match := range docNames.FindAllStringSubmatch(text, -1) {
			for _, name := range strings.Split(strings.Join(match[1:], ""), ".") {
				if found++; !names[folder][name] && !types[name] && !notOurs[name] {
					t.Errorf("the package comment of %s names %s, which does not exist", folder, name)
				}
			}
		}
	}
	if found < 30 {
		t.Fatalf("found %d names: the test looks in the wrong place", found)
	}
}
