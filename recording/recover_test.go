package recording

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No matter what others do to the file, the recorded data are in a file at the end, and the
// files of others are not changed.
func TestRecover(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(path string) error
		what string
		file string // where the run is at the end
	}{
		"nobody":                     {func(string) error { return nil }, "", "run.jsonl.gz"},
		"removed":                    {os.Remove, "was removed", "run.jsonl.gz"},
		"moved":                      {func(path string) error { return os.Rename(path, path+".moved") }, "was removed", "run.jsonl.gz"},
		"emptied":                    {func(path string) error { return os.Truncate(path, 0) }, "was cut", "run-2.jsonl.gz"},
		"cut":                        {func(path string) error { return os.Truncate(path, 100) }, "was cut", "run-2.jsonl.gz"},
		"replaced":                   {replaceFile, "was replaced", "run-2.jsonl.gz"},
		"replaced by a short one":    {func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) }, "was cut", "run-2.jsonl.gz"},
		"with a copy under way":      {func(path string) error { return os.WriteFile(path+beside, nil, 0o600) }, "", "run.jsonl.gz"},
		"emptied, the next is there": {emptyBesideAnother, "was cut", "run-3.jsonl.gz"},
	} {
		path := filepath.Join(t.TempDir(), "run.jsonl.gz")
		w, err := Create(path, Facts{Version: "test", Started: 1.7e9, Monotonic: 12345})
		if err != nil {
			t.Fatal(err)
		}
		sample(w)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := c.harm(path); err != nil {
			t.Fatal(err)
		}
		theirs, _ := os.ReadFile(path)
		w.AddSample(TreeCPU, "tree", 100, 1)
		if what, err := w.Recover(); what != c.what || err != nil {
			t.Errorf("%s: %q, %v", name, what, err)
		}
		if err := w.Flush(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.AddSample(TreeCPU, "tree", 101, 2)
		if what, err := w.Recover(); what != "" || err != nil {
			t.Errorf("%s, again: %q, %v", name, what, err)
		}
		want := text(t, w.RunSoFar())
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		read, err := Open(filepath.Join(filepath.Dir(path), c.file))
		if err != nil || filepath.Base(w.Path()) != c.file {
			t.Errorf("%s: %v, in %s", name, err, w.Path())
			continue
		}
		if got := text(t, read); got != want {
			t.Errorf("%s: the file lacks something:\n%s\nwant\n%s", name, got, want)
		}
		if now, _ := os.ReadFile(path); c.file != "run.jsonl.gz" && string(now) != string(theirs) {
			t.Errorf("%s: the file of others was written to", name)
		}
	}
}

func replaceFile(path string) error {
	if err := os.WriteFile(path+".new", []byte(strings.Repeat("theirs ", 10_000)), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func emptyBesideAnother(path string) error {
	if err := os.WriteFile(Beside(path, 2), []byte("another run"), 0o600); err != nil {
		return err
	}
	return os.Truncate(path, 0)
}

// Who takes each file away gets no new one each second, and a folder that has gone is
// not made again.
func TestRecoverEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "run.jsonl.gz")
	w, err := Create(path, Facts{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for range 2 * mostRecoveries {
		_ = os.Remove(path)
		what, err := w.Recover()
		if err != nil {
			t.Fatal(err)
		}
		if what != "" {
			made++
		}
		_ = w.Flush()
	}
	if made != mostRecoveries {
		t.Errorf("%d new files", made)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if w, err = Create(path, Facts{Version: "test"}); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(filepath.Dir(path))
	if what, err := w.Recover(); what == "" || err == nil {
		t.Errorf("%q, %v", what, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a folder that was removed was made again")
	}
}
