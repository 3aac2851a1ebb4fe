package stoker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// No string of the sources holds a phrase that report/VOICE.md has replaced.
func TestVoice(t *testing.T) {
	page, err := os.ReadFile("report/VOICE.md")
	if err != nil {
		t.Fatal(err)
	}
	var replaced []string
	_, table, _ := strings.Cut(string(page), "|---|---|\n")
	for _, row := range strings.Split(table, "\n") {
		if cells := strings.Split(row, "|"); len(cells) == 4 {
			replaced = append(replaced, strings.ToLower(strings.TrimSpace(cells[1])))
		}
	}
	if len(replaced) < 20 {
		t.Fatalf("report/VOICE.md has %d pairs", len(replaced))
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(d.Name()) > 1 && d.Name()[0] == '.' {
			return fs.SkipDir // of others: .git, .tools, .venv
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for place, text := range stringsOf(t, path) {
			for _, phrase := range replaced {
				if strings.Contains(strings.ToLower(text), phrase) {
					t.Errorf("%s: report/VOICE.md has a better phrase than %q", place, phrase)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stringsOf are the texts of a source file that people may see, by their place: the
// string literals of Go, all of a page.
func stringsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	switch filepath.Ext(path) {
	case ".html", ".js":
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{path: string(text)}
	case ".go":
	default:
		return nil
	}
	files, all := token.NewFileSet(), map[string]string{}
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			all[files.Position(literal.Pos()).String()] = text
		}
		return true
	})
	return all
}
