//go:build linux

package observe

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"stoker/recording"
)

// A disk that fills up is told once; the run goes on, is whole in memory, and
// what is on disk can be read.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	filler := filepath.Join(dir, "filler")
	var warned []string
	output := filepath.Join(dir, "run.jsonl.gz")
	run, err := Record(t.Context(), Options{
		Version: noise(), // so that each second is longer than what a page has left
		Command: []string{"sh", "-c", "sleep 1.2; head -c 1000000 /dev/zero > " + filler + " 2>/dev/null; sleep 4; exit 3"},
		Output:  output, OpenGPU: blind, Warn: func(text string) { warned = append(warned, text) },
	})
	if run == nil || run.Facts.Exit.Code != 3 {
		t.Fatal(run, err)
	}
	if len(run.Find(recording.TreeCPU, "tree").V) < 6 {
		t.Error("the run in memory lacks seconds")
	}
	read, openErr := recording.Open(output)
	if openErr != nil || read.End() < 0.9 {
		t.Error(read, openErr)
	}
	if err != nil && (len(warned) != 1 || !strings.Contains(warned[0], "free some space")) {
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
// presses keys there.
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
while b"\n" not in seen: seen += os.read(fd, 100)
command = int(seen.split()[1])
stat = lambda p: open("/proc/%s/stat" % p).read().rsplit(")", 1)[1].split()
observe = int(stat(command)[1])
for key in sys.argv[1].split(","):
    if key == "fg":
        for _ in range(100):
            states = [stat(p)[0] for p in (observe, command)]
            if states == ["T", "T"]: break
            time.sleep(0.05)
        print(*states)
        os.killpg(int(stat(command)[2]), signal.SIGCONT)
    else: os.write(fd, {"c": b"\x03", "z": b"\x1a"}[key])
    time.sleep(0.3)
try:
    while True: seen += os.read(fd, 100)
except OSError: pass
print(seen.count(b"INT"), os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]))
`

// Ctrl-C reaches the command once, not twice; Ctrl-Z stops both and fg goes on.
func TestTerminalKeys(t *testing.T) {
	dir := t.TempDir()
	driver, job := filepath.Join(dir, "terminal.py"), filepath.Join(dir, "job.py")
	_ = os.WriteFile(driver, []byte(terminal), 0o600)
	_ = os.WriteFile(job, []byte(`
import os, signal, sys, time
def got(*_): print("INT", flush=True); global n; n += 1
n = 0
signal.signal(signal.SIGINT, got)
print("ready", os.getpid(), flush=True)
t = time.time()
while time.time() - t < 2: time.sleep(0.02)
sys.exit(40 + n)
`), 0o600)
	for keys, want := range map[string]string{"c": "1 41", "c,c": "2 42", "z,fg,c": "T T\n1 41"} {
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
	binary := filepath.Join(dir, "observe")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	job := exec.Command("python3", "-c", "import time\nt=time.time()\nwhile time.time()-t<3: pass")
	if err := job.Start(); err != nil {
		t.Skip(err)
	}
	go func() { _ = job.Wait() }()
	o := exec.Command(binary, "--pid", fmt.Sprint(job.Process.Pid))
	o.Dir = dir
	o.Env = []string{"STOKER_TEST_OBSERVE=" + dir + "/run.jsonl.gz", "PATH=" + os.Getenv("PATH")}
	o.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := o.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run, err := recording.Open(dir + "/run.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, a := range run.Facts.Absent {
		found = found || strings.Contains(a.What, "bytes read") && strings.Contains(a.Why, "another user")
	}
	if !found || run.Find(recording.TreeCPU, "tree").Last() < 1 {
		t.Errorf("absent %+v", run.Facts.Absent)
	}
}
