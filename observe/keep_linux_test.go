package observe

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFilesThatAreNotKept(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		_ = os.WriteFile(path, []byte(text), 0o600)
		return path
	}
	good := file("good", `{"traceEvents":[]}`)
	_ = os.Symlink(good, dir+"/link")
	_ = os.Mkdir(dir+"/folder", 0o700)
	_ = unix.Mkfifo(dir+"/fifo", 0o600)
	named := file("named", `{"a":1}`)
	_ = os.Link(named, dir+"/named2")
	for _, path := range []string{dir + "/link", dir + "/folder", dir + "/fifo", dir + "/none", named, file("cut", `{"traceEvents":[`), file("empty", ""), file("{", "}")} {
		if w, err := openWritten(path); err == nil {
			t.Errorf("%s was taken", path)
			_ = w.Close()
		}
	}
	w, err := openWritten(good)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	taken := file("taken", "mine")
	if path, err := w.copyTo([]string{taken, dir + "/free"}); err != nil || path != dir+"/free" {
		t.Error(path, err)
	}
	if text, _ := os.ReadFile(taken); string(text) != "mine" {
		t.Error("a file of the user was overwritten")
	}
	if _, err := w.copyTo([]string{taken}); err == nil {
		t.Error("no name was free")
	}
}
