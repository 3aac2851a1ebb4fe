//go:build linux

package observe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
	"github.com/stoker-dev/stoker/recording"
)

// The promise is that a kill loses one second at most; the slack is the machine's.
// Only STOKER_KILLS=100 go test -run TestKills ./observe measures it, on a machine
// that does nothing else.
const (
	promise = 1.0
	slack   = 0.7
)

// Whatever is killed, and whenever, the recording opens and has all that it had,
// and a killed observe leaves the command alone.
func TestKills(t *testing.T) {
	leash.Hold(t)
	kills, err := strconv.Atoi(os.Getenv("STOKER_KILLS"))
	measured := err == nil
	if !measured {
		kills = 6
	}
	runtime := privatetest.MakeFolder(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	dir := t.TempDir()
	var mu sync.Mutex // guards worst
	worst := 0.0
	var group sync.WaitGroup
	lanes := make(chan struct{}, 4)
	for i := range kills {
		lanes <- struct{}{}
		group.Go(func() {
			defer func() { <-lanes }()
			lost, err := killOnce(t, filepath.Join(dir, fmt.Sprintf("run-%d.jsonl.gz", i)), i%3)
			if err != nil {
				t.Errorf("kill %d: %v", i%3, err)
			}
			if measured && lost > promise+slack {
				t.Errorf("kill %d: %.2f s are missing", i%3, lost)
			}
			mu.Lock()
			worst = max(worst, lost)
			mu.Unlock()
		})
	}
	group.Wait()
	t.Logf("%d kills, at most %.2f s lost", kills, worst)
	var left []string
	swept := func() bool { // a command that was killed last may still be ending
		sweep(runtime + "/stoker")
		left, _ = filepath.Glob(runtime + "/stoker/run-*")
		return len(left) == 0
	}
	if !leash.Happens(t, swept) {
		t.Errorf("%d folders of killed observes were left", len(left))
	}
}

// beating is a program that says its number and that it lives, for ever.
const beating = `
import os, time
def say(name, text):
    with open(name + "~", "w") as f: f.write(text)
    os.rename(name + "~", name)
n = 0
while True:
    say(%[1]q + ".beat", str(n))
    if n == 0: say(%[1]q + ".pid", str(os.getpid()))
    n += 1
    time.sleep(0.01)
`

// killOnce kills observe (0), the command (1) or both (2) and returns how many
// seconds of the recording are missing.
func killOnce(t *testing.T, output string, whom int) (lost float64, err error) {
	o := exec.Command(os.Args[0], "python3", "-c", fmt.Sprintf(beating, output))
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
	if err := o.Start(); err != nil {
		return 0, err
	}
	command := 0
	begun := func() bool { command, _ = strconv.Atoi(read(output + ".pid")); return command > 0 }
	if !leash.Happens(t, begun) {
		return 0, errors.New("the command did not begin")
	}
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond) // at any moment
	had, err := recording.Open(output)
	if err != nil {
		return 0, err
	}
	at := float64(time.Now().UnixNano()) / 1e9
	if whom != 1 {
		_ = o.Process.Kill()
	}
	if whom != 0 {
		_ = unix.Kill(command, unix.SIGKILL)
	}
	_ = o.Wait()
	if whom == 0 {
		beat := read(output + ".beat")
		if !leash.Happens(t, func() bool { return read(output+".beat") != beat }) {
			return 0, errors.New("killing observe ended the command")
		}
		_ = unix.Kill(command, unix.SIGKILL)
	}
	run, err := recording.Open(output)
	if err != nil {
		return 0, err
	}
	if run.End() < had.End() || len(run.Series) < len(had.Series) {
		return 0, fmt.Errorf("%.2f s are left of %.2f s that were in the file", run.End(), had.End())
	}
	if e := run.Facts.Exit; whom == 1 && (e == nil || e.Code != 137 || o.ProcessState.ExitCode() != 137) {
		return 0, fmt.Errorf("the command was killed, the recording says %+v, observe exits %d", e, o.ProcessState.ExitCode())
	}
	return at - run.Facts.Started - run.End(), nil
}

// A command that is ours, as a trial of tune is, ends with us.
func TestKilledApart(t *testing.T) {
	leash.Hold(t)
	output := filepath.Join(t.TempDir(), "run.jsonl.gz")
	o := exec.Command(os.Args[0], "python3", "-c", fmt.Sprintf(beating, output))
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output, "STOKER_TEST_APART=1")
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	command := 0
	leash.Wait(t, "the command to begin", func() bool { command, _ = strconv.Atoi(read(output + ".pid")); return command > 0 })
	_ = o.Process.Kill()
	_ = o.Wait()
	leash.Wait(t, "the command to end", func() bool { return !alive(command) || !running(command) })
}

// Each second is in the file when it is over, and the next one begins at the next
// full second: so a kill loses no more.
func TestEachSecondIsWritten(t *testing.T) {
	r := hooked(t, os.Getpid())
	for i := range 3 {
		r.nextSecond = 0 // due
		r.tick()
		if now := r.clock.now(); r.nextSecond <= now-second || r.nextSecond > now+second {
			t.Errorf("after %.3f s the next second begins at %.3f s", now, r.nextSecond)
		}
		held, err := recording.Open(r.out.Path())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range r.out.RunSoFar().Series {
			if got := held.Find(want.Signal, want.Subject); got == nil || len(got.V) != len(want.V) || len(want.V) > i+1 {
				t.Errorf("second %d: the file has %+v, want %+v", i, got, want)
			}
		}
	}
}
