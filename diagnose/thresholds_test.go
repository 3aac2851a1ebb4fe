package diagnose_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// thresholdsFile is the table.
const thresholdsFile = "thresholds.go"

// parseCode parses the code below some folders, without tests.
func parseCode(t *testing.T, folders ...string) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	set, files := token.NewFileSet(), map[string]*ast.File{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files[path], err = parser.ParseFile(set, path, nil, parser.ParseComments)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return set, files
}

// No rule, live or traced, compares a figure with a bare literal, and no ramp is made outside of
// the table.
func TestThresholdsHaveNames(t *testing.T) {
	set, files := parseCode(t, ".", filepath.Join("..", "advise"))
	if len(files) < 100 {
		t.Fatalf("only %d files were read", len(files))
	}
	for path, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			at := func() token.Position { return set.Position(n.Pos()) }
			switch x := n.(type) {
			case *ast.CompositeLit:
				if nameOf(x.Type) == "Ramp" && path != thresholdsFile && path != "ramp.go" {
					t.Errorf("%s: a ramp is made here: give it a row in diagnose/%s", at(), thresholdsFile)
				}
			case *ast.CallExpr:
				if fun, ok := x.Fun.(*ast.SelectorExpr); ok && nameOf(fun.X) == "stat" && fun.Sel.Name == "Ramp" &&
					path != "ramp.go" {
					t.Errorf("%s: stat.Ramp is called here: use Score of a ramp in diagnose/%s", at(), thresholdsFile)
				}
			case *ast.BinaryExpr:
				if value := bareLiteral(x); value != "" {
					t.Errorf("%s: %s is a threshold without a name: give it one, in diagnose/%s if a verdict rests on it",
						at(), value, thresholdsFile)
				}
			}
			return true
		})
	}
}

// bareLiteral is the number that a comparison holds a figure against; "" if there is none. What is
// counted (len) and halves, doubles, signs are no thresholds.
func bareLiteral(x *ast.BinaryExpr) string {
	switch x.Op {
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
	default:
		return ""
	}
	found := ""
	for _, side := range []ast.Expr{x.X, x.Y} {
		ast.Inspect(side, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if nameOf(n.Fun) == "len" {
					found = "-"
				}
				return nameOf(n.Fun) == "float64"
			case *ast.IndexExpr, *ast.FuncLit, *ast.SliceExpr:
				return false
			case *ast.BasicLit:
				if n.Kind != token.CHAR && n.Kind != token.STRING && found == "" && !isTrivial(n.Value) {
					found = n.Value
				}
			}
			return true
		})
	}
	return strings.TrimPrefix(found, "-")
}

// isTrivial reports whether a number says more or less, half or double, or counts nanoseconds.
func isTrivial(value string) bool { return slices.Contains([]string{"0", "1", "2", "1e9"}, value) }

func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// aSource is a unit and where a threshold comes from.
var aSource = regexp.MustCompile(`^\S.*; (\[J\]|published: \S|measured: \S)`)

// Every row of the table has a unit and a source.
func TestThresholdsHaveSources(t *testing.T) {
	set, files := parseCode(t, ".")
	rows := 0
	for _, declaration := range files[thresholdsFile].Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok == token.IMPORT {
			continue
		}
		for _, spec := range group.Specs {
			row := spec.(*ast.ValueSpec)
			said := strings.TrimSpace(row.Comment.Text())
			if ramp, ok := row.Values[0].(*ast.CompositeLit); ok && len(ramp.Elts) == 4 {
				said = unquote(ramp.Elts[2]) + "; " + unquote(ramp.Elts[3])
			}
			if text, ok := row.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				continue // the words of the row above
			}
			rows++
			if !aSource.MatchString(said) {
				t.Errorf("%s: %s has no unit and source: %q", set.Position(row.Pos()), row.Names[0].Name, said)
			}
		}
	}
	if rows < 100 {
		t.Errorf("only %d thresholds were read", rows)
	}
}

func unquote(x ast.Expr) string {
	if text, ok := x.(*ast.BasicLit); ok {
		return strings.Trim(text.Value, `"`)
	}
	return ""
}
