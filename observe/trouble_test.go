//go:build linux

package observe

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

// A disk that fills up is told once; the run goes on, is whole in memory, and
// what is on disk can be read.
func TestFullDisk(t *testing.T) {
	leash.Hold(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	in, end := gate(t)
	var warned []string
	ticks, written, refused := 0, 0.0, 0
	output := filepath.Join(dir, "run.jsonl.gz")
	run, err := Record(t.Context(), Options{
		Version: noise(), // so that each second is longer than what a page has left
		Command: []string{"sh", "-c", "read x; exit 3"}, Stdin: in, Output: output, OpenGPU: blind,
		Warn: func(text string) { warned = append(warned, text) },
		OnTick: func(_ func() *recording.Run, now float64) {
			switch ticks++; {
			case ticks == 2:
				written = now
				_ = os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1_000_000), 0o600) // as much as there is room for
			case len(warned) > 0 || ticks > 60:
				if refused++; refused == 3 {
					end()
				}
			}
		},
	})
	if run == nil || run.Facts.Exit.Code != 3 {
		t.Fatal(run, err)
	}
	if seconds := len(run.Find(recording.TreeCPU, "tree").V); seconds < ticks {
		t.Errorf("the run in memory has %d seconds of %d", seconds, ticks)
	}
	read, openErr := recording.Open(output)
	if openErr != nil || read.End() < written-1e-3 {
		t.Errorf("of %.3f s that were written before the disk was full there are %v: %v", written, read, openErr)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "free some space") {
		t.Errorf("warned %q", warned)
	}
	if err == nil {
		t.Error("the disk had room after all")
	}
}

// noise is a text that does not compress well.
func noise() string {
	var text strings.Builder
	for range 150 {
		text.WriteString(rand.Text())
	}
	return text.String()
}

// terminal is a Python program that gives a command a terminal of its own and
// presses keys there: c, whose signal the command has to tell of, z, and fg. When it
// has told of all it is sent SIGUSR1 by way of observe, behind whatever observe had
// to pass on before.
const terminal = `
import os, pty, sys, time, signal
shell, fd = pty.fork()
if shell == 0: # a shell with job control: the job has a process group of its own, which is not orphaned
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[2], sys.argv[2:])
    while True:
        status = os.waitpid(job, os.WUNTRACED)[1]
        if not os.WIFSTOPPED(status): os._exit(os.waitstatus_to_exitcode(status))
seen = b""
def told(word, times):
    global seen
    while seen.count(word) < times: seen += os.read(fd, 100)
told(b"\n", 1)
command = int(seen.split()[1])
stat = lambda p: open("/proc/%s/stat" % p).read().rsplit(")", 1)[1].split()
observe = int(stat(command)[1])
pressed = 0
for key in sys.argv[1].split(","):
    if key == "fg":
        while [stat(p)[0] for p in (observe, command)] != ["T", "T"]: time.sleep(0.01)
        os.killpg(int(stat(command)[2]), signal.SIGCONT)
        continue
    os.write(fd, {"c": b"\x03", "z": b"\x1a"}[key])
    if key == "c":
        pressed += 1
        told(b"INT", pressed)
os.kill(observe, signal.SIGUSR1)
try:
    while True: seen += os.read(fd, 100)
except OSError: pass
print(seen.count(b"INT"), os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]))
`

// Ctrl-C reaches the command once, not twice; Ctrl-Z stops both and fg goes on.
func TestTerminalKeys(t *testing.T) {
	leash.Hold(t)
	dir := t.TempDir()
	driver, job := filepath.Join(dir, "terminal.py"), filepath.Join(dir, "job.py")
	_ = os.WriteFile(driver, []byte(terminal), 0o600)
	_ = os.WriteFile(job, []byte(`
import os, signal, sys, time
def got(*_): global n; n += 1; os.write(1, b"INT\n") # print raises where a signal comes within another print
def end(*_): sys.exit(40 + n)
n = 0
signal.signal(signal.SIGINT, got)
signal.signal(signal.SIGUSR1, end)
os.write(1, b"ready %d\n" % os.getpid())
while True: time.sleep(0.02)
`), 0o600)
	for keys, want := range map[string]string{"c": "1 41", "c,c": "2 42", "z,fg,c": "1 41"} {
		c := exec.Command("python3", driver, keys, os.Args[0], "python3", job)
		c.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+filepath.Join(dir, strings.ReplaceAll(keys, ",", "")+".gz"))
		out, err := c.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", keys, got, err, want)
		}
	}
}

// Hidden processes: another user's may not be looked into. That is said.
func TestOtherUsersProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	dir, err := os.MkdirTemp("", "other-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(dir, 0o777)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary, output := filepath.Join(dir, "observe"), filepath.Join(dir, "run.jsonl.gz")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	job := spinner(t)
	o := exec.Command(binary, "--pid", fmt.Sprint(job.Process.Pid))
	o.Dir, o.Stderr = dir, os.Stderr
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
	o.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	leash.Wait(t, "core time of another user's process", func() bool {
		run, err := recording.Open(output)
		return err == nil && run.Find(recording.TreeCPU, "tree").Last() > 0
	})
	_ = job.Process.Kill()
	if err := o.Wait(); err != nil {
		t.Fatal(err)
	}
	run, err := recording.Open(output)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(run.Facts.Absent, func(a recording.Absence) bool {
		return strings.Contains(a.What, "bytes read") && strings.Contains(a.Why, "another user")
	}) {
		t.Errorf("absent %+v", run.Facts.Absent)
	}
}

// A recording that others take away goes on in another file, from its beginning, and
// that is said.
func TestTakenRecording(t *testing.T) {
	leash.Hold(t)
	in, end := gate(t)
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	var warned, paths []string
	ticks := 0
	run, err := Record(t.Context(), Options{
		Command: []string{"sh", "-c", "read x; exit 3"}, Stdin: in, Output: output, OpenGPU: blind,
		Warn:      func(text string) { warned = append(warned, text) },
		Recording: func(path string) { paths = append(paths, filepath.Base(path)) },
		OnTick: func(func() *recording.Run, float64) {
			switch ticks++; ticks {
			case 2:
				_ = os.Truncate(output, 0)
			case 4:
				_ = os.Remove(recording.Beside(output, 2))
			case 6:
				end()
			}
		},
	})
	if err != nil || run.Facts.Exit.Code != 3 {
		t.Fatal(run, err)
	}
	if got := strings.Join(paths, " "); got != "run.jsonl.gz run-2.jsonl.gz run-2.jsonl.gz" {
		t.Errorf("recorded in %s", got)
	}
	if len(warned) != 2 || !strings.Contains(warned[0], "was cut by others") || !strings.Contains(warned[1], "was removed by others") {
		t.Errorf("warned %q", warned)
	}
	read, err := recording.Open(recording.Beside(output, 2))
	if err != nil {
		t.Fatal(err)
	}
	want, got := run.Find(recording.TreeCPU, "tree"), read.Find(recording.TreeCPU, "tree")
	if got == nil || len(got.V) != len(want.V) || read.Facts.Exit == nil {
		t.Errorf("the file has %+v, want %+v", got, want)
	}
}

// A wall clock that is set by an hour while we observe moves nothing in the recording.
func TestWallClockIsSet(t *testing.T) {
	began := startClock()
	event := time.Now()
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		c := began
		c.wall = c.wall.Add(jump) // the same as time.Now jumping the other way
		if at := c.at(event); at < -1000 || at > 1000 {
			t.Errorf("an event of the beginning lies at %.0f s", at)
		}
	}
}
