//go:build linux

package observe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/launch"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/python/hook"
	"github.com/stoker-dev/stoker/recording"
)

// blind is a machine without a GPU, so that tests do not depend on the real one.
// emptyHook has nothing to say: who connects to its socket is a test.
var emptyHook = fstest.MapFS{"sitecustomize.py": {}}

func blind(string) (GPU, error) { return nil, errors.New("none in this test") }

func record(t *testing.T, o Options) *recording.Run {
	t.Helper()
	leash.Hold(t)
	if o.Output == "" {
		o.Output = filepath.Join(t.TempDir(), "run.jsonl.gz")
	}
	if o.OpenGPU == nil {
		o.OpenGPU = blind
	}
	run, err := Record(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	read, err := recording.Open(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Warnings) > 0 || len(read.Series) != len(run.Series) || len(read.Steps) != len(run.Steps) {
		t.Errorf("the file differs from the run: %q", read.Warnings)
	}
	return run
}

// gate is a stdin at which a command waits (sh: read x) until it is opened.
func gate(t *testing.T) (stdin *os.File, open func()) {
	t.Helper()
	stdin, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = hold.Close() })
	return stdin, func() { _ = hold.Close() }
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// TestLooksAreIrregular has intervals of half to one and a half ticks, a tick in the mean.
func TestLooksAreIrregular(t *testing.T) {
	const draws = 10000
	var sum, least, most time.Duration
	least = tick
	for range draws {
		next := nextTick()
		sum, least, most = sum+next, min(least, next), max(most, next)
	}
	if least < tick/2 || most >= tick*3/2 || least > tick*6/10 || most < tick*14/10 {
		t.Errorf("intervals lie between %v and %v, of %v in the mean", least, most, tick)
	}
	if mean := sum / draws; mean < tick*98/100 || mean > tick*102/100 {
		t.Errorf("an interval has %v in the mean", mean)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		signal string
	}{
		{"exit 0", 0, ""},
		{"exit 7", 7, ""},
		{"kill -TERM $$", 143, "SIGTERM"},
		{"kill -KILL $$", 137, "SIGKILL"},
		{"kill -INT $$", 130, "SIGINT"},
	} {
		run := record(t, Options{Command: []string{"sh", "-c", c.script}})
		e := run.Facts.Exit
		if e == nil || e.Code != c.code || e.Signal != c.signal {
			t.Errorf("%s: %+v, want %d %s", c.script, e, c.code, c.signal)
		}
		if run.Facts.Overhead == nil || run.Facts.Machine.CPUs == 0 {
			t.Errorf("%s: a short run lacks facts: %+v", c.script, run.Facts)
		}
	}
}

func TestCommandsThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	noexec := filepath.Join(dir, "noexec")
	_ = os.WriteFile(noexec, []byte("#!/bin/sh\n"), 0o600)
	badshebang := filepath.Join(dir, "badshebang")
	_ = os.WriteFile(badshebang, []byte("#!/no/such/shell\n"), 0o700)
	for command, code := range map[string]int{
		"no-such-command-anywhere": 127, "/no/such/file": 127, noexec: 126, dir: 126, badshebang: 127,
	} {
		output := filepath.Join(t.TempDir(), "run.jsonl.gz")
		run, err := Record(context.Background(), Options{
			Command: []string{command}, Output: output, Hook: hook.Files, OpenGPU: blind,
		})
		var unstarted *launch.CommandError
		if run != nil || !errors.As(err, &unstarted) || unstarted.ExitCode() != code {
			t.Errorf("%s: %v, want code %d", command, err, code)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%s left an empty recording", command)
		}
	}
}

func TestScriptWithoutFirstLine(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	_ = os.WriteFile(script, []byte("exit 5\n"), 0o700)
	if run := record(t, Options{Command: []string{script}}); run.Facts.Exit.Code != 5 {
		t.Errorf("exit %+v, a shell would give 5", run.Facts.Exit)
	}
}

func TestOptionsThatAreNone(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	for _, o := range []Options{{}, {Output: marker}, {PID: -1, Output: marker}, {PID: 1, Command: []string{"touch", marker}, Output: marker}} {
		run, err := Record(context.Background(), o)
		var unstarted *launch.CommandError
		if run != nil || err == nil || errors.As(err, &unstarted) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a command ran")
	}
}

