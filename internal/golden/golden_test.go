package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func folder(t *testing.T, update bool, files map[string]string) *Dir {
	t.Helper()
	path := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Dir{path: path, suffix: ".txt", update: update, asked: map[string]bool{}}
}

func TestCheck(t *testing.T) {
	d := folder(t, false, map[string]string{"a.txt": "one\ntwo\n", "notes.md": "not a golden file"})
	if err := d.check("a", "one\ntwo\n"); err != nil {
		t.Errorf("the same text: %v", err)
	}
	if err := d.check("a", "one\ntwo\n"); err == nil {
		t.Error("the same name twice: no error")
	}
	if err := d.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	d = folder(t, false, map[string]string{"a.txt": "one\ntwo\n"})
	err := d.check("a", "one\nthree\n")
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("another text: %v, want the line that differs", err)
	}
	if err := d.check("b", "new\n"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestNoCasesFail(t *testing.T) {
	if err := folder(t, false, nil).close(); err == nil {
		t.Error("a folder that checked nothing passes")
	}
}

func TestOrphans(t *testing.T) {
	files := map[string]string{"a.txt": "one\n", "gone.txt": "old\n"}
	for _, update := range []bool{false, true} {
		d := folder(t, update, files)
		if err := d.check("a", "one\n"); err != nil {
			t.Fatal(err)
		}
		err := d.close()
		_, missing := os.Stat(filepath.Join(d.path, "gone.txt"))
		if update && (err != nil || missing == nil) {
			t.Errorf("with -update: error %v, orphan is still there: %v", err, missing == nil)
		}
		if !update && (err == nil || !strings.Contains(err.Error(), "gone.txt")) {
			t.Errorf("orphan not named: %v", err)
		}
	}
}

func TestUpdateWrites(t *testing.T) {
	d := folder(t, true, map[string]string{"a.txt": "old\n"})
	for name, text := range map[string]string{"a": "new\n", "deep/b": "b\n"} {
		if err := d.check(name, text); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(d.path, name+".txt"))
		if err != nil || string(data) != text {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}

// A part of a page is compared, and rewritten without touching what people wrote around it.
func TestPart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	page := func(part string) string {
		return "by hand\n<!-- begin words (made by a test) -->\n" + part + "<!-- end words -->\nby hand\n"
	}
	if err := os.WriteFile(file, []byte(page("old\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if checkPart(file, "words", "old\n", false) != nil || checkPart(file, "words", "new\n", false) == nil || checkPart(file, "other", "new\n", true) == nil {
		t.Error("a part that is equal, one that differs and one that is missing are not told apart")
	}
	if err := checkPart(file, "words", "new\n", true); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != page("new\n") {
		t.Errorf("rewritten: %q, %v", got, err)
	}
}
