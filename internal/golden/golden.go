// Package golden compares the output of a program with a golden file: the output that was
// reviewed and committed.
//
// A test opens a folder of golden files and checks each text against the file of its name.
// `make golden` (go test PACKAGES -update) rewrites the files; the difference is then reviewed
// in git. At its end the test fails if nothing was checked, so that a test without cases does
// not pass, and if a file was not used.
//
// The package compares bytes. It does not depend on runs or reports, and only tests import it.
package golden

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files with what the tests see now")

// Dir is a folder of golden files that belongs to one test.
type Dir struct {
	path   string
	suffix string
	update bool
	asked  map[string]bool // names that were checked
}

// Open opens a folder of golden files whose names end in suffix (".txt"). If the test has not
// failed by its end, Open's cleanup fails it if nothing was checked or if a file was not used;
// with -update it removes such files. It ignores files with other suffixes.
func Open(t *testing.T, path, suffix string) *Dir {
	t.Helper()
	d := &Dir{path: path, suffix: suffix, update: *update, asked: map[string]bool{}}
	t.Cleanup(func() {
		// A filter (-run Test/case) skips cases, whose files are then unused for that reason.
		if run := flag.Lookup("test.run"); t.Failed() || t.Skipped() || run != nil &&
			strings.Contains(run.Value.String(), "/") {
			return
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Check compares got with the golden file of a name such as "healthy", and reports the first
// line that differs. The file's newlines are "\n".
func (d *Dir) Check(t *testing.T, name, got string) {
	t.Helper()
	if err := d.check(name, got); err != nil {
		t.Error(err)
	}
}

func (d *Dir) check(name, got string) error {
	if d.asked[name] {
		return fmt.Errorf("golden %q: checked twice", name)
	}
	d.asked[name] = true
	file := filepath.Join(d.path, filepath.FromSlash(name)+d.suffix)
	want, err := os.ReadFile(file)
	switch {
	case err == nil && string(want) == got:
		return nil
	case d.update:
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(got), 0o644)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing (go test -update writes it); it would be:\n%s", file, got)
	case err != nil:
		return err
	}
	return fmt.Errorf("%s differs (go test -update rewrites it):\n%s\nin full:\n%s", file,
		firstDifference(string(want), got), got)
}

// close returns an error if nothing was checked or if files were not used; with -update it
// removes these.
func (d *Dir) close() error {
	if len(d.asked) == 0 {
		return fmt.Errorf("golden folder %s: no cases were checked", d.path)
	}
	var orphans []string
	err := filepath.WalkDir(d.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, d.suffix) {
			return err
		}
		name, err := filepath.Rel(d.path, strings.TrimSuffix(path, d.suffix))
		if err == nil && !d.asked[filepath.ToSlash(name)] {
			orphans = append(orphans, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !d.update {
		if len(orphans) > 0 {
			return fmt.Errorf("golden files that no test asked for (go test -update removes them): %s",
				strings.Join(orphans, ", "))
		}
		return nil
	}
	for _, orphan := range orphans {
		if err := os.Remove(orphan); err != nil {
			return err
		}
	}
	return nil
}

// firstDifference describes the first line that differs.
func firstDifference(want, got string) string {
	w, g := slices.Collect(strings.Lines(want)), slices.Collect(strings.Lines(got))
	for i := range max(len(w), len(g)) {
		a, b := "(end)", "(end)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n  want %q\n  got  %q", i+1, a, b)
		}
	}
	return "no line differs"
}
