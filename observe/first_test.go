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
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/observe/gpu"
	"github.com/stoker-dev/stoker/python/hook"
	"github.com/stoker-dev/stoker/recording"
)

// The command comes first: whatever of ours cannot be done, it runs, once, and its
// exit code is its own.

// told collects what is said.
type told struct {
	warned []string
	paths  []string
}

func (w *told) options(o Options) Options {
	o.OpenGPU = blind
	o.Warn = func(text string) { w.warned = append(w.warned, text) }
	o.Recording = func(path string) { w.paths = append(w.paths, path) }
	return o
}

// Where nothing can be recorded the command runs and is judged all the same, and one
// line says so.
func TestNothingIsRecorded(t *testing.T) {
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/file", nil, 0o600)
	_ = unix.Mkfifo(dir+"/fifo", 0o600)
	for name, output := range map[string]string{
		"a folder that takes no files": "/proc/stoker-runs/run.jsonl.gz", "below a file": dir + "/file/run.jsonl.gz",
		"a device": "/dev/null", "a pipe": dir + "/fifo", "a folder": dir, "a name that is too long": dir + "/" + strings.Repeat("x", 300),
	} {
		var w told
		run, err := Record(context.Background(), w.options(Options{Command: []string{"sh", "-c", "echo >> " + dir + "/ran; exit 7"}, Output: output}))
		if run == nil || err != nil || run.Facts.Exit == nil || run.Facts.Exit.Code != 7 || run.Find(recording.TreeCPU, "tree") == nil {
			t.Errorf("%s: %v, %v", name, run, err)
		}
		if len(w.warned) != 1 || !strings.HasPrefix(w.warned[0], "nothing is recorded: ") || !strings.Contains(w.warned[0], "-o FILE") {
			t.Errorf("%s: warned %q", name, w.warned)
		}
		if len(w.paths) != 1 || w.paths[0] != "" {
			t.Errorf("%s: recorded in %q", name, w.paths)
		}
	}
	if ran := read(dir + "/ran"); len(ran) != 6 {
		t.Errorf("of 6 commands %d ran", len(ran))
	}
}

// A recording that is there is kept, and the run gets one beside it.
func TestRecordingBesideAnother(t *testing.T) {
	dir := t.TempDir()
	output := dir + "/run.jsonl.gz"
	_ = os.WriteFile(output, []byte("mine"), 0o600)
	_ = os.Symlink("nowhere", dir+"/run-2.jsonl.gz")
	var w told
	run, err := Record(context.Background(), w.options(Options{Command: []string{"true"}, Output: output}))
	if err != nil || run == nil || len(w.paths) != 1 || w.paths[0] != dir+"/run-3.jsonl.gz" {
		t.Fatalf("%v, recorded in %q", err, w.paths)
	}
	if _, err := recording.Open(w.paths[0]); err != nil || read(output) != "mine" {
		t.Errorf("%v; the older one holds %q", err, read(output))
	}
	if len(w.warned) != 1 || !strings.Contains(w.warned[0], "run.jsonl.gz is there already") || !strings.Contains(w.warned[0], "recorded in "+w.paths[0]) {
		t.Errorf("warned %q", w.warned)
	}
}

func TestDiskThatIsFullFromTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	_ = os.WriteFile(dir+"/filler", bytes.Repeat([]byte("x"), 1<<20), 0o600)
	var w told
	run, err := Record(context.Background(), w.options(Options{Command: []string{"sh", "-c", "exit 7"}, Output: dir + "/run.jsonl.gz"}))
	if run == nil || run.Facts.Exit.Code != 7 || err == nil {
		t.Fatal(run, err)
	}
	if len(w.warned) != 1 || !strings.Contains(w.warned[0], "free some space") || len(w.paths) != 2 || w.paths[1] != "" {
		t.Errorf("warned %q, recorded in %q", w.warned, w.paths)
	}
	if _, err := os.Stat(dir + "/run.jsonl.gz"); err == nil {
		t.Error("an empty recording was left")
	}
	// Room that is made later is used.
	w = told{}
	run, err = Record(context.Background(), w.options(Options{
		Command: []string{"sh", "-c", "rm " + dir + "/filler; exit 7"}, Output: dir + "/run.jsonl.gz",
	}))
	if err != nil || run.Facts.Exit.Code != 7 {
		t.Fatal(run, err)
	}
	if again, err := recording.Open(dir + "/run.jsonl.gz"); err != nil || again.Facts.Exit == nil {
		t.Error(again, err)
	}
}