// Without a file the run is there all the same, and nothing is written.
func TestInMemoryAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	run, err := Record(context.Background(), Options{Command: []string{"true"}, OpenGPU: blind})
	if err != nil || run.Facts.Exit == nil || run.Facts.Exit.Code != 0 {
		t.Errorf("%v, %+v", err, run)
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

func TestStreamsAndEnvironmentAreTheCommands(t *testing.T) {
	dir := t.TempDir()
	in, _, _ := os.Pipe()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	script := `echo out; echo err >&2; ls /proc/self/fd | tr '\n' ' '; echo; echo "$PYTHONPATH"; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat`
	record(t, Options{Command: []string{"sh", "-c", script}, Stdin: in, Stdout: out, Stderr: out, Hook: hook.Files})
	text, _ := os.ReadFile(out.Name())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) < 5 || lines[0] != "out" || lines[1] != "err" {
		t.Fatalf("output %q", text)
	}
	bare := exec.Command("sh", "-c", script) // whoever runs the tests may leak some of its own
	bare.Stdin = in
	plain, _ := bare.Output()
	if want := strings.Split(string(plain), "\n")[1]; strings.TrimSpace(lines[2]) != strings.TrimSpace(want) {
		t.Errorf("the command was given file descriptors %s, without observe %s", lines[2], want)
	}
	folder, _, _ := strings.Cut(lines[3], ":")
	if !strings.HasPrefix(filepath.Base(folder), "hook-") {
		t.Errorf("PYTHONPATH is %q", lines[3])
	}
	if left := runFolders(os.Getpid()); len(left) > 0 {
		t.Errorf("%v were left behind", left)
	}
	if got := strings.TrimSpace(lines[4]); got != fmt.Sprint(unix.Getpgrp()) {
		t.Errorf("the command's process group is %s, ours %d", got, unix.Getpgrp())
	}
}

// observer starts this test binary as an observe in a process group of its own.
func observer(t *testing.T, output string, command ...string) *exec.Cmd {
	t.Helper()
	leash.Hold(t)
	o := exec.Command(os.Args[0], command...)
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
	o.Stderr = os.Stderr
	o.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSignalsAreRelayed(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			dir := t.TempDir()
			script := fmt.Sprintf(`trap 'echo got > %[1]s/got; exit 9' %[2]d; touch %[1]s/ready; while :; do sleep 0.05; done`, dir, int(s))
			o := observer(t, filepath.Join(dir, "run.jsonl.gz"), "sh", "-c", script)
			leash.Wait(t, "the command", func() bool { return exists(dir + "/ready") })
			_ = o.Process.Signal(s)
			leash.Wait(t, "the signal at the command", func() bool { return exists(dir + "/got") })
			if _ = o.Wait(); o.ProcessState.ExitCode() != 9 {
				t.Errorf("observe: %v, the command exits with 9", o.ProcessState)
			}
		})
	}
}

