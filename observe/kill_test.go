//go:build linux

package observe

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stoker/internal/private/privatetest"
	"stoker/recording"
)

// Three in a thousand kills may find the machine too busy to write in time; the
// promise is one second, the slack is the machine's.
const (
	promise = 1.0
	slack   = 0.7
)

// Whatever is killed, and whenever, the recording opens and lacks at most its
// last second, and a killed observe leaves the command alone. STOKER_KILLS=100
// raises the count (CI and the release use 100 and more).
func TestKills(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("STOKER_KILLS")); err == nil {
		kills = n
	}
	runtime := privatetest.Folder(t)
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
			lost := killOnce(t, filepath.Join(dir, fmt.Sprintf("run-%d.jsonl.gz", i)), i%3)
			mu.Lock()
			worst = max(worst, lost)
			mu.Unlock()
		})
	}
	group.Wait()
	t.Logf("%d kills, at most %.2f s lost", kills, worst)
	sweep(runtime + "/stoker")
	if left, _ := filepath.Glob(runtime + "/stoker/run-*"); len(left) > 0 {
		t.Errorf("%d folders of killed observes were left", len(left))
	}
}

// killOnce kills observe (0), the command (1) or both (2) and returns how many
// seconds of the recording are missing.
func killOnce(t *testing.T, output string, whom int) (lost float64) {
	marker := output + ".pid"
	script := fmt.Sprintf("import os,time\nopen(%q,'w').write(str(os.getpid()))\nt=time.time()\nwhile time.time()-t<20: time.sleep(0.01)", marker)
	o := exec.Command(os.Args[0], "python3", "-c", script)
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
	if err := o.Start(); err != nil {
		t.Error(err)
		return 0
	}
	command := 0
	for end := time.Now().Add(20 * time.Second); command == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(marker)
		command, _ = strconv.Atoi(string(text))
	}
	if command == 0 {
		t.Error("the command did not begin")
		_ = o.Process.Kill()
		return 0
	}
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
	at := float64(time.Now().UnixNano()) / 1e9
	if whom != 1 {
		_ = o.Process.Kill()
	}
	if whom != 0 {
		_ = unix.Kill(command, unix.SIGKILL)
	}
	_ = o.Wait()
	if whom == 0 {
		time.Sleep(20 * time.Millisecond)
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command)); err != nil || strings.Contains(string(stat), ") Z") {
			t.Error("killing observe ended the command")
		}
		_ = unix.Kill(command, unix.SIGKILL)
	}
	run, err := recording.Open(output)
	if err != nil {
		t.Errorf("kill %d: %v", whom, err)
		return 0
	}
	if whom == 1 && (run.Facts.Exit == nil || run.Facts.Exit.Code != 137 || o.ProcessState.ExitCode() != 137) {
		t.Errorf("the command was killed, the recording says %+v, observe exits %d", run.Facts.Exit, o.ProcessState.ExitCode())
	}
	if lost = at - run.Facts.Started - run.End(); lost > promise+slack {
		t.Errorf("kill %d: %.2f s are missing", whom, lost)
	}
	return lost
}
