//go:build linux

package observe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/private/privatetest"
	"github.com/stoker-dev/stoker/python/hook"
)

func TestSweep(t *testing.T) {
	place := privatetest.MakeFolder(t)
	gone := exec.Command("true")
	_ = gone.Run()
	dead := gone.Process.Pid
	make := func(name string) string {
		if err := os.Mkdir(place+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
		return place + "/" + name
	}
	make(fmt.Sprintf("run-%s-%d-00", namespaceID(), dead)) // goes
	used := make(fmt.Sprintf("run-%s-%d-01", namespaceID(), dead))
	kept := []string{
		used, make(fmt.Sprintf("run-%s-%d-00", namespaceID(), os.Getppid())), make(fmt.Sprintf("run-00000000-%d-00", dead)),
		make("hook-0123456789abcdef"), make("run-nonsense"), make(fmt.Sprintf("stoker-0-%d-00", dead)),
	}
	user := exec.Command("sleep", "60")
	user.Env = []string{"STOKER_HOOK_SOCKET=" + used + "/hook.sock"}
	user.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = user.Process.Kill(); _ = user.Wait() })

	there := func() (all []string) {
		sweep(place)
		found, _ := filepath.Glob(place + "/*")
		return found
	}
	slices.Sort(kept)
	if got := there(); !slices.Equal(got, kept) {
		t.Errorf("left\n%q, want\n%q", got, kept)
	}
	_ = user.Process.Kill()
	_ = user.Wait()
	if got := there(); slices.Contains(got, used) || len(got) != len(kept)-1 {
		t.Errorf("when its last process has ended: %q", got)
	}
}

// A place whose name does not fit into a socket's address is as good as another.
func TestLongPlace(t *testing.T) {
	runtime := privatetest.MakeFolder(t) + strings.Repeat("/"+strings.Repeat("x", 50), 3)
	if err := os.MkdirAll(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	client := `
import json, os, socket
path = os.environ["STOKER_HOOK_SOCKET"]
assert len(path) > 150
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("/proc/self/fd/%d/%s" % (os.open(os.path.dirname(path), os.O_PATH), os.path.basename(path)))
s.send(json.dumps({"v": 1, "pid": os.getpid(), "seq": 0, "dropped": 0, "records": [{"k": "hello", "role": "main", "torch": "2.15"}]}).encode())
`
	run := record(t, Options{Command: []string{"python3", "-c", client}, Hook: hook.Files})
	if run.Facts.Software.Torch != "2.15" {
		t.Errorf("the hook was not heard: %+v", run.Facts.Absent)
	}
	if left, _ := filepath.Glob(runtime + "/stoker/run-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// The folder of a run stands while something that the command left behind lives, and
// goes with the run otherwise.
func TestFolderStandsWhileItMayBeUsed(t *testing.T) {
	record(t, Options{Command: []string{"sh", "-c", "(sleep 0.05 &); sleep 0.1"}, Hook: hook.Files})
	if left := runFolders(os.Getpid()); len(left) != 0 {
		t.Errorf("after a run whose processes all ended: %q", left)
	}
	dir := t.TempDir()
	record(t, Options{
		Command: []string{"sh", "-c", "setsid sh -c 'echo $$ > " + dir + "/pid; exec sleep 60' & until [ -s " + dir + "/pid ]; do sleep 0.01; done"},
		Hook:    hook.Files,
	})
	pid := 0
	_, _ = fmt.Sscan(read(dir+"/pid"), &pid)
	if pid == 0 {
		t.Fatal("nothing was left behind")
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL); _, _ = unix.Wait4(pid, nil, 0, nil) })
	if left := runFolders(os.Getpid()); len(left) != 1 {
		t.Errorf("while it lives: %q", left)
	} else {
		defer os.RemoveAll(left[0])
	}
}
