package stack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
)

// interpreters are the Pythons of this machine, by version.
func interpreters(t *testing.T) map[string]string {
	found := map[string]string{}
	home, _ := os.UserHomeDir()
	for _, pattern := range []string{home + "/.pyenv/versions/*/bin/python3.1?", "/usr/local/bin/python3.1?", "/usr/bin/python3.1?"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			version, err := exec.Command(path, "-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
			if err == nil {
				found[strings.TrimSpace(string(version))] = path
			}
		}
	}
	if len(found) == 0 {
		t.Skip("there is no CPython 3.10 or newer on this machine")
	}
	return found
}

// TestStacks compares what is read from outside with what Python says of itself.
func TestStacks(t *testing.T) {
	script, err := os.ReadFile("testdata/places.py")
	if err != nil {
		t.Fatal(err)
	}
	for version, python := range interpreters(t) {
		for _, where := range []string{"main", "thread"} {
			for _, name := range []string{"places.py", "Plätze 面.py"} {
				t.Run(version+" "+where+" "+name, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), name)
					if err := os.WriteFile(path, script, 0o600); err != nil {
						t.Fatal(err)
					}
					compare(t, python, path, where)
				})
			}
		}
	}
}

func compare(t *testing.T, python, script, where string) {
	leash.Hold(t)
	c := exec.Command(python, "-I", "-X", "utf8", script, where)
	stdin, _ := c.StdinPipe()
	stdout, _ := c.StdoutPipe()
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = stdin.Close(), c.Wait() }()
	stack, tid := told(t, stdout)
	want := stack + "wait:" + waitedIn
	p, err := attachTo(c.Process.Pid, tid)
	if err != nil && where == "thread" && strings.Contains(python, "3.10") {
		t.Skip("before 3.11 only the first thread is known by its number")
	}
	if err != nil {
		t.Fatal(err)
	}
	var got string
	leash.Wait(t, "the thread waits", func() bool { // it printed before it read
		got = written(t, p)
		return strings.HasSuffix(got, ":"+waitedIn)
	})
	if got != want {
		t.Errorf("read from outside:\n%s\nby Python's own word:\n%s", got, want)
	}
}

func attachTo(pid, tid int) (*python, error) {
	h, err := images{}.homeOf(pid)
	if err != nil {
		return nil, err
	}
	return h.attachTo(&memory{}, pid, tid)
}

// waitedIn is the line of the script in which it stays.
const waitedIn = "38"

// told is what the script says of its stack, outermost first, but for the last line.
func told(t *testing.T, from io.Reader) (stack string, tid int) {
	lines := bufio.NewScanner(from)
	var b strings.Builder
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		if words[0] == "tid" {
			tid, _ = strconv.Atoi(words[1])
			return b.String(), tid
		}
		fmt.Fprintf(&b, "%s:%s\n", words[2], words[1])
	}
	t.Fatal("the script said nothing")
	return "", 0
}

// deep calls 150 functions, whose code lies on as many pages.
const deep = `import sys
def wait(x):
    print("deep", flush=True)
    sys.stdin.read()
body = "    x = (x * 3 + 1) & 255\n" * 400
for n in range(150):
    exec(f"def f{n}(x):\n{body}    return {f'f{n-1}' if n else 'wait'}(x)\n")
f149(1)`

// A stack of many different functions, as that of a compiler, is read to its end: the program's own line is there.
func TestADeepStackIsReadToItsEnd(t *testing.T) {
	for version, python := range interpreters(t) {
		t.Run(version, func(t *testing.T) {
			leash.Hold(t)
			c := exec.Command(python, "-I", "-c", deep)
			stdin, _ := c.StdinPipe()
			stdout, _ := c.StdoutPipe()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = stdin.Close(), c.Wait() }()
			if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
				t.Fatalf("the script said %q: %v", line, err)
			}
			p, err := attachTo(c.Process.Pid, c.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			leash.Wait(t, "the whole stack to be read", func() bool { // code that is new takes several looks
				places, err := p.readStack()
				if err != nil {
					return false
				}
				last := places[len(places)-1]
				if last.code == nil {
					last = places[len(places)-2]
				}
				return len(places) > 150 && last.code.name == "<module>"
			})
		})
	}
}

// written is a stack as told writes it. Names are qualified from 3.11 on.
func written(t *testing.T, p *python) string {
	places, err := p.readStack()
	if errors.Is(err, errTorn) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, place := range places {
		if place.code == nil {
			continue
		}
		name := place.code.name[strings.LastIndexByte(place.code.name, '.')+1:]
		lines = append([]string{fmt.Sprintf("%s:%d", name, place.line)}, lines...)
	}
	return strings.Join(lines, "\n")
}

// TestStrangers: what is no Python, or none that is known, is told and not read.
func TestStrangers(t *testing.T) {
	leash.Hold(t)
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	if _, err := attachTo(c.Process.Pid, c.Process.Pid); !errors.Is(err, errNone) {
		t.Errorf("sleep: %v, want %v", err, errNone)
	}
	if _, err := attachTo(1<<22+1, 1<<22+1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
	if err := readerOf(os.Getpid())(8, make([]byte, 8)); !errors.Is(err, unix.EFAULT) {
		t.Errorf("an address that nothing lies at: %v", err)
	}
}

// BenchmarkLook is what one look at a thread with 25 frames costs.
func BenchmarkLook(b *testing.B) {
	leash.Hold(b)
	path, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("there is no python3")
	}
	c := exec.Command(path, "testdata/places.py", "main")
	stdin, _ := c.StdinPipe()
	stdout, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = stdin.Close(), c.Wait() }()
	_, _ = bufio.NewReader(stdout).ReadString('t')
	p, err := attachTo(c.Process.Pid, c.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.readStack(); err != nil && !errors.Is(err, errTorn) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.spent)/pageSize, "pages/op")
}
