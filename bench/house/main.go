// Command house measures how the code hangs together, by the compiler's own types: the share of the lines that each
// package has, files that use each other in a loop inside their package, and exported names that no other package
// uses. RESULTS.md has what it said.
//
//	go run ./bench/house [FOLDER]        of this module, or of another checkout
//
// Generated files and tests do not count. It builds what it reads: types come from the
// export data of the compiler.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// room is a package as `go list` tells it.
type room struct {
	ImportPath, Dir, Export, Name string
	GoFiles                       []string
	Module                        *struct{ Main bool }

	lines int
	uses  map[string]map[string]bool // file → files of this package
}

func main() {
	folder := "."
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := measure(folder, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func measure(folder string, out io.Writer) error {
	rooms, exports, err := listRooms(folder)
	if err != nil {
		return err
	}
	used := map[string]bool{}               // exported objects that another package names
	owned := map[string]map[string]string{} // room → exported object → its position
	for _, r := range rooms {
		if owned[r.ImportPath], err = r.read(exports, used); err != nil {
			return err
		}
	}
	printShares(rooms, out)
	printLoops(rooms, out)
	unused := 0
	for _, r := range rooms {
		for name, at := range owned[r.ImportPath] {
			if r.Name != "main" && !used[r.ImportPath+"."+name] {
				unused++
				fmt.Fprintf(out, "unused %s %s\n", at, name)
			}
		}
	}
	fmt.Fprintf(out, "exported functions, types, constants and variables that no other package uses: %d\n", unused)
	return nil
}

// listRooms asks the go command for our packages and for the export data of all.
func listRooms(folder string) (rooms []*room, exports map[string]string, err error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,Name,GoFiles,Module", "./...")
	list.Dir, list.Stderr = folder, os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, nil, err
	}
	exports = map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		r := &room{uses: map[string]map[string]bool{}}
		if err := decoder.Decode(r); errors.Is(err, io.EOF) {
			return rooms, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[r.ImportPath] = r.Export
		if r.Module != nil && r.Module.Main {
			rooms = append(rooms, r)
		}
	}
}

// read checks a room's types, notes which of its files use which, and what it uses of others.
func (r *room) read(exports map[string]string, used map[string]bool) (owned map[string]string, err error) {
	set, files := token.NewFileSet(), []*ast.File{}
	for _, name := range r.GoFiles {
		text, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(set, filepath.Join(r.Dir, name), text, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		if !bytes.Contains(text[:min(len(text), 2000)], []byte("DO NOT EDIT")) {
			r.lines += bytes.Count(text, []byte("\n"))
			r.uses[name] = map[string]bool{}
		}
	}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	whole, err := config.Check(r.ImportPath, set, files, info)
	if err != nil {
		return nil, err
	}
	for at, object := range info.Uses {
		if object.Pkg() == nil {
			continue
		}
		if object.Pkg() != whole {
			if object.Parent() == object.Pkg().Scope() { // not a field or a method of that name
				used[object.Pkg().Path()+"."+object.Name()] = true
			}
			continue
		}
		from, to := filepath.Base(set.Position(at.Pos()).Filename), filepath.Base(set.Position(object.Pos()).Filename)
		if from != to && r.uses[from] != nil && r.uses[to] != nil {
			r.uses[from][to] = true
		}
	}
	owned = map[string]string{}
	for _, name := range whole.Scope().Names() {
		if object := whole.Scope().Lookup(name); object.Exported() {
			owned[name] = set.Position(object.Pos()).String()
		}
	}
	return owned, nil
}

// printShares says what share of the lines a folder of the first level and the largest packages have.
func printShares(rooms []*room, out io.Writer) {
	total := 0
	for _, r := range rooms {
		total += r.lines
	}
	slices.SortFunc(rooms, func(a, b *room) int { return cmp.Compare(b.lines, a.lines) })
	fmt.Fprintf(out, "lines %d in %d packages\n", total, len(rooms))
	for _, r := range rooms[:min(len(rooms), 12)] {
		share := 100 * float64(r.lines) / float64(total)
		fmt.Fprintf(out, "%5.1f %%  %6d lines  %2d files  %s\n", share, r.lines, len(r.uses), r.ImportPath)
	}
}

// printLoops says how many files use each other in a loop inside their package.
func printLoops(rooms []*room, out io.Writer) {
	all, looped := 0, 0
	for _, r := range rooms {
		n := 0
		for file := range r.uses {
			if slices.ContainsFunc(slices.Collect(maps.Keys(r.uses[file])), func(to string) bool {
				return r.reaches(to, file, map[string]bool{})
			}) {
				n++
			}
		}
		all, looped = all+len(r.uses), looped+n
		if n > 5 {
			fmt.Fprintf(out, "%3d of %3d files in a loop  %s\n", n, len(r.uses), strings.TrimPrefix(r.ImportPath, "github.com/"))
		}
	}
	fmt.Fprintf(out, "files that use each other in a loop inside their package: %d of %d, %.0f %%\n", looped, all,
		100*float64(looped)/float64(all))
}

func (r *room) reaches(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for next := range r.uses[from] {
		if r.reaches(next, to, seen) {
			return true
		}
	}
	return false
}