// spinner starts a program that computes until the test ends; it does so already.
func spinner(t *testing.T) *exec.Cmd {
	t.Helper()
	leash.Hold(t)
	job := exec.Command("python3", "-c", "print('ready', flush=True)\nwhile True: pass")
	out, err := job.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Start(); err != nil {
		t.Skip("no python3 here: ", err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	go func() { _ = job.Wait() }()
	return job
}

func TestAttach(t *testing.T) {
	job := spinner(t)
	pid, ticks := job.Process.Pid, 0
	run := record(t, Options{PID: pid, OnTick: func(func() *recording.Run, float64) {
		if ticks++; ticks == 4 {
			_ = job.Process.Kill()
		}
	}})
	if run.Facts.Exit != nil || len(run.Facts.Processes) != 1 || run.Facts.Processes[0].Role != recording.RoleTrainer {
		t.Errorf("facts %+v", run.Facts)
	}
	states := run.Find(recording.ThreadState, fmt.Sprintf("thread/%d", pid))
	if states == nil {
		t.Fatal("the process's thread was not looked at")
	}
	// Also one that waits for a core runs; in between it may fetch a page.
	if share := states.Share(states.T[0], states.T[len(states.T)-1], recording.Running); share < 0.5 {
		t.Errorf("a spinning process ran %.0f %% of the time: %v", 100*share, states.V)
	}
}

// nobody is a number that no process has: above the kernel's PID_MAX_LIMIT.
const nobody = 1<<22 + 1

func TestAttachToNothing(t *testing.T) {
	_, err := Record(context.Background(), Options{PID: nobody, Output: t.TempDir() + "/r"})
	if err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("error %v", err)
	}
}

func TestCancelLeavesTheCommandAlone(t *testing.T) {
	leash.Hold(t)
	dir := t.TempDir()
	in, open := gate(t)
	ctx, cancel := context.WithCancel(t.Context())
	run, err := Record(ctx, Options{
		Command: []string{"sh", "-c", "read x; touch " + dir + "/done"}, Stdin: in, Output: dir + "/run.jsonl.gz", OpenGPU: blind,
		OnTick: func(func() *recording.Run, float64) { cancel() },
	})
	if err != nil || run.Facts.Exit != nil {
		t.Fatal(err, run.Facts.Exit)
	}
	open()
	leash.Wait(t, "the command's end", func() bool { return exists(dir + "/done") })
}

// What a command leaves behind is counted while it runs and named at the end.
func TestDetachedChild(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	script := fmt.Sprintf("(setsid sh -c 'sleep 1000 & touch %[1]s; sleep 1000' &); while [ ! -e %[1]s ]; do sleep 0.01; done", started)
	run := record(t, Options{Command: []string{"sh", "-c", script}})
	if notes := strings.Join(run.Facts.Notes, "\n"); !strings.Contains(notes, "stoker observe --pid") {
		t.Errorf("notes %q", notes)
	}
}

// Core time of children that end at once is not lost and counts once: neither of
// those that the shell waits for, nor of orphans that come to us. The kernel's own
// account of all that we waited for says how much there was.
func TestTreeCPU(t *testing.T) {
	over := filepath.Join(t.TempDir(), "over")
	spin := `python3 -c "import time
while time.process_time()<0.3: pass"`
	script := strings.Repeat(spin+"\n", 3) + "( { " + spin + "; touch " + over + "; } & )\nwhile [ ! -e " + over + " ]; do sleep 0.01; done"
	before := waitedFor(t)
	run := record(t, Options{Command: []string{"sh", "-c", script}})
	least, most := 4*0.3, waitedFor(t)-before
	const ticks = 0.1 // what the kernel's hundredths of a second round off, of some ten processes
	series := run.Find(recording.TreeCPU, "tree")
	if got := series.Last(); got < least-ticks || got > most+ticks {
		t.Errorf("the tree used %.2f s; its programs at least %.2f s, by the kernel's account %.2f s", got, least, most)
	}
	for i := 1; i < len(series.V); i++ {
		if series.V[i] < series.V[i-1] {
			t.Errorf("it fell from %v to %v", series.V[i-1], series.V[i])
		}
	}
}

// waitedFor is the core time of all children that were waited for, and those of
// them; the orphans that came to us and have ended among them.
func waitedFor(t *testing.T) float64 {
	t.Helper()
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			break
		}
	}
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// fakeHook speaks the protocol as a program under observation would.
func TestHookPackets(t *testing.T) {
	client := filepath.Join(t.TempDir(), "client.py")
	_ = os.WriteFile(client, []byte(`
import json, os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["STOKER_HOOK_SOCKET"])
def send(*records, seq=[0], dropped=0):
    s.send(json.dumps({"v": 1, "pid": os.getpid(), "seq": seq[0], "dropped": dropped, "records": records}).encode())
    seq[0] += 1
now = time.monotonic_ns
send({"k": "hello", "role": "main", "ppid": os.getppid(), "tid": os.getpid(), "python": "3.12", "torch": "2.15", "rank": 3, "world": 8},
     {"k": "loader", "loader": 0, "t": now(), "num_workers": 0, "prefetch_factor": None, "pin_memory": False, "batch_size": 16,
      "dataset": "\x1b[2JFolder", "length": 1000, "file": "train.py", "line": 12})
s.send(b"not json"); s.send(b"{}"); s.send(b"x" * 70000)
for n in range(20):
    t = now()
    time.sleep(0.05)
    send({"k": "step", "loader": 0, "iter": 0, "n": n, "t": t, "w": 10**7, "p": now() - t, "grad": True, "tid": os.getpid(), "b": 16},
         {"k": "clock", "loader": 0, "n": n, "i": 5 * 10**6, "p": 5 * 10**7, "src": "emulated", "dev": 0} if n < 18 else
         {"k": "clock", "loader": 0, "n": n, "x": "other-thread"},
         {"k": "fetch", "worker": None, "count": n + 1, "wall": n * 10**7, "cpu": 1, "collate": 1, "wall2": 0.5, "samples": 16})
send({"k": "batch", "loader": 0, "bytes": 123, "samples": 16, "dtype": "float32", "pinned": False},
     {"k": "optim", "tid": os.getpid(), "device": "cuda:0", "dtype": "float32", "steps": 20},
     {"k": "warn", "text": "careful"}, {"k": "memory", "dev": 0, "allocated": 5, "reserved": 6, "asked": 7}, dropped=4)
`), 0o600)
	run := record(t, Options{Command: []string{"python3", client}, Hook: emptyHook})
	if len(run.Steps) != 20 {
		t.Fatalf("%d steps", len(run.Steps))
	}
	s, last := run.Steps[5], run.Steps[19]
	if s.Rank != 3 || s.Wait != 0.01 || s.Idle != 0.005 || s.Samples != 16 || s.Phase != recording.Train || s.Start < 0 || s.Start > run.End() {
		t.Errorf("step %+v", s)
	}
	if last.NoClock != "other-thread" {
		t.Errorf("last step %+v", last)
	}
	f := run.Facts
	if l := run.FindLoader(s.PID, 0); l == nil || l.Settings.String() !=
		"batch_size=16, num_workers=0, pin_memory=false, precision=float32, device=cuda" ||
		l.Dataset != `\x1b[2JFolder` || l.Where != "train.py:12" || l.BatchBytes != 123 {
		t.Errorf("loader %+v", l)
	}
	if p := run.FindProcess(s.PID); p == nil || !p.Hooked || p.Role != recording.RoleTrainer || p.Rank != 3 || p.World != 8 || p.Device != 0 {
		t.Errorf("process %+v", p)
	}
	if f.Model == nil || f.Model.Steps != 20 || f.Software.Torch != "2.15" || !strings.Contains(strings.Join(f.Notes, ""), "careful") {
		t.Errorf("facts %+v", f)
	}
	if f.Overhead.Dropped != 7 { // 4 by the hook, 3 packets that are none
		t.Errorf("%d dropped", f.Overhead.Dropped)
	}
	if got := run.Find(recording.FetchCount, fmt.Sprintf("process/%d", s.PID)).Last(); got != 20 {
		t.Errorf("%v fetches", got)
	}
	if got := run.Find(recording.DriverMemory, "gpu/0").Last(); got != 7 {
		t.Errorf("memory of the driver %v times", got)
	}
	if got := run.Find(recording.PeakAllocated, "gpu/0").Last(); got != 5 {
		t.Errorf("peak memory %v", got)
	}
}

