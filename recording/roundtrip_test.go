package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
)

// sample is a small run with everything that a live recording can hold.
func sample(w *Writer) {
	pinned := true
	w.SetFacts(Facts{
		Version: "test", Command: []string{"python", "train.py"}, Started: 1.7e9, Monotonic: 12345,
		Machine:   Machine{CPUs: 2, Allowed: 2, Quota: 1.5, LockedBytes: new(-1.0)},
		GPUs:      []GPU{{Index: 0, Name: "GPU", Emulated: true}},
		Processes: []Process{{PID: 7, Role: RoleTrainer, Device: 0, LaunchThread: 7, Hooked: true}},
		Loaders: []Loader{{
			ID: 0, PID: 7, Settings: stoker.Settings{stoker.NumWorkers: 4, stoker.PinMemory: false}, Pinned: &pinned,
		}},
		Absent: []Absence{{"gpu", "none"}},
	})
	for i := range 20 {
		t := float64(i) / 2
		w.AddSample(ThreadState, "thread/7", t, float64(i%4))
		w.AddSample(TreeCPU, "tree", t, t*1.5)
		w.AddSample(GPUPower, "gpu/0", t, math.NaN()) // unknown: no sample
		w.AddStep(Step{
			PID: 7, Device: 0, N: i, Start: t, Period: 0.5, Wait: 0.1, Samples: 16, First: i == 0,
			Phase: Train, Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
		if i > 1 {
			w.AddClock(DeviceClock{PID: 7, N: i - 2, Device: 0, Idle: 0.05, Period: 0.5})
		}
		if i%5 == 4 {
			w.AddInside(7, 0, i-1, Inside{Clock: "cuda", Span: 0.5, Input: 0.1, Forward: 0.3, Syncs: new(2.0), SyncTime: new(0.05)})
		}
		if i%4 == 3 {
			_ = w.Flush()
		}
	}
}

// text is a run in the form in which two are compared.
func text(t testing.TB, run *Run) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, run); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func recorded(t testing.TB) (path string, live *Run) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs", "run.jsonl.gz")
	w, err := Create(path, Facts{Version: "test", Started: 1.7e9, Monotonic: 12345})
	if err != nil {
		t.Fatal(err)
	}
	sample(w)
	live = w.RunSoFar()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path, live
}

func TestRoundTrip(t *testing.T) {
	path, live := recorded(t)
	read, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := text(t, live)
	if got := text(t, read); got != want {
		t.Errorf("read back:\n%s\nwritten:\n%s", got, want)
	}
	if len(read.Steps) != 20 || len(read.Series) != 2 || len(read.Warnings) != 0 {
		t.Errorf("%d steps, %d series, warnings %q", len(read.Steps), len(read.Series), read.Warnings)
	}
	if i := read.Steps[3].Inside; i == nil || math.Abs(i.Rest()-0.1) > 1e-9 || *i.Syncs != 2 || i.Launches != nil || read.Steps[2].Inside != nil {
		t.Errorf("inside of step 3: %+v, of step 2: %+v", i, read.Steps[2].Inside)
	}
	if s := read.Steps[3]; s.Idle != 0.05 || !math.IsNaN(read.Steps[19].Idle) {
		t.Errorf("clock of step 3 is %v, of the last %v", s.Idle, read.Steps[19].Idle)
	}
	again, err := Read(strings.NewReader(want)) // plain lines, as tests write them
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, again); got != want {
		t.Errorf("read from plain lines:\n%s\nwritten:\n%s", got, want)
	}
}

