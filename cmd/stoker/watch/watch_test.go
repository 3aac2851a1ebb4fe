//go:build linux

package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/watch"
)

const watching = "STOKER_TEST_WATCHES"

// TestWatchItself is the program that the other tests start on a pseudo-terminal.
func TestWatchItself(t *testing.T) {
	if args := os.Getenv(watching); args != "" {
		if os.Getenv("STOKER_TEST_FAULT") != "" {
			judgeForWatch = func(watch.State, *recording.Run) watch.State { panic("planted") }
		}
		os.Exit(run(context.Background(), strings.Fields(args), os.Stdin, os.Stdout, os.Stderr))
	}
}

// terminal is a real pseudo-terminal with stoker watch on it.
type terminal struct {
	t     *testing.T
	ours  *os.File
	fd    int // the master
	its   *os.File
	was   unix.Termios // its modes before the program began
	cmd   *exec.Cmd
	mutex sync.Mutex
	shown bytes.Buffer
	seen  int // length of the text that has searched already
}

func openTerminal(t *testing.T, columns, lines uint16) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	ours := os.NewFile(uintptr(fd), "/dev/ptmx") // non-blocking, so that closing it ends a read
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	its, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &terminal{t: t, ours: ours, fd: fd, its: its}
	c.resize(columns, lines)
	t.Cleanup(c.close)
	t.Cleanup(func() {
		if text := c.text(); t.Failed() {
			t.Logf("the end of what was shown: %q", text[max(0, len(text)-2000):])
		}
	})
	return c
}

// newTerminal starts stoker on a new pseudo-terminal.
func newTerminal(t *testing.T, columns, lines uint16, args string, env ...string) *terminal {
	t.Helper()
	c := openTerminal(t, columns, lines)
	c.start(exec.Command(os.Args[0], "-test.run=^TestWatchItself$"), append([]string{watching + "=" + args}, env...)...)
	return c
}

func (c *terminal) start(cmd *exec.Cmd, env ...string) {
	c.t.Helper()
	leash.Hold(c.t)
	c.cmd = cmd
	// A data race is reported to a file, because writing to a terminal that is not read would block forever.
	folder, err := os.MkdirTemp("", "") // without the test's name, as GORACE allows no comma
	if err != nil {
		c.t.Fatal(err)
	}
	races := filepath.Join(folder, "race")
	c.t.Cleanup(func() {
		files, _ := filepath.Glob(races + ".*")
		for _, file := range files {
			text, err := os.ReadFile(file)
			c.t.Errorf("%s %v", text, err)
		}
	})
	cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "GORACE=log_path="+races), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.its, c.its, c.its
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.was = c.modes()
	clitest.HeedAgain(os.Interrupt, syscall.SIGPIPE)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(c, c.ours) }()
}

// close closes both ends. The kernel then signals the program.
func (c *terminal) close() { _, _ = c.its.Close(), c.ours.Close() }

// text returns everything that was shown.
func (c *terminal) text() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.shown.String()
}

// Write stores the output of the program.
func (c *terminal) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.shown.Write(p)
}

// has waits until the program has shown a text since the last call.
func (c *terminal) has(text string) {
	c.t.Helper()
	leash.Wait(c.t, text, func() bool {
		shown := c.text()
		at := strings.Index(shown[c.seen:], text)
		if at >= 0 {
			c.seen += at + len(text)
		}
		return at >= 0
	})
}

func (c *terminal) press(keys string) { _, _ = c.ours.WriteString(keys) }

func (c *terminal) resize(columns, lines uint16) {
	_ = unix.IoctlSetWinsize(c.fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines})
}

