package private

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

const source = "hook = 1\n"

func scripts(text string) fs.FS { return fstest.MapFS{"sitecustomize.py": {Data: []byte(text)}} }

// A script that was changed or cut is written again, in a private folder and in one that all may read.
func TestScriptsAreRepaired(t *testing.T) {
	for name, grants := range map[string]access{"closed": closed, "readable": readable} {
		t.Run(name, func(t *testing.T) { testWhole(t, grants) })
	}
}

func testWhole(t *testing.T, grants access) {
	base := place(t)
	folder, err := keepScripts(base, "hook-", scripts(source), grants)
	if err != nil {
		t.Fatal(err)
	}
	file, own := folder+"/sitecustomize.py", base+"/own"
	for name, spoil := range map[string]func() error{
		"nothing":        func() error { return nil },
		"cut":            func() error { return os.Truncate(file, 3) },
		"longer":         func() error { return os.WriteFile(file, []byte("hook = 1\nevil = 1\n"), 0o600) },
		"gone":           func() error { return os.Remove(file) },
		"group's":        func() error { return os.Chmod(file, 0o640) },
		"everybody's":    func() error { return os.Chmod(file, 0o666) },
		"with two names": func() error { _ = os.Remove(own); return os.Link(file, own) },
		"an open folder": func() error { return os.Chmod(folder, 0o777) },
		"an open cache":  func() error { return os.Chmod(folder+"/__pycache__", 0o777) },
		"a link to another": func() error {
			_ = os.Remove(own)
			_ = os.WriteFile(own, []byte(source), grants.file)
			_ = os.Remove(file)
			return os.Symlink(own, file)
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if again, err := keepScripts(base, "hook-", scripts(source), grants); err != nil || again != folder {
			t.Errorf("%s: %v, %s", name, err, again)
		}
		if problem := whole(file, grants); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 2 {
		t.Errorf("beside the script and what Python compiles: %v", left)
	}
	if other, err := keepScripts(base, "hook-", scripts("hook = 2\n"), grants); err != nil || other == folder {
		t.Error("another version has the same place: ", err)
	}
	_ = os.RemoveAll(folder)
	_ = os.Symlink("/tmp", folder)
	if _, err := keepScripts(base, "hook-", scripts(source), grants); err == nil || !strings.Contains(err.Error(), "not a folder of yours") {
		t.Error("through a link: ", err)
	}
	if _, err := keepScripts("/run/a:b", "hook-", scripts(source), grants); err == nil || !strings.Contains(err.Error(), "colon") {
		t.Error(err)
	}
}

// whole returns an error if a script or a folder above it is not as it should be.
func whole(file string, grants access) string {
	var now unix.Stat_t
	text, _ := os.ReadFile(file)
	if string(text) != source || unix.Lstat(file, &now) != nil || now.Mode != unix.S_IFREG|uint32(grants.file) || now.Nlink != 1 {
		return string(text) + " is not what was written, or others write it"
	}
	for _, folder := range []string{filepath.Dir(file), filepath.Dir(file) + "/__pycache__"} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != grants.folder {
			return folder + " has the mode " + info.Mode().String()
		}
	}
	return ""
}

// What did not change is not written again: what Python compiled of it stays good.
func TestScriptsAreKept(t *testing.T) {
	base := place(t)
	write := func() (s unix.Stat_t) {
		folder, err := keepScripts(base, "hook-", scripts(source), closed)
		if err != nil || unix.Stat(folder+"/sitecustomize.py", &s) != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b := write(), write(); a.Ino != b.Ino || a.Mtim != b.Mtim {
		t.Error("it was written twice")
	}
}

// Where others cannot pass, or can write, scripts are not left for them to read.
func TestReadablePlace(t *testing.T) {
	base := place(t)
	if real, err := makeReadable(base, "x"); err == nil {
		t.Errorf("%s lies in %s, which is closed", real, base)
	}
	if _, err := makeReadable("/tmp", "x"); err == nil {
		t.Error("made in a folder that everybody writes")
	}
	if os.Geteuid() != 0 {
		return
	}
	_ = os.Symlink("/tmp", base+"/link")
	if real, err := makeReadable(base, "link"); err == nil {
		t.Error("through a link: ", real)
	}
}