func TestModes(t *testing.T) {
	path, _ := recorded(t)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	if _, err := Create(path, Facts{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a recording that is there was overwritten: %v", err)
	}
}

// The short way to write a sample gives what reading expects, for odd numbers
// and odd names as well.
func TestSamplesAsJSON(t *testing.T) {
	disk := &full{room: 1 << 20}
	w := made(disk, Facts{Version: "test"})
	for i, v := range []float64{0, 1, -1.5, 1e-9, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 123456789012} {
		for _, subject := range []string{"", "tree", "a\"b", "c\\d", "größe", "\x1b<&>"} {
			w.AddSample(TreeCPU, subject, float64(i)/3, v)
		}
	}
	want := text(t, w.RunSoFar())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	read, err := Read(bytes.NewReader(disk.data))
	if err != nil || len(read.Warnings) > 0 || text(t, read) != want {
		t.Errorf("%v %q: read\n%s\nwant\n%s", err, read.Warnings, text(t, read), want)
	}
}

// made is what Create does, with a disk of the test's.
func made(disk *full, facts Facts) *Writer {
	w := newWriter(disk, "run", facts)
	_ = w.Flush()
	return w
}

// full is a disk that takes a number of bytes and no more.
type full struct {
	data []byte
	at   int
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), max(0, f.room-f.at))
	f.data = append(f.data[:f.at], p[:n]...)
	f.at += n
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (f *full) Truncate(size int64) error { f.data = f.data[:size]; return nil }

func (f *full) Seek(to int64, _ int) (int64, error) { f.at = int(to); return to, nil }

func (f *full) Close() error { return nil }

func TestFullDisk(t *testing.T) {
	_, live := recorded(t)
	want := text(t, live)
	for room := 120; room < 1600; room += 37 {
		disk := &full{room: room}
		w := made(disk, Facts{Version: "test", Started: 1.7e9, Monotonic: 12345})
		sample(w)
		if got := text(t, w.RunSoFar()); got != want {
			t.Fatalf("with room for %d bytes the snapshot lacks something", room)
		}
		if _, err := Read(bytes.NewReader(disk.data)); err != nil && w.size > 0 {
			t.Fatalf("with room for %d bytes the file cannot be read: %v", room, err)
		}
		disk.room = 1 << 20 // somebody made space
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		read, err := Read(bytes.NewReader(disk.data))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, read); got != want {
			t.Fatalf("after space was made the file lacks something (room %d)", room)
		}
	}
}

func TestPendingIsBounded(t *testing.T) {
	disk := &full{room: 200}
	w := made(disk, Facts{Version: "test"})
	chance := rand.New(rand.NewPCG(1, 1))
	for i := range 500_000 {
		w.AddSample(TreeCPU, "tree", float64(i), chance.Float64())
	}
	if n := w.waiting.Len() + w.pending.Len(); n > maxWaiting+2*maxMember || n < maxWaiting/2 {
		t.Errorf("%d bytes wait for the disk", n)
	}
	disk.room = 1 << 30
	if err := w.Close(); err == nil {
		t.Error("nothing says that the newest part is missing")
	}
}

// A disk that takes nothing is no reason to hold more.
func TestFullDiskAtAnyRate(t *testing.T) {
	w := made(&full{room: 200}, Facts{Version: "test"})
	j := &job{workers: 1, period: 1. / 20_000, chance: rand.New(rand.NewPCG(5, 6))}
	for now := range 60 {
		j.second(w, float64(now))
		w.Pack()
		if weight, waits := w.live.weight(), w.waiting.Len()+w.pending.Len(); weight > liveMemory || waits > maxWaiting+2*maxMember {
			t.Fatalf("after %d s %d bytes are held, %d wait", now, weight, waits)
		}
	}
	if w.live.density().OneIn < 64 {
		t.Error("all steps are kept")
	}
}

