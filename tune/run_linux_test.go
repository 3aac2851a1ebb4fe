package tune

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// A command that needs a port finds it free in each start, even if it leaves behind a child
// that holds it. A command that fails only the second time is reported with its output.
func TestStarts(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 to take a port with")
	}
	leash.Hold(t)
	privatetest.MakeFolder(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	script := fmt.Sprintf(`
import os, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", %d))
s.listen()
if os.fork() == 0:
    time.sleep(600)
mark = os.environ["MARK"]
if os.path.exists(mark):
    sys.exit("a second time: login_token=hunter2 https://bob:hunter2@host/x?sig=hunter2")
open(mark, "w").close()
`, port)
	folder := t.TempDir()
	c := Command{Words: []string{"python3", "-c", script}, Env: []string{"MARK=" + folder + "/mark"}, Folder: folder, Longest: time.Minute, Warn: func(string) {}}
	if _, err := c.Start(t.Context(), "first", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context(), "second", nil); err == nil || !strings.Contains(err.Error(), "with code 1: a second time: login_token=[redacted]") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the second start: %v", err)
	}
}

// A command that never comes to a step is ended, and cannot be judged.
func TestNeverAStep(t *testing.T) {
	leash.Hold(t)
	privatetest.MakeFolder(t)
	c := Command{Words: []string{"sleep", "1000"}, Folder: t.TempDir(), Longest: 100 * time.Millisecond, Warn: func(string) {}}
	_, err := Run(t.Context(), Options{Most: 5, Start: c.Start, Say: func(string) {}})
	if err == nil || !strings.Contains(err.Error(), "0 steady training steps were seen") || !strings.Contains(err.Error(), "--longest") {
		t.Error(err)
	}
}