func (c *terminal) modes() unix.Termios {
	modes, err := unix.IoctlGetTermios(int(c.its.Fd()), unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	return *modes
}

// However watch ends, the terminal's modes are restored, the cursor is shown, and the alternate
// screen is left.
func TestWatchRestoresTheTerminal(t *testing.T) {
	file, err := filepath.Abs(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	signals := func(s syscall.Signal) func(c *terminal) {
		return func(c *terminal) { _ = c.cmd.Process.Signal(s) }
	}
	type ending struct {
		end  func(c *terminal)
		code int
	}
	ends := map[string]ending{}
	for number := syscall.Signal(1); number <= lastSignal; number++ {
		if catchable(number) {
			ends[fmt.Sprintf("signal %d, %v", number, number)] = ending{signals(number), cli.ExitSignalBase + int(number)}
		}
	}
	ends["signal 2, interrupt"] = ending{signals(syscall.SIGINT), cli.ExitFine} // the same as Ctrl-C
	for name, end := range map[string]func(c *terminal){
		"q":      func(c *terminal) { c.press("q") },
		"Ctrl-C": func(c *terminal) { c.press("\x03") },
		"a small window, then q": func(c *terminal) {
			c.resize(20, 6)
			c.has("shows all")
			c.resize(120, 40)
			c.has("pipeline")
			c.press("q")
		},
		"sizes without end, then q": func(c *terminal) {
			for n := range uint16(300) {
				c.resize(1+n*37%211, 1+n*53%67)
			}
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
		ends[name] = ending{end, cli.ExitFine}
	}
	for name, ending := range ends {
		t.Run(name, func(t *testing.T) {
			c := newTerminal(t, 100, 30, "watch "+file, "LANG=C.UTF-8")
			c.has("cpu-bound")
			ending.end(c)
			_ = c.cmd.Wait()
			c.whole()
			if code := c.cmd.ProcessState.ExitCode(); code != ending.code {
				t.Errorf("%v, want %d", c.cmd.ProcessState, ending.code)
			}
			if text := c.text(); strings.Contains(text, "goroutine") || strings.Contains(text, "stoker: error") {
				t.Errorf("it says %q", text[max(0, len(text)-300):])
			}
		})
	}
}

// lastSignal is the highest signal of Linux.
const lastSignal = syscall.Signal(64)

// catchable reports whether a signal ends a process and can be caught in Go: Go itself uses SIGPROF,
// and C libraries use 32 to 34.
func catchable(s syscall.Signal) bool {
	return !slices.Contains([]syscall.Signal{
		syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT,
		syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGPROF, 32, 33, 34,
	}, s)
}

// whole checks that the terminal is as before.
func (c *terminal) whole() {
	c.t.Helper()
	if now := c.modes(); now != c.was {
		c.t.Errorf("the terminal's modes were %+v and are %+v", c.was, now)
	}
	leash.Wait(c.t, "a cursor on the first screen", func() bool {
		text := c.text()
		return strings.LastIndex(text, "\x1b[?1049l") >= strings.LastIndex(text, "\x1b[?1049h") && strings.LastIndex(text, "\x1b[?25h") >= strings.LastIndex(text, "\x1b[?25l")
	})
}

// drawn waits until the alternate screen is shown, in raw mode and without a cursor.
func (c *terminal) drawn() {
	c.t.Helper()
	leash.Wait(c.t, "a screen of its own", func() bool {
		text := c.text()
		return c.modes().Lflag&unix.ICANON == 0 && strings.LastIndex(text, "\x1b[?1049h") > strings.LastIndex(text, "\x1b[?1049l") &&
			strings.LastIndex(text, "\x1b[?25l") > strings.LastIndex(text, "\x1b[?25h")
	})
}

// signalForeground sends a signal only to the leader of the terminal's foreground process group.
func (c *terminal) signalForeground(s syscall.Signal) (leader int) {
	c.t.Helper()
	leader, err := unix.IoctlGetInt(c.fd, unix.TIOCGPGRP)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := syscall.Kill(leader, s); err != nil {
		c.t.Fatal(err)
	}
	return leader
}

// Memory is bounded for a terminal of any size.
func TestWatchOnAHugeTerminal(t *testing.T) {
	c := newTerminal(t, 2000, 2000, "watch "+abs(t, clitest.LiveRun))
	c.has("cpu-bound")
	c.resize(3000, 3000)
	c.press("?")
	c.has("what is what")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var peak int
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &peak)
	}
	if peak == 0 || peak > 150_000 {
		t.Errorf("%d kB at most, on 3,000 x 3,000 cells", peak)
	}
	c.press("xq")
	_ = c.cmd.Wait()
	c.whole()
}

// watch can be ended even if the terminal accepts no output, as over a hanging connection, and it
// restores the terminal's modes.
func TestWatchEndsIfTheTerminalIsNotRead(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun))
	c.has("cpu-bound")
	its, err := unix.Open(c.its.Name(), unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.mutex.Lock() // the output is not read
	for err == nil {
		_, err = unix.Write(its, []byte("full "))
	}
	c.press("?")
	_, _ = c.cmd.Process.Signal(syscall.SIGTERM), c.cmd.Process.Signal(syscall.SIGHUP)
	_ = c.cmd.Wait()
	if now := c.modes(); now != c.was {
		t.Errorf("the terminal's modes were %+v and are %+v", c.was, now)
	}
	code, status := c.cmd.ProcessState.ExitCode(), c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	late := status.Signaled() && status.Signal() == syscall.SIGHUP // it came when the modes were restored already
	if !late && code != cli.ExitSignalBase+int(syscall.SIGTERM) && code != cli.ExitSignalBase+int(syscall.SIGHUP) {
		t.Error(c.cmd.ProcessState)
	}
	c.mutex.Unlock()
	_ = unix.Close(its)
}

