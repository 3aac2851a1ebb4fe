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

// TestWatchItself is what the other tests start on a terminal of their own.
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
	fd    int // of ours
	its   *os.File
	was   unix.Termios // before the program began
	cmd   *exec.Cmd
	mutex sync.Mutex
	shown bytes.Buffer
	seen  int // of what was shown, by the last has
}

func openTerminal(t *testing.T, columns, lines uint16) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	ours := os.NewFile(uintptr(fd), "/dev/ptmx") // does not block: a read ends when it is closed
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

// newTerminal is a terminal on which stoker runs.
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
	// A data race is reported into a file. On a terminal that nobody reads, the report would wait forever.
	folder, err := os.MkdirTemp("", "") // a path without the test's name: GORACE takes no comma
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

// close closes both ends: the kernel tells who runs there.
func (c *terminal) close() { _, _ = c.its.Close(), c.ours.Close() }

// text is all that was shown.
func (c *terminal) text() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.shown.String()
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

// However it ends, the terminal is as it was, its cursor is shown, and the other screen
// is left.
func TestWatchLeavesTheTerminalWhole(t *testing.T) {
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
	ends["signal 2, interrupt"] = ending{signals(syscall.SIGINT), cli.ExitFine} // as Ctrl-C
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

// lastSignal is the last that Linux has.
const lastSignal = syscall.Signal(64)

// catchable reports whether a signal ends a process, and whether Go lets one catch it:
// SIGPROF is its own, and 32 to 34 are the C libraries'.
func catchable(s syscall.Signal) bool {
	return !slices.Contains([]syscall.Signal{
		syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT,
		syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGPROF, 32, 33, 34,
	}, s)
}

// whole holds the terminal against what it was.
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

// drawn waits until the screen is one of its own, in raw mode, without a cursor.
func (c *terminal) drawn() {
	c.t.Helper()
	leash.Wait(c.t, "a screen of its own", func() bool {
		text := c.text()
		return c.modes().Lflag&unix.ICANON == 0 && strings.LastIndex(text, "\x1b[?1049h") > strings.LastIndex(text, "\x1b[?1049l") &&
			strings.LastIndex(text, "\x1b[?25l") > strings.LastIndex(text, "\x1b[?25h")
	})
}

// signalForeground signals the process that leads what is in the terminal's foreground,
// and nobody else.
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

// A terminal of any size is drawn on in bounded memory.
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

// A terminal that takes nothing more, as over a line that hangs, keeps nobody from ending
// us, and has its modes back.
func TestWatchEndsWhereNobodyReads(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun))
	c.has("cpu-bound")
	its, err := unix.Open(c.its.Name(), unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.mutex.Lock() // nothing is read
	for err == nil {
		_, err = unix.Write(its, []byte("full "))
	}
	c.press("?")
	_, _ = c.cmd.Process.Signal(syscall.SIGTERM), c.cmd.Process.Signal(syscall.SIGHUP)
	_ = c.cmd.Wait()
	if now := c.modes(); now != c.was {
		t.Errorf("the terminal's modes were %+v and are %+v", c.was, now)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != cli.ExitSignalBase+int(syscall.SIGTERM) && code != cli.ExitSignalBase+int(syscall.SIGHUP) {
		t.Error(c.cmd.ProcessState)
	}
	c.mutex.Unlock()
	_ = unix.Close(its)
}

// A fault of our own says so on the screen, and leaves the terminal whole.
func TestWatchSurvivesAFault(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun), "STOKER_TEST_FAULT=1")
	if err := c.cmd.Wait(); err == nil {
		t.Error("a fault ends with 0")
	}
	c.has("planted")
	c.whole()
}

// growingFile is a recording that is being written.
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

// Without arguments the recordings are watched that are being written here, wherever -o puts
// them. What grows here and is none is the program's own.
func TestWatchFindsWhatIsWrittenHere(t *testing.T) {
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

// A screen that was there before the run shows it as soon as it begins.
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

// On a terminal observe says before CMD begins that it records, as a program may be silent for
// long. Elsewhere it says nothing.
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

// A recording that is none is said at once.
func TestWatchOfNoRecording(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, "watch_test.go"))
	_ = c.cmd.Wait()
	c.has("expected a recording of Stoker")
	c.whole()
}

// A terminal that is closed ends us.
func TestWatchEndsWithItsTerminal(t *testing.T) {
	c := newTerminal(t, 100, 30, "watch "+abs(t, clitest.LiveRun))
	c.has("cpu-bound")
	c.close()
	_ = c.cmd.Wait()
}

// The job that is watched ends, and its last screen stays until q.
func TestWatchGoesOnWhenTheJobEnds(t *testing.T) {
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

// A recording that somebody removed, and that observe writes anew, is followed on; one
// that stays away is said.
func TestWatchFollowsARecordingThatIsWrittenAnew(t *testing.T) {
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
		time.Sleep(3 * time.Second) // of the bubble
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

// Ctrl-Z under a shell with jobs leaves the shell its terminal, and fg brings the screen
// back; where nobody could let it go on it does nothing.
func TestWatchStopsAndGoesOn(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	c := openTerminal(t, 100, 30)
	c.start(exec.Command(shell, "--norc", "--noprofile", "-i"), watching+"=watch "+abs(t, clitest.LiveRun), "PS1=ready>")
	c.has("ready>")
	c.was = c.modes() // bash's own, at its prompt
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
		if outside != syscall.SIGSTOP { // which nobody can catch
			c.whole()
		}
		c.press("bg\r") // where it may not draw, and stops again
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

// Without UTF-8 nothing but ASCII comes.
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

// Each of several recordings has one screen, also where two files have one name.
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

// Without a terminal it says what would do.
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