// fakeGPU is a probe of one device.
type fakeGPU struct{ asked func() }

func (f *fakeGPU) Facts() gpu.Facts {
	return gpu.Facts{Driver: "1.2", CUDA: "13.0", Devices: []gpu.Device{{Index: 0, Name: "H", MemoryBytes: 8}}}
}

func (f *fakeGPU) Read(now time.Time) []gpu.Reading {
	if f.asked != nil {
		f.asked()
	}
	return []gpu.Reading{{
		Index: 0, MemoryUsedBytes: 4, PowerWatts: 100,
		Utilisation: []gpu.UtilSample{{At: now.Add(-200 * time.Millisecond), Ratio: 0.5}, {At: now, Ratio: 1}},
	}}
}
func (f *fakeGPU) Absent() []string { return []string{"clock: not supported"} }
func (f *fakeGPU) Close() error     { return nil }

func TestGPU(t *testing.T) {
	in, open := gate(t)
	reads := 0
	run := record(t, Options{
		Command: []string{"sh", "-c", "read x"}, Stdin: in, Hook: emptyHook,
		OpenGPU: func(string) (GPU, error) {
			return &fakeGPU{func() {
				if reads++; reads == 3 {
					open()
				}
			}}, nil
		},
	})
	if len(run.Facts.GPUs) != 1 || run.Facts.Software.Driver != "1.2" || run.Facts.Absent[0].Why != "not supported" {
		t.Errorf("facts %+v", run.Facts)
	}
	// Of the first reading one value is of before the recording.
	u := run.Find(recording.GPUUtilisation, "gpu/0")
	if u == nil || len(u.V) < 5 {
		t.Fatalf("utilisation %+v", u)
	}
	for i := range u.V {
		if u.V[i] == 1 && i > 0 && (u.V[i-1] != 0.5 || math.Abs(u.T[i]-u.T[i-1]-0.2) > 1e-3) {
			t.Errorf("utilisation %+v", u)
		}
	}
}

// A driver that hangs holds the end back for gpuPatience, and no longer.
func TestGPUThatHangs(t *testing.T) {
	hangs := make(chan bool)
	run := record(t, Options{Command: []string{"true"}, Hook: emptyHook, OpenGPU: func(string) (GPU, error) { <-hangs; return nil, errors.New("late") }})
	close(hangs)
	if len(run.Facts.Absent) == 0 || !strings.Contains(run.Facts.Absent[0].Why, "not answered") {
		t.Errorf("absent %+v", run.Facts.Absent)
	}
	synctest.Test(t, func(t *testing.T) {
		begun, hangs := time.Now(), make(chan bool)
		w := WatchGPUs(func() (GPU, error) { <-hangs; return nil, errors.New("late") })
		w.Close()
		if took := time.Since(begun); took != gpuPatience {
			t.Errorf("it took %v, want %v", took, gpuPatience)
		}
		close(hangs)
	})
}

