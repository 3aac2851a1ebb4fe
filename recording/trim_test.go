package recording

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// long writes a run of some seconds into a file, as a Writer does that trims at a size.
func long(t *testing.T, path string, seconds int, segment int64) *Writer {
	t.Helper()
	j := &job{workers: 1, period: 0.5, chance: rand.New(rand.NewPCG(3, 4))}
	w, err := Create(path, j.facts())
	if err != nil {
		t.Fatal(err)
	}
	w.trim.segment = segment
	for now := range seconds {
		j.second(w, float64(now))
		if now%10 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// A recording that is trimmed is judged as it was, has its first second and its last,
// and is as small as it was asked to be.
func TestTrim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	if err := long(t, path, 5000, segment).Close(); err != nil {
		t.Fatal(err)
	}
	was, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, err := Trim(path, 900_000, time.Now())
	if err != nil || before < 1_000_000 || after > 900_000 {
		t.Fatalf("%d bytes, %d before: %v", after, before, err)
	}
	is, err := Open(path)
	if err != nil || len(is.Warnings) > 0 {
		t.Fatal(err, is.Warnings)
	}
	sameWindows(t, was, is)
	if a, b := was.Windows()[0], is.Whole(is.Windows()[0]); b.Start > a.Start-3000 || b.OneIn < 2 {
		t.Errorf("the whole is from %.0f s on, one step in %d", b.Start, b.OneIn)
	}
	for _, s := range was.Series {
		thin := is.Find(s.Signal, s.Subject)
		if thin == nil || thin.T[0] != s.T[0] || thin.Last() != s.Last() || len(thin.T) > len(s.T) {
			t.Fatalf("%s of %s lacks its ends", s.Signal, s.Subject)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	data, _ := os.ReadFile(path)
	if !strings.Contains(string(unpacked(t, data)), `{"kind":"thinned","to":`) {
		t.Error("the file does not say what was thinned")
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A run whose training ended long ago is judged by its training: that stays whole.
func TestTrimKeepsWhatIsJudged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	w, err := Create(path, Facts{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for now := range 20_000 {
		at := float64(now)
		if now > 2000 && now < 6000 {
			w.AddStep(Step{PID: 1, N: now, Start: at, Period: 1, Wait: 0.3, Phase: Train, Idle: math.NaN(), DevicePeriod: math.NaN()})
			w.AddInside(1, 0, now, Inside{Clock: HostClock, Span: 1, Input: 0.3, Forward: at / 6000})
		}
		w.AddSample(TreeCPU, "tree", at, at*at)
		_ = w.Flush()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	was, _ := Open(path)
	if _, _, err := Trim(path, 0, time.Now()); err != nil {
		t.Fatal(err)
	}
	is, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sameWindows(t, was, is)
	if n, cpu := len(is.Steps), is.Find(TreeCPU, "tree"); n > 1500 || len(cpu.T) > 3500 || len(cpu.T) < 2600 {
		t.Errorf("%d steps, %d values", n, len(cpu.T))
	}
}

// Whenever a Writer is killed while it trims, its file opens with all that was in it; a
// file that was moved away meanwhile is left alone.
func TestTrimMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	w := long(t, path, 1500, math.MaxInt64/2)
	w.trim.segment = 0
	before, _ := Open(path)
	w.trim.startTrim(w)
	if w.trim.done == nil {
		t.Fatal("it did not begin")
	}
	err := <-w.trim.done
	w.trim.done <- err
	killed, err := Open(path) // had it been killed here
	if err != nil || len(killed.Steps) != len(before.Steps) {
		t.Fatal(err)
	}
	w.AddSample(TreeCPU, "tree", 1e6, 7)
	w.trim.segment = math.MaxInt64 / 2
	size := w.size
	if err := w.Flush(); err != nil || w.size >= size {
		t.Fatalf("%v, %d bytes of %d", err, w.size, size)
	}
	w.AddSample(TreeCPU, "tree", 1e6+1, 8)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := Open(path)
	if err != nil || run.Find(TreeCPU, "tree").Last() != 8 {
		t.Errorf("what came meanwhile is not there: %v", err)
	}
	if info, _ := os.Stat(path); info.Size() != w.size {
		t.Errorf("%d bytes, %d were counted", info.Size(), w.size)
	}

	path = filepath.Join(t.TempDir(), "moved.jsonl.gz")
	w = long(t, path, 1500, math.MaxInt64/2)
	w.trim.segment = 0
	w.trim.startTrim(w)
	err = <-w.trim.done
	w.trim.done <- err
	if err := os.Rename(path, path+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.AddSample(TreeCPU, "tree", 1e6, 9)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Error("a file of somebody else was written over")
	}
	if run, err := Open(path + ".elsewhere"); err != nil || run.Find(TreeCPU, "tree").Last() != 9 {
		t.Errorf("the moved file lacks its end: %v", err)
	}
}

// Nothing of a file that cannot be trimmed is touched.
func TestTrimRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for _, c := range []struct{ name, text, want string }{
		{"no recording", "hello\n", "expected a recording"},
		{"a trace", header + `{"kind":"host","t":1,"end":2,"name":"launch"}` + "\n", "a profiler's events"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Trim(path, 0, time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if text, _ := os.ReadFile(path); string(text) != c.text {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
	if _, err := trimTo(failing{}, bytes.NewReader([]byte(header)), nil, oldEvery); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

// Remains of a killed stoker are removed, those of a running one are not.
func TestTrimWhileAnotherTrims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	if err := long(t, path, 1200, segment).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+beside, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Trim(path, 1, time.Now()); err == nil || !strings.Contains(err.Error(), "another stoker") {
		t.Errorf("what another writes: %v", err)
	}
	if text, _ := os.ReadFile(path + beside); string(text) != "half" {
		t.Error("what another writes was touched")
	}
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(path+beside, old, old); err != nil {
		t.Fatal(err)
	}
	if before, after, err := Trim(path, 1, time.Now()); err != nil || after >= before {
		t.Errorf("%d bytes, before %d: %v", after, before, err)
	}
	if _, err := os.Lstat(path + beside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left beside it: %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// Copies of a recording that were damaged in different places, and pieces of it, give
// the whole again; files of two runs are not mixed.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := long(t, file("run.jsonl.gz"), 500, segment).Close(); err != nil {
		t.Fatal(err)
	}
	was, _ := Open(file("run.jsonl.gz"))
	data, _ := os.ReadFile(file("run.jsonl.gz"))
	for name, at := range map[string]int{"a.jsonl.gz": len(data) / 3, "b.jsonl.gz": len(data) / 2} {
		copied := bytes.Clone(data)
		copied[at] ^= 0x55
		if name == "b.jsonl.gz" {
			copied = copied[:len(copied)*3/4]
		}
		if err := os.WriteFile(file(name), copied, 0o600); err != nil {
			t.Fatal(err)
		}
		if run, err := Open(file(name)); err != nil || len(run.Warnings) == 0 {
			t.Fatal(err, run.Warnings)
		}
	}
	var out bytes.Buffer
	if err := Merge(&out, file("a.jsonl.gz"), file("b.jsonl.gz")); err != nil {
		t.Fatal(err)
	}
	is, err := Read(&out)
	if err != nil || len(is.Warnings) > 0 {
		t.Fatal(err, is.Warnings)
	}
	if got, want := text(t, is), text(t, was); got != want {
		t.Errorf("%d bytes of lines, want %d", len(got), len(want))
	}
	if err := os.WriteFile(file("other.jsonl.gz"), []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	err = Merge(&out, file("a.jsonl.gz"), file("other.jsonl.gz"))
	if err == nil || !strings.Contains(err.Error(), "other.jsonl.gz: it is of another run than the first file") {
		t.Error(err)
	}
}
