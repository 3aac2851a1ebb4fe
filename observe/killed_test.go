//go:build linux

package observe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

// memoryLimited is a control group with a limit of memory, and whatever is asked of it.
func memoryLimited(t *testing.T) string {
	t.Helper()
	parent, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parent, file = "/sys/fs/cgroup", "memory.max"
	}
	group, err := os.MkdirTemp(parent, "stoker-test-")
	if err != nil {
		t.Skip("no control groups to make here: ", err)
	}
	leash.Remove(group)
	t.Cleanup(func() { _ = os.Remove(group) })
	if err := os.WriteFile(filepath.Join(group, file), []byte("300000000"), 0o600); err != nil {
		t.Skip(err)
	}
	return group
}

// The report says that a job was killed, and by what.
func TestKilledJobIsSaidToBe(t *testing.T) {
	leash.Hold(t)
	group := memoryLimited(t)
	for script, want := range map[string]string{
		"tail /dev/zero":                      "killed 1 process of the job's control group, which may have 300 MB: memory ran out",
		"tail /dev/zero; tail /dev/zero; :":   "killed 2 processes of the job's control group",
		"kill -9 $$":                          "the command was killed (SIGKILL), not for lack of memory",
		"kill -9 $$ & wait; sh -c 'exit 137'": "the command was killed (SIGKILL), not for lack of memory",
		"exit 1":                              "",
	} {
		output := filepath.Join(t.TempDir(), "run.jsonl.gz")
		c := exec.Command("sh", "-c", `echo $$ >"$1"/cgroup.procs && shift && exec "$@"`, "sh", group, os.Args[0], "sh", "-c", script)
		c.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+output)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		run, err := recording.Open(output)
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		if notes := strings.Join(run.Facts.Notes, "\n"); want == "" && strings.Contains(notes, "killed") || !strings.Contains(notes, want) {
			t.Errorf("%s: %+v; the notes lack %q:\n%s", script, run.Facts.Exit, want, notes)
		}
	}
	exit := &recording.ExitStatus{Code: 137, Signal: "SIGKILL"}
	if said := describeKill(exit, memoryGroup{}); !strings.Contains(said, "cannot be seen here") {
		t.Error(fmt.Sprint("without a control group: ", said))
	}
}