func TestOnTick(t *testing.T) {
	in, open := gate(t)
	var seen []float64
	record(t, Options{Command: []string{"sh", "-c", "read x"}, Stdin: in, OnTick: func(sofar func() *recording.Run, now float64) {
		if seen = append(seen, now); len(seen) == 3 {
			open()
		}
		if sofar().Facts.Version != "v" {
			t.Error("a snapshot without facts")
		}
	}, Version: "v"})
	for i := 1; i < len(seen); i++ {
		if seen[i]-seen[i-1] < second/2 {
			t.Errorf("called at %v", seen)
		}
	}
}

// Whoever takes long to show a run is shown it less often: the job has the rest.
func TestOnTickThatTakesLong(t *testing.T) {
	const long = 20 * time.Millisecond
	called := 0
	r := hooked(t, os.Getpid())
	r.o.OnTick = func(func() *recording.Run, float64) { called++; time.Sleep(long) }
	now := r.clock.now()
	r.show(now)
	if r.nextShow < now+100*long.Seconds() {
		t.Errorf("it took %v, and is called again after %.3f s", long, r.nextShow-now)
	}
	r.show(r.nextShow - 0.001)
	r.show(r.nextShow)
	if called != 2 {
		t.Errorf("called %d times", called)
	}
}

func TestNestedObserve(t *testing.T) {
	outer, _ := commandEnvironment([]string{"A=1", "PYTHONPATH=/user"}, "/o/hook", "/o/hook.sock", "")
	inner, nested := commandEnvironment(outer, "/i/hook", "/i/hook.sock", "")
	if !nested || !contains(inner, "PYTHONPATH=/i/hook:/user") || !contains(inner, "STOKER_HOOK_SOCKET=/i/hook.sock") || len(inner) != 4 {
		t.Errorf("inner environment %q", inner)
	}
	off, _ := commandEnvironment(inner, "", "", "")
	if len(off) != 2 || !contains(off, "PYTHONPATH=/user") {
		t.Errorf("without a hook %q", off)
	}
	plain, nested := commandEnvironment([]string{"PYTHONPATH="}, "/i/hook", "/s", "/p")
	if nested || !contains(plain, "PYTHONPATH=/i/hook") || !contains(plain, "STOKER_EMULATED_PAGE=/p") {
		t.Errorf("from an empty path %q", plain)
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

func TestSocketIsOursAlone(t *testing.T) {
	dir := t.TempDir()
	probe := fmt.Sprintf(`stat -c '%%a %%F' "$STOKER_HOOK_SOCKET" "${STOKER_HOOK_SOCKET%%/*}" "$STOKER_HOOK_DIR" "$STOKER_HOOK_DIR/sitecustomize.py" > %s/modes`, dir)
	record(t, Options{Command: []string{"sh", "-c", probe}, Hook: hook.Files})
	got, _ := os.ReadFile(dir + "/modes")
	want := "600 socket\n700 directory\n" // and the hook, which everybody may read if it is root's
	if text := string(got); text != want+"700 directory\n600 regular file\n" && text != want+"755 directory\n644 regular file\n" {
		t.Errorf("modes\n%s", got)
	}
}

func TestStrangerIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	_ = os.Chmod(os.Getenv("XDG_RUNTIME_DIR"), 0o711) // let him come as far as the socket
	dir := t.TempDir()
	out, err := os.Create(dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	client := `
import os, socket
path = os.environ["STOKER_HOOK_SOCKET"]
for p in (path, os.path.dirname(path)): os.chmod(p, 0o777)
os.chdir(os.path.dirname(path)) # the folders above it are closed to others as well
os.setuid(65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.path.basename(path))
try: print(len(s.recv(1)))
except OSError as e: print(0)
`
	run := record(t, Options{Command: []string{"python3", "-c", client}, Hook: emptyHook, Stdout: out})
	if text, _ := os.ReadFile(dir + "/out"); !bytes.Equal(text, []byte("0\n")) || !strings.Contains(strings.Join(run.Facts.Notes, ""), "refused") {
		t.Errorf("a stranger was heard: %q, notes %q", text, run.Facts.Notes)
	}
}