// A panic is shown on the screen, and the terminal is restored.
func TestWatchSurvivesAPanic(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun), "STOKER_TEST_FAULT=1")
	if err := c.cmd.Wait(); err == nil {
		t.Error("a fault ends with 0")
	}
	c.has("planted")
	c.whole()
}

// growingFile makes a recording that is being written.
func growingFile(t *testing.T, path string) *recording.Writer {
	t.Helper()
	out, err := recording.Create(path, recording.Facts{Started: 1.7e9, Command: []string{"train.py"}})
	if err != nil {
		t.Fatal(err)
	}
	out.AddSample(recording.TreeCPU, "tree", 1, 1)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

// Without arguments, watch shows the recordings that are being written by commands of this folder,
// wherever -o puts them. Other growing files belong to the user's program.
func TestWatchFindsRecordingsOfThisFolder(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	t.Chdir(folder)
	names := func() (all []string) {
		sources, err := toWatch(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			all = append(all, s.name)
		}
		return all
	}
	for name, text := range map[string]string{"predictions.jsonl": "{\"label\": 3}\n", "predictions.jsonl.gz": "no gzip", "begun.jsonl.gz": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(); !slices.Equal(got, []string{"this machine"}) {
		t.Errorf("nothing is recorded here, and %q are watched", got)
	}
	growingFile(t, "live.jsonl.gz")
	if got := names(); !slices.Equal(got, []string{"live.jsonl.gz"}) {
		t.Errorf("in the folder: %q", got)
	}
	growingFile(t, filepath.Join(elsewhere, "far.jsonl.gz"))
	if err := os.MkdirAll(judged.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	growingFile(t, filepath.Join(judged.Folder, "usual.jsonl.gz"))
	got := names()
	slices.Sort(got)
	if !slices.Equal(got, []string{"far.jsonl.gz", "live.jsonl.gz", "usual.jsonl.gz"}) {
		t.Errorf("in several folders: %q", got)
	}
}

// A screen that was started before the run shows it as soon as it begins.
func TestWatchWaitsForARecording(t *testing.T) {
	folder := t.TempDir()
	c := openTerminal(t, 100, 30)
	cmd := exec.Command(os.Args[0], "-test.run=^TestWatchItself$")
	cmd.Dir = folder
	c.start(cmd, watching+"=watch")
	c.has("no recording is being written here")
	growingFile(t, filepath.Join(folder, "live.jsonl.gz"))
	c.has("live.jsonl.gz")
	c.press("q")
	_ = c.cmd.Wait()
	c.whole()
}

// On a terminal, observe prints before CMD begins that it records, because a program may print
// nothing for long. Otherwise it prints nothing.
func TestObserveSaysThatItRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	c := newTerminal(t, 200, 30, "observe --no-hook -o "+path+" -- echo CMD")
	c.has("stoker: recording " + path[:20])
	c.has("CMD")
	c.has("recorded " + path)
	_ = c.cmd.Wait()
	if text := c.text(); strings.Count(text, "stoker: recording ") != 1 {
		t.Errorf("%q", text)
	}
	if _, _, errs := call(t, "observe", "--no-hook", "-o", path, "--", "true"); strings.Contains(errs, "stoker: recording ") {
		t.Errorf("without a terminal: %s", errs)
	}
}

// A file that is not a recording is an error at once.
func TestWatchOfAnotherFile(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, "watch_test.go"))
	_ = c.cmd.Wait()
	c.has("expected a recording of Stoker")
	c.whole()
}

// Closing the terminal ends watch.
func TestWatchEndsWithItsTerminal(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun))
	c.has("cpu-bound")
	c.close()
	_ = c.cmd.Wait()
}

// When the watched job ends, its last screen stays until q.
func TestWatchStaysWhenTheJobEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	facts := recording.Facts{Started: 1.7e9, Command: []string{"train.py"}}
	out, err := recording.Create(path, facts)
	if err != nil {
		t.Fatal(err)
	}
	c := newTerminal(t, 100, 30, "watch "+path)
	c.has("so far")
	out.AddSample(recording.TreeCPU, "tree", 1, 1)
	facts.Exit = &recording.ExitStatus{At: 2, Code: 7}
	out.SetFacts(facts)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	c.has("ended with exit code 7")
	c.press("q")
	_ = c.cmd.Wait()
	c.whole()
}