// limited runs an observe of this shell command after others of the shell's, and
// returns its exit code and what came out.
func limited(t *testing.T, before, output, script string) (code int, out string) {
	t.Helper()
	c := exec.Command("sh", "-c", before+"\n"+`exec "$0" "$@"`, os.Args[0], "sh", "-c", script)
	c.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	c.Dir = t.TempDir()
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// Where a process has too little of something to observe, the command runs in our
// place.
func TestCramped(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	for before, want := range map[string]string{
		"ulimit -n 5": "ulimit -n", "ulimit -n 6": "ulimit -n", "ulimit -n 7": "ulimit -n", "ulimit -n 8": "ulimit -n",
		"ulimit -n 10": "ulimit -n", "ulimit -n 12": "ulimit -n", "ulimit -n 20": "ulimit -n", "ulimit -v 2000000": "ulimit -v", "ulimit -d 500000": "ulimit -d",
	} {
		code, out := limited(t, before, output, "echo ran; exit 7")
		if code != 7 || strings.Count(out, "ran\n") != 1 || !strings.Contains(out, unseen) || !strings.Contains(out, want) {
			t.Errorf("%s: code %d\n%s", before, code, out)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%s: a recording was begun", before)
		}
	}
	if code, out := limited(t, "ulimit -n 10", output, "kill -TERM $$"); code != -1 { // as without us: by the signal itself
		t.Errorf("a signal gives %d\n%s", code, out)
	}
}

func TestCrampedByThreads(t *testing.T) {
	group := fmt.Sprintf("/sys/fs/cgroup/pids/stoker-test-%d", os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("cannot make a control group for threads: ", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	code, out := limited(t, fmt.Sprintf("echo 14 > %[1]s/pids.max && echo $$ > %[1]s/cgroup.procs", group), output, "echo ran; exit 7")
	if code != 7 || strings.Count(out, "ran\n") != 1 || !strings.Contains(out, "pids.max") {
		t.Errorf("code %d\n%s", code, out)
	}
}

func TestThreadsOf(t *testing.T) {
	if n := threadsOf(os.Getuid()); n < 3 {
		t.Errorf("this user has %d threads", n)
	}
	if n := threadsOf(987654); n != 0 {
		t.Errorf("a user who is not there has %d threads", n)
	}
}

// Signals that the kernel sends for our own writes do not end us; the command gets
// them as ever.
func TestWritesThatTheKernelForbids(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	for _, blocks := range []string{"0", "1"} {
		code, out := limited(t, "ulimit -f "+blocks, output, "sleep 1.2; exit 7")
		if code != 7 || !strings.Contains(out, "raise ulimit -f") {
			t.Errorf("ulimit -f %s: code %d\n%s", blocks, code, out)
		}
		_ = os.Remove(output)
	}
	if code, out := limited(t, "true", output, "kill -PIPE $$; exit 7"); code != 128+int(unix.SIGPIPE) {
		t.Errorf("SIGPIPE does not end the command: code %d\n%s", code, out)
	}
	in, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := exec.Command(os.Args[0], "sh", "-c", "exit 7")
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE=/proc/none/run.jsonl.gz") // which is said on stderr
	o.Stderr = pipe
	_ = in.Close()
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	_ = pipe.Close()
	if _ = o.Wait(); o.ProcessState.ExitCode() != 7 {
		t.Errorf("nobody reads stderr: %v", o.ProcessState)
	}
}

func TestOddSurroundings(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	for _, c := range []struct{ name, before, output, says string }{
		{"no streams", "exec <&- >&- 2>&-", output, ""},
		{"a folder that was removed", `mkdir d; cd d; rmdir ../d`, "run.jsonl.gz", "nothing is recorded"},
		{"no home", "unset HOME XDG_RUNTIME_DIR XDG_CACHE_HOME", output, ""},
		{"an environment that is full", fmt.Sprintf(`export PYTHONPATH=$(printf /%%%dd 0)`, 128<<10-len("PYTHONPATH=/")-1), output, "the hook is off: the environment"},
		{"no /proc", `unshare -m true || exit 7; exec unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"' "$0" "$@"`, output, ""},
		{"no orphans for us", refusesReaper(t), output, ""},
	} {
		code, out := limited(t, c.before, c.output, "exit 7")
		if code != 7 || !strings.Contains(out, c.says) || strings.Contains(out, "goroutine") {
			t.Errorf("%s: code %d, want 7 and %q\n%s", c.name, code, c.says, out)
		}
		_ = os.Remove(output)
	}
}

// refusesReaper is a command of the shell after which the kernel refuses to make a
// process a subreaper, as a container's filter of system calls may.
func refusesReaper(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "filter.py")
	text := `
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None)
number = {"x86_64": 157, "aarch64": 167}[platform.machine()]  # prctl
def op(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
program = (op(0x20, 0, 0, 0) + op(0x15, 0, 3, number) + op(0x20, 0, 0, 16) + op(0x15, 0, 1, 36)
           + op(0x06, 0, 0, 0x50001) + op(0x06, 0, 0, 0x7fff0000))
buffer = ctypes.create_string_buffer(program)
head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, head, 0, 0) or not libc.prctl(36, 1, 0, 0, 0): sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "exec python3 " + path + ` "$0" "$@"`
}

// Another user whose home is not there has no private place: no hook, one line.
func TestNoPlaceForTheHook(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	dir, err := os.MkdirTemp("/tmp", "stoker-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_ = os.Chmod(dir, 0o777)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/observe", self, 0o755); err != nil {
		t.Fatal(err)
	}
	o := exec.Command(dir+"/observe", "sh", "-c", "env | grep -c STOKER; exit 7")
	o.Dir = dir
	o.Env = []string{"STOKER_TEST_OBSERVE=" + dir + "/run.jsonl.gz", "PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "XDG_RUNTIME_DIR=/tmp"}
	o.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, _ := o.CombinedOutput()
	if o.ProcessState.ExitCode() != 7 || strings.Count(string(out), "the hook is off") != 1 ||
		!strings.Contains(string(out), "/tmp may be written by others") || !strings.Contains(string(out), "set XDG_RUNTIME_DIR") || !strings.HasSuffix(string(out), "\n0\n") {
		t.Errorf("%v\n%s", o.ProcessState, out)
	}
}

// faultyGPU is a probe with a fault of ours.
type faultyGPU struct{ fakeGPU }

func (f *faultyGPU) Read(time.Time) []gpu.Reading { panic("a fault") }

func TestFaultsOfOurs(t *testing.T) {
	dir := t.TempDir()
	command := []string{"sh", "-c", "echo >> " + dir + "/ran; sleep 1.3; exit 7"}
	for name, o := range map[string]Options{
		"while judging":  {OnTick: func(func() *recording.Run, float64) { panic("a fault") }},
		"in a probe":     {OpenGPU: func(string) (GPU, error) { return &faultyGPU{}, nil }},
		"in the opening": {OpenGPU: func(string) (GPU, error) { panic("a fault") }},
	} {
		var w told
		open := o.OpenGPU
		o = w.options(o)
		if open != nil {
			o.OpenGPU = open
		}
		o.Command, o.Output, o.Hook = command, filepath.Join(dir, name), hook.Files
		run, err := Record(context.Background(), o)
		if err != nil || run.Facts.Exit == nil || run.Facts.Exit.Code != 7 {
			t.Errorf("%s: %v, %+v", name, err, run.Facts.Exit)
		}
		facts := fmt.Sprint(run.Facts.Absent, run.Facts.Notes)
		if !strings.Contains(facts, "a fault of stoker's own") || len(run.Find(recording.TreeCPU, "tree").V) < 2 {
			t.Errorf("%s: %s", name, facts)
		}
		if again, err := recording.Open(o.Output); err != nil || again.Facts.Exit == nil || again.Facts.Exit.Code != 7 {
			t.Errorf("%s: the recording: %v", name, err)
		}
	}
	if ran := read(dir + "/ran"); len(ran) != 3 {
		t.Errorf("of 3 commands %d ran", len(ran))
	}
}

func TestNestedObserves(t *testing.T) {
	dir := t.TempDir()
	inner := fmt.Sprintf("STOKER_TEST_OBSERVE=%s/inner.gz exec %s sh -c 'exit 7'", dir, os.Args[0])
	if code, out := limited(t, "true", dir+"/outer.gz", inner); code != 7 || out != "" {
		t.Errorf("code %d\n%s", code, out)
	}
	for _, name := range []string{"inner.gz", "outer.gz"} {
		if run, err := recording.Open(dir + "/" + name); err != nil || run.Facts.Exit == nil || run.Facts.Exit.Code != 7 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
