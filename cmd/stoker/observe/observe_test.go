//go:build linux

package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/cmd/stoker/internal/cli"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/clitest"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/judged"
	"github.com/stoker-dev/stoker/cmd/stoker/internal/pipeline"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
	"github.com/stoker-dev/stoker/recording"
)

// shell runs a shell command in a folder, with this test binary as stoker.
func shell(t *testing.T, folder, line string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	c := exec.Command("bash", "-c", `stoker() { `+clitest.AsCommand+`=1 "`+os.Args[0]+`" "$@"; }`+"\n"+line)
	c.Dir, c.Stdout, c.Stderr = folder, &stdout, &stderr
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+privatetest.MakeFolder(t))
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// CMD's exit code is kept even if stderr cannot be written to.
func TestExitCodeOfTheCommand(t *testing.T) {
	for line, want := range map[string]int{
		"stoker observe -- true 2>/dev/full":                                  0,
		"stoker observe -- sh -c 'exit 7' 2>/dev/full":                        7,
		"stoker observe -- sh -c 'exit 7' >&- 2>&-":                           7,
		"stoker observe -- sh -c 'sleep 0.3; exit 7' 2> >(true)":              7,
		"stoker observe -q -- sh -c 'kill -KILL $$'":                          137,
		"stoker observe --check -- sh -c 'exit 7' 2>/dev/full":                7,
		"stoker observe -o /proc/none/run.gz -- sh -c 'exit 7' 2>/dev/full":   7,
		"stoker observe --trace 5 -o /proc/none/x.gz -- sh -c 'exit 7'":       7,
		"ulimit -n 6; stoker observe -- sh -c 'exit 7' 2>/dev/full":           7,
		"ulimit -n 7; stoker observe -- sh -c 'exit 7' 2>/dev/full":           7,
		"stoker observe -- no-such-command-anywhere 2>/dev/full":              127,
		"touch noexec; stoker observe -- ./noexec 2>/dev/full":                126,
		"stoker observe --no-such-flag -- true 2>/dev/full":                   2,
		"mkdir d; cd d; rmdir ../d; stoker observe -q -- sh -c 'exit 7' 2>&1": 7,
	} {
		if code, out, errs := shell(t, t.TempDir(), line); code != want {
			t.Errorf("%s: code %d, want %d\n%s%s", line, code, want, out, errs)
		}
	}
}

// A panic after CMD's end is printed, and CMD's exit code is kept.
func TestPanicAfterTheCommand(t *testing.T) {
	var said strings.Builder
	a := &cli.App{Stderr: &said}
	guard(a, "judge the run", func() error { panic("a fault") })
	guard(a, "judge the run", func() error { return errors.New("no space left on device") })
	if !strings.Contains(said.String(), "judge the run: a fault of stoker's own, please report it: a fault\n") || !strings.HasSuffix(said.String(), "no space left on device\n") {
		t.Error(said.String())
	}
	run := &recording.Run{Facts: recording.Facts{Exit: &recording.ExitStatus{Code: 7}}}
	if code := a.Exit(endAsCommand(a, run, diagnose.Verdict{}, &pipeline.Check{})); code != 7 {
		t.Error("code ", code)
	}
}

// Several commands that start in the same second all run, each with a separate recording.
func TestSeveralCommandsInOneSecond(t *testing.T) {
	folder := t.TempDir()
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			flags := ""
			if i >= 4 {
				flags = "-o same.jsonl.gz"
			}
			code, out, errs := shell(t, folder, fmt.Sprintf("RANK=%d stoker observe -q %s -- sh -c 'echo rank %d ran; exit 7'", i, flags, i))
			if code != 7 || out != fmt.Sprintf("rank %d ran\n", i) {
				t.Errorf("code %d: %s%s", code, out, errs)
			}
		})
	}
	group.Wait()
	for i := range 4 {
		if found, _ := filepath.Glob(fmt.Sprintf("%s/stoker-runs/*-sh-*-r%d-*.jsonl.gz", folder, i)); len(found) != 1 {
			t.Errorf("rank %d has recordings %q", i, found)
		}
	}
	if found, _ := filepath.Glob(folder + "/same*.jsonl.gz"); len(found) != 2 {
		t.Errorf("named alike: %q", found)
	}
	// the verdict on such a short program is arbitrary; here it only matters that it is read
	if code, out, errs := shell(t, folder, "stoker diagnose"); code != 0 || out == "" {
		t.Errorf("diagnose takes none of them: code %d\n%s%s", code, out, errs)
	}
}

func TestRecordingFile(t *testing.T) {
	folder := t.TempDir()
	for _, name := range rankNames {
		t.Setenv(name, "")
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	own := fmt.Sprintf("-%s-%d.jsonl.gz", host, os.Getpid())
	check := func(o observeFlags, args []string, begins, ends string) {
		t.Helper()
		got := recordingFile(o, args)
		if !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, ends) {
			t.Errorf("%s, want %s...%s", got, begins, ends)
		}
	}
	check(observeFlags{}, []string{"python", "a/train.py"}, judged.Folder+"/20", "-train"+own)
	check(observeFlags{pid: 4711}, nil, judged.Folder+"/20", "-pid-4711"+own)
	check(observeFlags{output: folder}, []string{"python"}, folder+"/20", "-python"+own)
	check(observeFlags{output: folder + "/new/"}, []string{"python"}, folder+"/new/20", "-python"+own)
	check(observeFlags{output: folder + "/x.gz"}, []string{"python"}, folder+"/x.gz", "")
	t.Setenv("SLURM_PROCID", "12")
	check(observeFlags{}, []string{"python"}, judged.Folder+"/20", strings.Replace("-python"+own, host, host+"-r12", 1))
	t.Setenv("RANK", "../3")
	check(observeFlags{}, []string{"python"}, judged.Folder+"/20", strings.Replace("-python"+own, host, host+"-r12", 1))
	t.Setenv("RANK", "3")
	check(observeFlags{}, []string{"python"}, judged.Folder+"/20", strings.Replace("-python"+own, host, host+"-r3", 1))
}

// Each error has the hint that helps.
func TestHintsOfCommandsThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	_ = os.WriteFile(dir+"/noexec", nil, 0o600)
	_ = os.WriteFile(dir+"/bad", []byte("#!/no/such/shell\n"), 0o700)
	for name, want := range map[string]struct {
		code int
		hint string
	}{"noexec": {cli.ExitCannotRun, "chmod +x"}, "bad": {cli.ExitNotFound, "hint: install the interpreter"}} {
		var said strings.Builder
		code := run(context.Background(), []string{"observe", "-o", dir + "/x.gz", "--", dir + "/" + name}, strings.NewReader(""), &said, &said)
		if code != want.code || !strings.Contains(said.String(), want.hint) || strings.Count(said.String(), "hint:") != 1 {
			t.Errorf("%s: code %d\n%s", name, code, said.String())
		}
	}
}
