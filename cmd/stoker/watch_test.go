//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
)

const watching = "STOKER_TEST_WATCHES"

// TestWatchItself is what the other tests start on a terminal of their own.
func TestWatchItself(t *testing.T) {
	if args := os.Getenv(watching); args != "" {
		os.Exit(run(context.Background(), strings.Fields(args), os.Stdin, os.Stdout, os.Stderr))
	}
}

// terminal is a real pseudo-terminal with stoker watch on it.
type terminal struct {
	t     *testing.T
	ours  *os.File
	its   *os.File
	cmd   *exec.Cmd
	mutex sync.Mutex
	shown bytes.Buffer
}

func newTerminal(t *testing.T, columns, lines uint16, args string) *terminal {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	its, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &terminal{t: t, ours: ours, its: its}
	c.resize(columns, lines)
	c.cmd = exec.Command(os.Args[0], "-test.run=^TestWatchItself$")
	c.cmd.Env = append(os.Environ(), watching+"="+args, "TERM=xterm-256color", "LANG=C.UTF-8")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = its, its, its
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	go func() { _, _ = io.Copy(c, ours) }()
	t.Cleanup(func() { _, _ = its.Close(), ours.Close() })
	return c
}

// Write takes what the program shows.
func (c *terminal) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.shown.Write(p)
}

// has waits until the program has shown a text since the last call.
func (c *terminal) has(text string) {
	c.t.Helper()
	leash.Wait(c.t, text, func() bool {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		found := strings.Contains(c.shown.String(), text)
		if found {
			c.shown.Reset()
		}
		return found
	})
}

func (c *terminal) press(keys string) { _, _ = c.ours.WriteString(keys) }

func (c *terminal) resize(columns, lines uint16) {
	_ = unix.IoctlSetWinsize(int(c.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines})
}

func (c *terminal) modes() unix.Termios {
	modes, err := unix.IoctlGetTermios(int(c.its.Fd()), unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	return *modes
}

// However it ends, the terminal is as it was, and the other screen is left.
func TestWatchLeavesTheTerminalWhole(t *testing.T) {
	file, err := filepath.Abs(liveRun)
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(c *terminal){
		"q":       func(c *terminal) { c.press("q") },
		"Ctrl-C":  func(c *terminal) { c.press("\x03") },
		"SIGTERM": func(c *terminal) { _ = c.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":  func(c *terminal) { _ = c.cmd.Process.Signal(syscall.SIGINT) },
		"a small window, then q": func(c *terminal) {
			c.resize(20, 4)
			c.has("needs")
			c.resize(120, 40)
			c.has("pipeline")
			c.press("q")
		},
		"explanations, then q": func(c *terminal) {
			c.press("?")
			c.has("what is what")
			c.press("xq")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTerminal(t, 100, 30, "watch "+file)
			was := c.modes()
			c.has("cpu-bound")
			end(c)
			_ = c.cmd.Wait()
			if now := c.modes(); now != was {
				t.Errorf("the terminal's modes were %+v and are %+v", was, now)
			}
			c.has("\x1b[?1049l")
		})
	}
}

// Without a terminal it says what would do.
func TestWatchWithoutATerminal(t *testing.T) {
	alone(t)
	if code, _, errs := call(t, "watch", liveRun); code != exitUsage || !strings.Contains(errs, "--once") {
		t.Errorf("code %d, %q", code, errs)
	}
	code, out, errs := call(t, "watch", "--once", liveRun)
	if code != exitFine || !strings.Contains(out, "best fix") || strings.Contains(out, "\x1b") {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := call(t, "watch", "absent.jsonl.gz"); code != exitError || !strings.Contains(errs, "neither a recording nor a process") {
		t.Errorf("code %d, %q", code, errs)
	}
}