// A removed recording that observe writes again is shown again. If it does not come back, that is
// an error.
func TestWatchFollowsARewrittenRecording(t *testing.T) {
	text, err := os.ReadFile(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs, ended := make(chan *recording.Run), make(chan error, 1)
		go func() { ended <- followRecordings([]string{path})[0].runs(ctx, runs) }()
		<-runs
		_ = os.Remove(path)
		time.Sleep(3 * time.Second) // in the bubble's time
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-runs:
		case err := <-ended:
			t.Fatal("the new recording is not followed: ", err)
		}
		_ = os.Remove(path)
		if err := <-ended; !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// Under a shell with job control, Ctrl-Z returns the terminal to the shell, and fg shows the screen
// again. Without such a shell Ctrl-Z does nothing.
func TestWatchSuspendsAndResumes(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	c := openTerminal(t, 100, 30)
	c.start(exec.Command(shell, "--norc", "--noprofile", "-i"), watching+"=watch "+abs(t, clitest.LiveRun), "PS1=ready>")
	c.has("ready>")
	c.was = c.modes() // the modes of bash at its prompt
	c.press("'" + os.Args[0] + "' '-test.run=^TestWatchItself$'\r")
	c.has("cpu-bound")
	c.press("\x1a")
	c.has("Stopped")
	c.has("ready>")
	c.whole()
	c.press("fg\r")
	c.has("cpu-bound")
	c.drawn()
	for _, outside := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTSTP, syscall.SIGSTOP} {
		leader := c.signalForeground(outside)
		c.has("Stopped")
		c.has("ready>")
		if outside != syscall.SIGSTOP { // which cannot be caught
			c.whole()
		}
		c.press("bg\r") // in the background it may not draw, and stops again
		c.has("ready>")
		leash.Wait(t, "a stop in the background", func() bool {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", leader))
			return strings.Contains(string(stat), ") T ")
		})
		c.press("\r")
		c.has("ready>")
		c.press("fg\r")
		c.has("cpu-bound")
		c.drawn()
	}
	c.press("q")
	c.has("ready>")
	c.whole()
	c.press("exit\r")
	_ = c.cmd.Wait()

	alone := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun))
	alone.has("cpu-bound")
	alone.press("\x1a?")
	alone.has("what is what")
	alone.press("xq")
	_ = alone.cmd.Wait()
}

// Without UTF-8, the screen is pure ASCII.
func TestWatchInASCII(t *testing.T) {
	c := newTerminal(t, 80, 24, "watch "+abs(t, clitest.LiveRun), "LC_ALL=C")
	c.has("pipeline")
	c.press("q")
	_ = c.cmd.Wait()
	if i := strings.IndexFunc(c.text(), func(r rune) bool { return r > '~' }); i >= 0 {
		t.Errorf("%q", c.text()[i:])
	}
}

func abs(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Each of several recordings has one screen, even if two files have the same name.
func TestWatchOnceOfSeveral(t *testing.T) {
	clitest.HideOwnRows(t)
	text, err := os.ReadFile(clitest.LiveRun)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range []string{"a/run.jsonl.gz", "b/run.jsonl.gz", "c/other.jsonl.gz"} {
		file := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	code, out, errs := call(t, append([]string{"watch", "--once", files[0]}, files...)...)
	if code != cli.ExitFine || strings.Count(out, "stoker watch ") != 3 || strings.Count(out, "other.jsonl.gz") != 1 {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
}

// Without a terminal, the error names --once.
func TestWatchWithoutATerminal(t *testing.T) {
	clitest.HideOwnRows(t)
	if code, _, errs := call(t, "watch", clitest.LiveRun); code != cli.ExitUsage || !strings.Contains(errs, "--once") {
		t.Errorf("code %d, %q", code, errs)
	}
	code, out, errs := call(t, "watch", "--once", clitest.LiveRun)
	if code != cli.ExitFine || !strings.Contains(out, "best fix") || strings.Contains(out, "\x1b") {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := call(t, "watch", "absent.jsonl.gz"); code != cli.ExitError || !strings.Contains(errs, "neither a recording nor a process") {
		t.Errorf("code %d, %q", code, errs)
	}
}
