package leash

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const role = "LEASH_TEST_ROLE"

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// TestVictim is run, and ended, by the other tests in a separate process.
func TestVictim(t *testing.T) {
	how := os.Getenv(role)
	if how == "" {
		t.Skip("is run by the others")
	}
	fmt.Println(os.Getenv("TMPDIR"))
	Remove(os.Getenv("LEASH_TEST_REMOVE"))
	if how == "signals" {
		out, _ := exec.Command("sh", "-c", "kill -HUP $$; kill -INT $$; echo alive").CombinedOutput()
		fmt.Printf("%q\n", out)
		return
	}
	t.Run("held", func(t *testing.T) {
		Hold(t)
		c := exec.Command("sh", "-c", "echo $$; setsid sh -c 'echo $$; trap : TERM HUP; exec sleep 1000' & (sleep 1000 & echo $!); echo; exec sleep 1000")
		out, err := c.StdoutPipe()
		if err != nil || c.Start() != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Println(lines.Text())
			if n++; n == 4 {
				break
			}
		}
		switch how {
		case "fails":
			t.Fatal("as it is to")
		case "panics":
			go panic("as it is to")
			select {}
		case "is killed":
			select {}
		}
	})
	fmt.Println("over")
	bufio.NewReader(os.Stdin).ReadString('\n')
}

var n int

// victim starts TestVictim and returns the processes that it started.
func victim(t *testing.T, how string) (c *exec.Cmd, folder string, started []int) {
	t.Helper()
	c = exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.timeout=0")
	elsewhere := t.TempDir() + "/elsewhere"
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Env = append(os.Environ(), role+"="+how, "LEASH_TEST_REMOVE="+elsewhere)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Stdin, _, _ = os.Pipe() // nothing comes
	out, err := c.StdoutPipe()
	if err != nil || c.Start() != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	for folder = lines.Text(); len(started) < 3 && lines.Scan(); {
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			started = append(started, pid)
		}
	}
	t.Cleanup(func() {
		for _, pid := range append(started, c.Process.Pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = c.Wait()
	})
	return c, folder, started
}

func gone(path string) bool { _, err := os.Stat(path); return os.IsNotExist(err) }

func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// However the tests end, what they started ends, and their folder is removed.
func TestNothingOutlives(t *testing.T) {
	for _, how := range []string{"fails", "panics", "is killed"} {
		c, folder, started := victim(t, how)
		if len(started) != 3 {
			t.Fatalf("%s: started %v", how, started)
		}
		switch how {
		case "is killed":
			for _, pid := range started {
				if !runs(pid) {
					t.Errorf("%d has ended too early: the test shows nothing", pid)
				}
			}
			_ = unix.Kill(-c.Process.Pid, unix.SIGKILL)
		case "fails": // the test binary goes on
		}
		for _, pid := range started {
			Wait(t, fmt.Sprintf("the end of %d, the tests of which: %s", pid, how), func() bool { return !runs(pid) })
		}
		if how == "fails" {
			if !runs(c.Process.Pid) {
				t.Error("the test binary has ended with its test")
			}
			continue
		}
		for _, entry := range c.Env {
			path, found := strings.CutPrefix(entry, "LEASH_TEST_REMOVE=")
			Wait(t, "the end of "+path, func() bool { return !found || gone(path) })
		}
		Wait(t, "the end of "+folder, func() bool { return gone(folder) })
	}
}

// Child processes handle signals even if the tests ignore them.
func TestSignalsAreNotIgnored(t *testing.T) {
	signal.Ignore(unix.SIGHUP, unix.SIGINT)
	c := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	c.Env = append(os.Environ(), role+"=signals")
	out, err := c.CombinedOutput()
	signal.Reset(unix.SIGHUP, unix.SIGINT)
	if err != nil || !strings.Contains(string(out), "\n\"\"\n") {
		t.Errorf("a program that sends itself SIGHUP goes on: %s%v", out, err)
	}
}

func TestFoldersAreSeparate(t *testing.T) {
	folder := os.Getenv("TMPDIR")
	for _, path := range []string{os.TempDir(), t.TempDir()} {
		if !strings.HasPrefix(path, folder) {
			t.Errorf("%s does not lie in %s", path, folder)
		}
	}
	if run, cache := os.Getenv("XDG_RUNTIME_DIR"), os.Getenv("XDG_CACHE_HOME"); filepath.Dir(run) != filepath.Dir(cache) || filepath.Base(filepath.Dir(run))[0] != 't' && filepath.Dir(run) != folder {
		t.Errorf("%s and %s are not of these tests", run, cache)
	}
	if len(folder) > 30 && filepath.Dir(folder) == "/tmp" {
		t.Errorf("%s has no room for the name of a socket", folder)
	}
}

// impatient is a test whose time is over.
type impatient struct {
	testing.TB
	failed string
}

func (i *impatient) Deadline() (time.Time, bool)  { return time.Now(), true }
func (i *impatient) Fatalf(text string, a ...any) { i.failed = fmt.Sprintf(text, a...) }

func TestWaits(t *testing.T) {
	i := &impatient{TB: t}
	Wait(i, "nothing", func() bool { return false })
	if i.failed != "waited in vain for nothing" {
		t.Error(i.failed)
	}
	Receive(i, "a word", make(chan string))
	if i.failed != "waited in vain for a word" {
		t.Error(i.failed)
	}
	i.failed = ""
	Wait(i, "something", func() bool { return true })
	looks := 0
	Wait(t, "the third look", func() bool { looks++; return looks == 3 })
	word := make(chan string, 1)
	word <- "a word"
	if Receive(t, "a word", word) != "a word" || i.failed != "" || looks != 3 {
		t.Error(looks, i.failed)
	}
}
