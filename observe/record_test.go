//go:build linux

package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stoker/observe/gpu"
	"stoker/observe/hook"
	"stoker/recording"
)

// blind is a machine without a GPU, so that tests do not depend on the real one.
func blind(string) (GPU, error) { return nil, errors.New("none in this test") }

func record(t *testing.T, o Options) *recording.Run {
	t.Helper()
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
		"no-such-command-anywhere": 127, "/no/such/file": 127, noexec: 126, dir: 126, badshebang: 126,
	} {
		output := filepath.Join(t.TempDir(), "run.jsonl.gz")
		run, err := Record(context.Background(), Options{
			Command: []string{command}, Output: output, HookSource: hook.Source, OpenGPU: blind,
		})
		var unstarted *CommandError
		if run != nil || !errors.As(err, &unstarted) || unstarted.Code() != code {
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
	for _, o := range []Options{{Command: []string{"touch", marker}}, {Output: marker}, {PID: -1, Output: marker}, {PID: 1, Command: []string{"touch", marker}, Output: marker}} {
		run, err := Record(context.Background(), o)
		var unstarted *CommandError
		if run != nil || err == nil || errors.As(err, &unstarted) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a command ran")
	}
}

func TestStreamsAndEnvironmentAreTheCommands(t *testing.T) {
	dir := t.TempDir()
	in, _, _ := os.Pipe()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	script := `echo out; echo err >&2; ls /proc/self/fd | tr '\n' ' '; echo; echo "$PYTHONPATH"; ps -o pgid= -p $$ || cut -d' ' -f5 /proc/$$/stat`
	record(t, Options{Command: []string{"sh", "-c", script}, Stdin: in, Stdout: out, Stderr: out, HookSource: hook.Source})
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
	if left, _ := filepath.Glob(filepath.Dir(folder) + "/run-*-" + fmt.Sprint(os.Getpid()) + "-*"); len(left) > 0 {
		t.Errorf("%v were left behind", left)
	}
	if got := strings.TrimSpace(lines[4]); got != fmt.Sprint(unix.Getpgrp()) {
		t.Errorf("the command's process group is %s, ours %d", got, unix.Getpgrp())
	}
}

// observer starts this test binary as an observe in a process group of its own.
func observer(t *testing.T, output string, command ...string) *exec.Cmd {
	t.Helper()
	o := exec.Command(os.Args[0], command...)
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
	o.Stderr = os.Stderr
	o.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	return o
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestSignalsAreRelayed(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGQUIT} {
		dir := t.TempDir()
		script := fmt.Sprintf(`trap 'echo got > %[1]s/got; exit 9' %[2]d; touch %[1]s/ready; while :; do sleep 0.05; done`, dir, int(s))
		o := observer(t, filepath.Join(dir, "run.jsonl.gz"), "sh", "-c", script)
		waitFor(t, "the command", func() bool { _, err := os.Stat(dir + "/ready"); return err == nil })
		_ = o.Process.Signal(s)
		_ = o.Wait()
		if _, err := os.Stat(dir + "/got"); err != nil || o.ProcessState.ExitCode() != 9 {
			t.Errorf("%v: did not arrive (%v)", s, o.ProcessState)
		}
	}
}

func TestAttach(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	job := exec.Command("python3", "-c", "import time\nt=time.time()\nwhile time.time()-t<2.2: pass")
	if err := job.Start(); err != nil {
		t.Skip("no python3 here: ", err)
	}
	go func() { _ = job.Wait() }()
	run := record(t, Options{PID: job.Process.Pid, Output: output})
	if run.Facts.Exit != nil || len(run.Facts.Processes) != 1 || run.Facts.Processes[0].Role != recording.RoleTrainer {
		t.Errorf("facts %+v", run.Facts)
	}
	states := run.Find(recording.ThreadState, fmt.Sprintf("thread/%d", job.Process.Pid))
	if share := states.Share(0, 2, recording.Running); share < 0.9 {
		t.Errorf("a spinning process ran %.0f %% of the time", 100*share)
	}
}

func TestAttachToNothing(t *testing.T) {
	gone := exec.Command("true")
	_ = gone.Run()
	_, err := Record(context.Background(), Options{PID: gone.Process.Pid, Output: t.TempDir() + "/r"})
	if err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("error %v", err)
	}
}

func TestCancelLeavesTheCommandAlone(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	run, err := Record(ctx, Options{
		Command: []string{"sh", "-c", "sleep 1; touch " + dir + "/done"}, Output: dir + "/run.jsonl.gz", OpenGPU: blind,
	})
	if err != nil || run.Facts.Exit != nil {
		t.Fatal(err, run.Facts.Exit)
	}
	waitFor(t, "the command's end", func() bool { _, err := os.Stat(dir + "/done"); return err == nil })
}

// What a command leaves behind is counted while it runs and named at the end.
func TestDetachedChild(t *testing.T) {
	run := record(t, Options{Command: []string{"sh", "-c", "(setsid sh -c 'sleep 3 & sleep 3' &) ; sleep 1.3"}})
	if notes := strings.Join(run.Facts.Notes, "\n"); !strings.Contains(notes, "stoker observe --pid") {
		t.Errorf("notes %q", notes)
	}
}

