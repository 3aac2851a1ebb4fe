//go:build linux

package observe

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/private/privatetest"
	"github.com/stoker-dev/stoker/recording"
)

// cell is one observe of a job, in a trouble that begins at a moment.
type cell struct {
	t       *testing.T
	disk    string // holds the recording, and is what the trouble is of
	files   string // holds what the job tells
	observe *exec.Cmd
	out     bytes.Buffer
	errs    bytes.Buffer
}

// script is the job: it takes its input, prints, waits to be let go, and has an exit
// code of its own.
const script = `
cat
echo out
echo err >&2
echo $$ > %[1]s/began~; mv %[1]s/began~ %[1]s/began
while [ ! -e %[1]s/go ]; do sleep 0.02; done
echo end
echo 7 > %[1]s/ended
exit 7`

func (c *cell) job() string { return fmt.Sprintf(script, c.files) }

func (c *cell) output() string { return filepath.Join(c.disk, "run.jsonl.gz") }

// start starts an observe behind a line of the shell.
func (c *cell) start(before string) *exec.Cmd {
	o := exec.Command("sh", "-c", before+"\n"+`exec "$0" "$@"`, os.Args[0], "sh", "-c", c.job())
	o.Env = append(os.Environ(), "STOKER_TEST_OBSERVE="+c.output())
	o.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	o.Stdin, o.Stdout, o.Stderr = strings.NewReader("in\n"), &c.out, &c.errs
	if err := o.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = unix.Kill(-o.Process.Pid, unix.SIGKILL) })
	return o
}

// began waits until the job has begun.
func (c *cell) began() {
	if !leash.Happens(c.t, func() bool { return read(c.files+"/began") != "" }) {
		c.t.Fatalf("the job did not begin: %s", c.errs.String())
	}
}

func (c *cell) letGo() { c.write(c.files + "/go") }

func (c *cell) write(path string) {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		c.t.Error(err)
	}
}

// beats waits until observe was at work some more times, or has ended.
func (c *cell) beats() {
	wakes := func() (n int) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.observe.Process.Pid))
		for _, thread := range threads {
			if fields := strings.Fields(read(thread)); len(fields) == 3 {
				times, _ := strconv.Atoi(fields[2])
				n += times
			}
		}
		return n
	}
	from := wakes()
	leash.Happens(c.t, func() bool { return !running(c.observe.Process.Pid) || wakes() > from+30 })
}

// limit lowers a limit of observe, not of the job.
func (c *cell) limit(resource int, to uint64) {
	if err := unix.Prlimit(c.observe.Process.Pid, resource, &unix.Rlimit{Cur: to, Max: to}, nil); err != nil {
		c.t.Error(err)
	}
}

// small mounts a small disk.
func (c *cell) small(options string) {
	if err := unix.Mount("tmpfs", c.disk, "tmpfs", 0, options); err != nil {
		c.t.Skip("cannot mount a small disk: ", err)
	}
	c.t.Cleanup(func() { _ = unix.Unmount(c.disk, unix.MNT_DETACH) })
}

// trouble is what befalls an observe: prepare is done before it starts, begin when
// the trouble begins. before is a line of the shell instead, where it begins before.
type trouble struct {
	prepare, begin func(c *cell)
	before         string
	killed         bool // observe itself may not live through it
}

