//go:build linux

package observe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// stranger is what another user tries once observe has ended: to have each folder
// that the job was given, itself or by way of one above it, and to put his own
// sitecustomize into it. He prints what he got. argv: a file that his code writes
// when it runs, the folders.
const stranger = `
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
code = "import os; open(%r, 'a').write('uid=%%d ' %% os.geteuid())" % sys.argv[1]
def take(path):
    try: os.makedirs(path, exist_ok=True)
    except OSError: pass
    try:
        with open(path + "/sitecustomize.py", "w") as f: f.write(code)
        return True
    except OSError: return False
for path in filter(os.path.isabs, sys.argv[2:]):
    got, above = take(path), path
    while not got and above != "/":
        try:
            os.rename(above, above + ".old")
            got = take(path)
        except OSError: pass
        above = os.path.dirname(above)
    if got: print("took", path)
`

// leftBehind is a process that outlives the command, knows what it was given, and
// starts Python once it is told to.
const leftBehind = `import os, sys, time, subprocess
folder = sys.argv[1]
if os.fork(): sys.exit()
os.setsid()
with open(folder + "/env.new", "w") as f: f.write("\n".join("%s=%s" % i for i in os.environ.items()))
os.rename(folder + "/env.new", folder + "/env")
while not os.path.exists(folder + "/go"): time.sleep(0.02)
subprocess.run([sys.executable, "-c", "import os, sys; sys.stdout = open(sys.argv[1] + '/hooked', 'w'); print(os.environ['STOKER_HOOK_DIR'] not in sys.path)", folder])
open(folder + "/done", "w").close()
`

// What a job was given stays the user's own for as long as anything of the job
// lives: after a normal end, and after a kill and the sweep of a later observe.
func TestNobodyElseRunsCodeInTheJob(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%t", killed), func(t *testing.T) { attack(t, killed) })
	}
}

func attack(t *testing.T, killed bool) {
	leash.Hold(t)
	dir := t.TempDir()
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "PYTHONPATH"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	t.Setenv("HOME", privatetest.MakeFolder(t))
	wait := "until [ -e " + dir + "/env ]; do sleep 0.02; done"
	if killed {
		wait += "; sleep 60"
	}
	_ = os.WriteFile(dir+"/left.py", []byte(leftBehind), 0o600)
	o := observer(t, dir+"/run.jsonl.gz", "sh", "-c", "python3 "+dir+"/left.py "+dir+"; "+wait)
	leash.Wait(t, "the job", func() bool { _, err := os.Stat(dir + "/env"); return err == nil })
	if killed {
		_ = o.Process.Kill()
	}
	_ = o.Wait()
	record(t, Options{Command: []string{"true"}, Hook: emptyHook}) // sweeps

	given := map[string]string{}
	for line := range strings.Lines(read(dir + "/env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		given[name] = value
	}
	folders := []string{given["PYTHONPATH"], given["STOKER_HOOK_DIR"], filepath.Dir(given["STOKER_HOOK_SOCKET"])}
	for i, folder := range folders {
		if !filepath.IsAbs(folder) {
			t.Errorf("the job has no folder %d: %q", i, folders)
		}
	}
	c := exec.Command("python3", append([]string{"-c", stranger, dir + "/marker"}, folders...)...)
	took, err := c.CombinedOutput()
	if err != nil || len(took) > 0 {
		t.Errorf("another user: %s %v", took, err)
	}
	_ = os.WriteFile(dir+"/go", nil, 0o600)
	leash.Wait(t, "the left process's Python", func() bool { _, err := os.Stat(dir + "/done"); return err == nil })
	if ran := read(dir + "/marker"); ran != "" {
		t.Errorf("the code of another user ran in the job: %s", ran)
	}
	if got := strings.TrimSpace(read(dir + "/hooked")); got != "True" {
		t.Errorf("the hook was still to be found: %q", got)
	}
}
