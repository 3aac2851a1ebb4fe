package recording

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// counting counts the bytes read from a file.
type counting struct {
	from io.Reader
	n    int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// grown is a recording that is being written, and somebody who follows it.
type grown struct {
	*job
	t    *testing.T
	path string
	out  *Writer
	in   *Follower
}

func newGrown(t *testing.T, steps float64) *grown {
	t.Helper()
	g := &grown{job: &job{workers: 2, period: 1 / steps, chance: rand.New(rand.NewPCG(1, 2))}, t: t, path: filepath.Join(t.TempDir(), "run.jsonl.gz")}
	var err error
	if g.out, err = Create(g.path, g.facts()); err != nil {
		t.Fatal(err)
	}
	if g.in, err = Follow(g.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = g.out.Close(), g.in.Close() })
	return g
}

func (g *grown) write(now int) {
	g.t.Helper()
	g.second(g.out, float64(now))
	if err := g.out.Flush(); err != nil {
		g.t.Fatal(err)
	}
}

// same asks for what the follower has, which is to be what a reader finds.
func (g *grown) same() {
	g.t.Helper()
	want, err := Open(g.path)
	if err != nil {
		g.t.Fatal(err)
	}
	got, err := g.in.Next()
	if err != nil || got == nil {
		g.t.Fatalf("%v, %v", got, err)
	}
	sameRun(g.t, got, want)
	if again, err := g.in.Next(); again != nil || err != nil {
		g.t.Errorf("nothing came, and the run is another: %v", err)
	}
}

func sameRun(t *testing.T, got, want *Run) {
	t.Helper()
	sameWindows(t, got, want)
	if len(got.Series) != len(want.Series) || len(got.Steps) != len(want.Steps) || !reflect.DeepEqual(got.Facts, want.Facts) || !reflect.DeepEqual(got.Warnings, want.Warnings) {
		t.Fatalf("%d series, %d steps, %q; want %d, %d, %q", len(got.Series), len(got.Steps), got.Warnings, len(want.Series), len(want.Steps), want.Warnings)
	}
	for i, s := range want.Series {
		if !reflect.DeepEqual(got.Series[i], s) {
			t.Fatalf("%s of %s differs", s.Signal, s.Subject)
		}
	}
}

// Whoever follows a recording reads each byte of it once, however often it has grown, and
// has what a reader of the whole has.
func TestFollowReadsEachByteOnce(t *testing.T) {
	g := newGrown(t, 30)
	count := &counting{from: g.in.file}
	g.in.reader.in.from = count
	for now := range 20 {
		g.write(now)
		g.same()
	}
	if info, err := os.Stat(g.path); err != nil || count.n != info.Size() {
		t.Errorf("%d bytes were read of %d", count.n, info.Size())
	}
}

// Following continues after the Writer has rewritten the file.
func TestFollowReadsARewrittenFile(t *testing.T) {
	g := newGrown(t, 2)
	g.workers, g.out.trim.segment = 0, 1<<14
	anew := 0
	for now := range 1200 {
		g.second(g.out, float64(now))
		if now%100 != 99 {
			continue
		}
		if err := g.out.Flush(); err != nil {
			t.Fatal(err)
		}
		if g.out.trim.done != nil {
			err := <-g.out.trim.done
			g.out.trim.done <- err
		}
		was := g.in.file
		if g.same(); g.in.file != was {
			anew++
		}
	}
	if anew == 0 {
		t.Error("the file was never written anew")
	}
}

// A file is empty for a moment when another takes its place, and then holds less than a second.
func TestFollowWaitsForTheFirstSecond(t *testing.T) {
	g := newGrown(t, 4)
	for now := range 3 {
		g.write(now)
	}
	whole, err := os.ReadFile(g.path)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(g.path)
	for _, text := range [][]byte{nil, nil, whole[:len(whole)/40], whole} {
		if err := os.WriteFile(g.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		run, err := g.in.Next()
		if all := len(text) == len(whole); all != (run != nil) || !all && !errors.Is(err, ErrNoSecond) {
			t.Errorf("%d of %d bytes: run %v, error %v", len(text), len(whole), run != nil, err)
		}
	}
}

// A member that is half written is waited for; one behind which another begins is
// damaged, and what follows is read.
func TestFollowWaitsForTheEndOfASecond(t *testing.T) {
	g := newGrown(t, 30)
	var sizes []int64
	for now := range 4 {
		g.write(now)
		sizes = append(sizes, g.out.size)
	}
	whole, err := os.ReadFile(g.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.jsonl.gz")
	put := func(data []byte) *Run {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return want
	}
	put(whole[:sizes[0]])
	in, err := Follow(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	for at := sizes[0] + 1; at <= sizes[3]; at += 97 {
		want := put(whole[:at])
		got, err := in.Next()
		if err != nil || got == nil {
			t.Fatal(err)
		}
		sameRun(t, got, want)
	}
	torn := append(append([]byte(nil), whole[:sizes[1]-200]...), whole[sizes[1]:]...)
	want := put(torn)
	in2, err := Follow(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in2.Close() }()
	got, err := in2.Next()
	if err != nil || len(got.Warnings) != 1 || len(want.Warnings) != 1 {
		t.Fatal(err, got.Warnings)
	}
	sameRun(t, got, want)
}

// Uncompressed lines, as tests write them, are read again when there are more.
func TestFollowPlainLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	text := `{"kind":"header","format":1,"unix":1.7e9}` + "\n"
	in := (*Follower)(nil)
	for n := range 3 {
		text += `{"kind":"sample","t":` + string(rune('1'+n)) + `,"signal":"tree.cpu","subject":"tree","value":1}` + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if in == nil {
			var err error
			if in, err = Follow(path); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close() }()
		}
		run, err := in.Next()
		if err != nil || len(run.Find(TreeCPU, "tree").T) != n+1 || math.Abs(run.End()-float64(n+1)) > 0 {
			t.Fatal(err, n)
		}
	}
	if _, err := Follow(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a file that is not there is followed")
	}
	if in, err := Follow(t.TempDir()); err == nil {
		if _, err := in.Next(); err == nil {
			t.Error("a folder is followed")
		}
		_ = in.Close()
	}
}