var troubles = map[string]trouble{
	"none": {},
	"disk full": {
		prepare: func(c *cell) { c.small("size=64k") },
		begin:   func(c *cell) { _ = os.WriteFile(c.disk+"/filler", make([]byte, 1<<20), 0o600) },
	},
	"no inodes": {
		prepare: func(c *cell) { c.small("nr_inodes=6") },
		begin: func(c *cell) {
			for i := range 8 {
				_ = os.WriteFile(fmt.Sprint(c.disk, "/", i), nil, 0o600)
			}
		},
	},
	"read-only": {
		prepare: func(c *cell) { c.small("size=1m") },
		begin:   func(c *cell) { _ = unix.Mount("", c.disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") }, // refused while a file is open for writing
	},
	"disk gone": {
		prepare: func(c *cell) { c.small("size=1m") },
		begin:   func(c *cell) { _ = unix.Unmount(c.disk, unix.MNT_DETACH); _ = os.RemoveAll(c.disk) },
	},
	"name taken": {begin: func(c *cell) {
		_ = os.Remove(c.output())
		c.write(c.output())
	}},
	"no descriptors":      {before: "ulimit -n 16", begin: func(c *cell) { c.limit(unix.RLIMIT_NOFILE, 3) }},
	"no file may grow":    {before: "ulimit -f 1", begin: func(c *cell) { c.limit(unix.RLIMIT_FSIZE, 0) }},
	"no memory":           {before: "ulimit -v 2000000", begin: func(c *cell) { c.limit(unix.RLIMIT_AS, 1); c.limit(unix.RLIMIT_DATA, 1) }, killed: true},
	"killed":              {before: "true", begin: func(c *cell) { _ = c.observe.Process.Kill() }, killed: true},
	"nobody reads stderr": {before: "exec 2>&-", begin: func(*cell) {}},
}

// The job always runs: whatever befalls us, and whenever, it has its input, its output
// and its exit code as it has without us.
func TestTheJobAlwaysRuns(t *testing.T) {
	leash.Hold(t)
	t.Setenv("XDG_RUNTIME_DIR", privatetest.MakeFolder(t))
	for name, trouble := range troubles {
		for _, moment := range []string{"before", "during", "after"} {
			t.Run(name+" "+moment, func(t *testing.T) { runs(t, trouble, moment) })
		}
	}
}

func runs(t *testing.T, trouble trouble, moment string) {
	c := &cell{t: t, disk: t.TempDir(), files: t.TempDir()}
	if trouble.prepare != nil {
		trouble.prepare(c)
	}
	begin := func() {
		if trouble.begin != nil {
			trouble.begin(c)
		}
	}
	line := ""
	if moment == "before" {
		if line = trouble.before; line == "" {
			begin()
		}
	}
	c.observe = c.start(line)
	c.began()
	if moment == "during" {
		begin()
		c.beats()
	}
	c.letGo()
	if moment == "after" {
		begin()
	}
	_ = c.observe.Wait()
	if !leash.Happens(t, func() bool { return read(c.files+"/ended") == "7\n" }) {
		t.Fatalf("the job did not end by itself: %s", c.errs.String())
	}
	code := c.observe.ProcessState.ExitCode()
	if died := trouble.killed && moment != "before"; code != 7 && !died {
		t.Errorf("code %d, without us 7\n%s", code, c.errs.String())
	}
	if out := c.out.String(); out != "in\nout\nend\n" {
		t.Errorf("output %q\n%s", out, c.errs.String())
	}
}

// Two observes that are to write the same file run both jobs, and have a file each.
func TestTwoAtOnce(t *testing.T) {
	leash.Hold(t)
	t.Setenv("XDG_RUNTIME_DIR", privatetest.MakeFolder(t))
	disk := t.TempDir()
	var cells []*cell
	for range 4 {
		c := &cell{t: t, disk: disk, files: t.TempDir()}
		c.observe = c.start("")
		cells = append(cells, c)
	}
	for _, c := range cells {
		c.began()
		c.letGo()
		if _ = c.observe.Wait(); c.observe.ProcessState.ExitCode() != 7 || c.out.String() != "in\nout\nend\n" {
			t.Errorf("code %d, output %q\n%s", c.observe.ProcessState.ExitCode(), c.out.String(), c.errs.String())
		}
	}
	files, _ := filepath.Glob(disk + "/*")
	if len(files) != len(cells) {
		t.Errorf("%d files: %q", len(files), files)
	}
	for _, file := range files {
		if run, err := recording.Open(file); err != nil || run.Facts.Exit == nil || run.Facts.Exit.Code != 7 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// An observe that is killed at any instant of its beginning has begun its job or not:
// one that began goes on to its end.
func TestKilledWhileItBegins(t *testing.T) {
	leash.Hold(t)
	t.Setenv("XDG_RUNTIME_DIR", privatetest.MakeFolder(t))
	kills, err := strconv.Atoi(os.Getenv("STOKER_KILLS"))
	if err != nil {
		kills = 20
	}
	began := 0
	for range kills {
		c := &cell{t: t, disk: t.TempDir(), files: t.TempDir()}
		c.letGo()
		c.observe = c.start("")
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond) // at any moment
		_ = c.observe.Process.Kill()
		_ = c.observe.Wait() // and for who writes its output: the job
		if c.out.Len() == 0 && read(c.files+"/began") == "" {
			continue
		}
		if began++; c.out.String() != "in\nout\nend\n" {
			t.Errorf("output %q\n%s", c.out.String(), c.errs.String())
		}
	}
	t.Logf("of %d jobs %d had begun", kills, began)
}
