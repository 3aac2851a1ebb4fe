package stoker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// printing lists the folders whose strings are sentences for people. Citations (hardware, the
// tables of predict) and messages of the decoder and similar code, which follow a pattern, are
// not in it.
var printing = []string{"report", "diagnose", "advise", "watch", "verify", "tune", "cmd", "web", "agent", "observe", "recording", "trace"}

// notPlain is what no sentence has: a semicolon, or a clause that begins with "where" or "of which".
var notPlain = regexp.MustCompile(`; |;$|(?i)\b(?:where|of which)\b`)

// notProse is what a string may have all the same: code of Python, markup, headers of HTTP, colours,
// SQL, names of fields and of kernels.
var notProse = regexp.MustCompile(`\);\s+[\w.]+\(|\);\s+if |&#?[\w%]*;|'none'; |; (?:version|charset|connect-src|script-src|style-src|base-uri|frame-ancestors|form-action)\b|^\d(?:;\d+)*;$|\d;$|NOT INDEXED WHERE|\bWHERE\b|^where,omitempty$|json:"where|^ where $|umask 077; |^; ?$`)

// Sentences are plain: subject, verb, object, and one idea each.
func TestSentencesArePlain(t *testing.T) {
	for _, folder := range printing {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for place, text := range stringsOf(t, path) {
				if found := notPlain.FindString(notProse.ReplaceAllString(text, "")); found != "" {
					t.Errorf("%s: %q is in %.120q: make it two sentences", place, found, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Golden files are plain, too, except those that are not pages for people.
func TestGoldenPagesArePlain(t *testing.T) {
	files := 0
	for _, pattern := range []string{"report/text/testdata/*.text.txt", "report/text/testdata/*/*.out", "report/text/testdata/outcome/*.golden", "report/text/testdata/predict/*.text.golden"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if files++; filepath.Base(file) == "json.out" {
				continue
			}
			for _, line := range strings.Split(string(text), "\n") {
				if found := notPlain.FindString(notProse.ReplaceAllString(line, "")); found != "" {
					t.Errorf("%s: %q is in %q", file, found, line)
				}
			}
		}
	}
	if files < 20 {
		t.Errorf("%d golden files", files)
	}
}

// The two see what they are for.
func TestNotPlain(t *testing.T) {
	for text, plain := range map[string]bool{
		"it waits; it reads": false, "ends with ;": false, "Where it runs": false, "two, of which one is": false,
		"it waits, it reads": true, "gc.collect(); gc.freeze()": true, "whereas": true,
	} {
		if got := !notPlain.MatchString(notProse.ReplaceAllString(text, "")); got != plain {
			t.Errorf("%q is plain: %v, want %v", text, got, plain)
		}
	}
}