func TestForget(t *testing.T) {
	disk := &full{room: 1 << 30}
	w := made(disk, Facts{Version: "test"})
	const hours = 3 * 3600
	var early *Run
	for i := range hours {
		w.AddSample(TreeCPU, "tree", float64(i), float64(i))
		w.AddStep(Step{PID: 1, N: i, Start: float64(i), Period: 1, Phase: Train, Idle: math.NaN(), DevicePeriod: math.NaN()})
		if i%60 == 0 {
			_ = w.Flush()
		}
		if i == 1000 {
			early = w.RunSoFar()
		}
	}
	before := text(t, early)
	w.AddClock(DeviceClock{PID: 1, N: 5, Idle: 1}) // forgotten: ignored
	w.AddClock(DeviceClock{PID: 1, N: hours - 1, Idle: 1, Period: 1})
	run := w.RunSoFar()
	if n := len(run.Steps); n > recent+lookOver+around+61 || n < recent {
		t.Errorf("%d steps are held", n)
	}
	if last := run.Steps[len(run.Steps)-1]; last.Idle != 1 {
		t.Error("the clock of the last step was lost")
	}
	if text(t, early) != before || len(early.Steps) != 1001 {
		t.Error("a snapshot changed after it was handed out")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := Read(bytes.NewReader(disk.data))
	if err != nil || len(whole.Steps) != hours {
		t.Errorf("the file holds %d steps (%v)", len(whole.Steps), err)
	}
}

func TestSnapshotKeepsItsClocks(t *testing.T) {
	w := made(&full{room: 1 << 20}, Facts{})
	w.AddStep(Step{PID: 1, Phase: Train, Idle: math.NaN(), DevicePeriod: math.NaN()})
	early := w.RunSoFar()
	w.AddClock(DeviceClock{PID: 1, Idle: 2, Period: 3})
	if !math.IsNaN(early.Steps[0].Idle) {
		t.Error("a clock that came later changed a snapshot")
	}
	if got := w.RunSoFar().Steps[0].DevicePeriod; got != 3 {
		t.Errorf("device period %v", got)
	}
}

func TestName(t *testing.T) {
	for program, want := range map[string]string{
		"train.py":              "S-train.jsonl.gz",
		"/a/b/my run;rm -rf.py": "S-my-run-rm--rf.jsonl.gz",
		"":                      "S-run.jsonl.gz",
		"../..":                 "S-run.jsonl.gz",
		"\x1b[2J":               "S-2J.jsonl.gz",
	} {
		if got := Name("S", program); got != want {
			t.Errorf("Name(%q) = %q, want %q", program, got, want)
		}
	}
	if got := Name("S", "train.py", "node-7", "", "r3", "12; rm -rf /"); got != "S-train-node-7-r3-12--rm--rf.jsonl.gz" {
		t.Errorf("with marks: %q", got)
	}
	for path, want := range map[string]string{"a.b/run.jsonl.gz": "a.b/run-2.jsonl.gz", "run.gz": "run-2.gz", "run": "run-2"} {
		if got := Beside(path, 2); got != want {
			t.Errorf("Beside(%q) = %q, want %q", path, got, want)
		}
	}
	if got := Name("S", strings.Repeat("a", 400)); len(got) > 60 {
		t.Error(fmt.Sprint("a name of ", len(got)))
	}
}

// A disk that is full at the start may have room later; if it never has, no empty file remains.
func TestFullFromTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWriter(&full{}, path, Facts{})
	if err := w.Close(); err == nil || w.Path() != "" {
		t.Errorf("%v, %q", err, w.Path())
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty file was left")
	}
	nowhere := Nowhere(Facts{Version: "v"})
	nowhere.AddSample(TreeCPU, "tree", 1, 2)
	if err := nowhere.Close(); err != nil || nowhere.Path() != "" || nowhere.RunSoFar().Find(TreeCPU, "tree").Last() != 2 {
		t.Error(err, nowhere.Path())
	}
}

// Files that others put into their folder are not written through.
func TestFolderOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/runs", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/mine", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/mine", dir+"/runs/.gitignore"); err != nil {
		t.Fatal(err)
	}
	w, err := Create(dir+"/runs/run.jsonl.gz", Facts{})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if text, _ := os.ReadFile(dir + "/mine"); string(text) != "mine" {
		t.Errorf("a file was written through a link: %q", text)
	}
}