// Core time of children that end at once is not lost: neither those that the
// shell waits for, nor orphans that come to us.
func TestTreeCPU(t *testing.T) {
	spin := `python3 -c "import time
while time.process_time()<0.3: pass"`
	script := strings.Repeat(spin+"\n", 3) + "(" + spin + " &)\nsleep 1.2"
	run := record(t, Options{Command: []string{"sh", "-c", script}})
	series := run.Find(recording.TreeCPU, "tree")
	if got := series.Last(); got < 1.15 || got > 1.6 {
		t.Errorf("the tree used %.2f s, its programs 1.2 s", got)
	}
	for i := 1; i < len(series.V); i++ {
		if series.V[i] < series.V[i-1] {
			t.Errorf("it fell from %v to %v", series.V[i-1], series.V[i])
		}
	}
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
     {"k": "warn", "text": "careful"}, {"k": "memory", "dev": 0, "allocated": 5, "reserved": 6}, dropped=4)
`), 0o600)
	run := record(t, Options{Command: []string{"python3", client}, HookSource: []byte("")})
	if len(run.Steps) != 20 {
		t.Fatalf("%d steps", len(run.Steps))
	}
	s, last := run.Steps[5], run.Steps[19]
	if s.Rank != 3 || s.Wait != 0.01 || s.Idle != 0.005 || s.Samples != 16 || s.Phase != recording.Train || s.Start < 0 || s.Start > 10 {
		t.Errorf("step %+v", s)
	}
	if last.NoClock != "other-thread" {
		t.Errorf("last step %+v", last)
	}
	f := run.Facts
	if l := run.Loader(s.PID, 0); l == nil || l.Settings.String() !=
		"batch_size=16, num_workers=0, pin_memory=false, precision=float32, device=cuda" ||
		l.Dataset != `\x1b[2JFolder` || l.Where != "train.py:12" || l.BatchBytes != 123 {
		t.Errorf("loader %+v", l)
	}
	if p := run.Process(s.PID); p == nil || !p.Hooked || p.Role != recording.RoleTrainer || p.Rank != 3 || p.World != 8 || p.Device != 0 {
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
	if got := run.Find(recording.PeakAllocated, "gpu/0").Last(); got != 5 {
		t.Errorf("peak memory %v", got)
	}
}

// fakeGPU is a probe of one device.
type fakeGPU struct{}

func (f *fakeGPU) Facts() gpu.Facts {
	return gpu.Facts{Driver: "1.2", CUDA: "13.0", Devices: []gpu.Device{{Index: 0, Name: "H", MemoryBytes: 8}}}
}

func (f *fakeGPU) Read(now time.Time) []gpu.Reading {
	return []gpu.Reading{{
		Index: 0, MemoryUsedBytes: 4, PowerWatts: 100,
		Utilisation: []gpu.UtilSample{{At: now.Add(-200 * time.Millisecond), Ratio: 0.5}, {At: now, Ratio: 1}},
	}}
}
func (f *fakeGPU) Absent() []string { return []string{"clock: not supported"} }
func (f *fakeGPU) Close() error     { return nil }

func TestGPU(t *testing.T) {
	run := record(t, Options{
		Command: []string{"sleep", "2.5"}, OpenGPU: func(string) (GPU, error) { return &fakeGPU{}, nil },
	})
	if len(run.Facts.GPUs) != 1 || run.Facts.Software.Driver != "1.2" || run.Facts.Absent[0].Why != "not supported" {
		t.Errorf("facts %+v", run.Facts)
	}
	if u := run.Find(recording.GPUUtilisation, "gpu/0"); u == nil || len(u.V) < 5 || u.T[1]-u.T[0] < 0.19 {
		t.Errorf("utilisation %+v", u)
	}
}

func TestGPUThatHangs(t *testing.T) {
	begun := time.Now()
	record(t, Options{Command: []string{"true"}, OpenGPU: func(string) (GPU, error) { time.Sleep(6 * time.Second); return nil, errors.New("late") }})
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("a driver that hangs held the end back for %v", took)
	}
}

func TestOnTick(t *testing.T) {
	var seen []float64
	record(t, Options{Command: []string{"sleep", "2.3"}, OnTick: func(run *recording.Run, now float64) {
		seen = append(seen, now)
		if run.Facts.Version != "v" {
			t.Error("a snapshot without facts")
		}
	}, Version: "v"})
	if len(seen) < 3 || len(seen) > 5 {
		t.Errorf("called at %v", seen)
	}
}

func TestNestedObserve(t *testing.T) {
	outer, _ := environment([]string{"A=1", "PYTHONPATH=/user"}, "/o/hook", "/o/hook.sock", "")
	inner, nested := environment(outer, "/i/hook", "/i/hook.sock", "")
	if !nested || !contains(inner, "PYTHONPATH=/i/hook:/user") || !contains(inner, "STOKER_HOOK_SOCKET=/i/hook.sock") || len(inner) != 4 {
		t.Errorf("inner environment %q", inner)
	}
	off, _ := environment(inner, "", "", "")
	if len(off) != 2 || !contains(off, "PYTHONPATH=/user") {
		t.Errorf("without a hook %q", off)
	}
	plain, nested := environment([]string{"PYTHONPATH="}, "/i/hook", "/s", "/p")
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
	record(t, Options{Command: []string{"sh", "-c", probe}, HookSource: hook.Source})
	got, _ := os.ReadFile(dir + "/modes")
	want := "600 socket\n700 directory\n700 directory\n600 regular file\n"
	if string(got) != want {
		t.Errorf("modes\n%swant\n%s", got, want)
	}
}

func TestStrangerIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
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
	run := record(t, Options{Command: []string{"python3", "-c", client}, HookSource: []byte(""), Stdout: out})
	if text, _ := os.ReadFile(dir + "/out"); !bytes.Equal(text, []byte("0\n")) || !strings.Contains(strings.Join(run.Facts.Notes, ""), "refused") {
		t.Errorf("a stranger was heard: %q, notes %q", text, run.Facts.Notes)
	}
}
