//go:build linux

package cpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/recording"
)

// book keeps the newest value of each signal.
type book map[string]float64

func (b book) AddSample(signal recording.Signal, subject string, _, v float64) {
	b[string(signal)+" "+subject] = v
}

func TestMain(m *testing.M) { os.Exit(leash.Main(m)) }

// begin starts a program that ends with the test, and all that it starts.
func begin(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	leash.Hold(t)
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Skip("cannot run ", name, ": ", err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

const workers = `
import multiprocessing as mp, time
def work(q):
    while True: q.get()
if __name__ == "__main__":
    mp.set_start_method(%q)
    qs = [mp.Queue() for _ in range(3)]
    ps = [mp.Process(target=work, args=(q,), daemon=True) for q in qs]
    [p.start() for p in ps]
    while True: sum(range(100000))
`

// Workers are recognised without the hook and without PyTorch's names, however
// they were started; a parked one is seen as parked.
func TestWorkersAreRecognised(t *testing.T) {
	for _, method := range []string{"fork", "spawn", "forkserver"} {
		t.Run(method, func(t *testing.T) { workersAreRecognised(t, method) })
	}
}

func workersAreRecognised(t *testing.T, method string) {
	script := filepath.Join(t.TempDir(), "job.py")
	_ = os.WriteFile(script, []byte(fmt.Sprintf(workers, method)), 0o600)
	c := begin(t, "sh", "-c", "python3 "+script+"; true")
	j, err := Watch(Options{Root: c.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	got := book{}
	count := func(role string) (n, pid int) {
		for _, p := range j.Processes() {
			if p.Role == role && p.End == 0 {
				n, pid = n+1, p.PID
			}
		}
		return n, pid
	}
	now := 0.0
	leash.Wait(t, "three workers of one trainer", func() bool {
		now += 0.1
		j.Second(now, got)
		j.Tick(now, got)
		w, _ := count(recording.RoleWorker)
		trainers, _ := count(recording.RoleTrainer)
		return w == 3 && trainers == 1
	})
	_, pid := count(recording.RoleWorker)
	_, trainer := count(recording.RoleTrainer)
	leash.Wait(t, "a parked worker", func() bool {
		j.Tick(now, got)
		return got[fmt.Sprintf("thread.state thread/%d", pid)] == float64(recording.Parked)
	})
	leash.Wait(t, "a running trainer", func() bool {
		j.Tick(now, got)
		return got[fmt.Sprintf("thread.state thread/%d", trainer)] == float64(recording.Running)
	})
	leash.Wait(t, "the memory of a Python, and of four", func() bool {
		j.Second(now, got)
		return got[fmt.Sprintf("process.memory process/%d", pid)] > 1e6 && got["tree.memory tree"] > 4e6
	})
}

// Between fork and exec a program is a copy of its parent, as a worker is: what is
// guessed then is guessed again until its name is final.
func TestGuessOfACopy(t *testing.T) {
	const script = "python3 train.py"
	trainer := &process{pid: 1, start: 1, own: 9, python: true, named: true, command: script}
	server := &process{pid: 2, parent: 1, start: 2, python: true, command: script}
	worker := &process{pid: 3, parent: 1, start: 3, python: true, command: script}
	j := &Job{tree: &table{root: 1, live: map[int]*process{1: trainer, 2: server, 3: worker}}, told: map[int]*Told{}, device: map[int][]int{}}
	check := func(when, server, worker string) {
		t.Helper()
		j.assign()
		if live := j.tree.live; live[2].role != server || live[3].role != worker || live[1].role != recording.RoleTrainer {
			t.Errorf("%s: %q and %q, want %q and %q", when, live[2].role, live[3].role, server, worker)
		}
	}
	check("copies", recording.RoleWorker, recording.RoleWorker)
	server.command, server.named, worker.named = "python3 -c from multiprocessing.forkserver import main", true, true
	check("one has become the fork server", "", recording.RoleWorker)
	if alive := j.Alive(); !slices.Equal(alive, []int{1, 3}) { // the server ends with those that it serves
		t.Errorf("alive: %v", alive)
	}
	worker.parent = 99
	check("the trainer has ended", "", recording.RoleWorker)
}

// One that has ended and is not waited for yet was the trainer all the same.
func TestRoleOfTheDead(t *testing.T) {
	trainer := &process{pid: 1, start: 1, own: 9, python: true, named: true, command: "python3 train.py"}
	j := &Job{tree: &table{root: 1, live: map[int]*process{1: trainer}}, told: map[int]*Told{}, device: map[int][]int{}, facts: map[identity]*recording.Process{}}
	for _, trainer.zombie = range []bool{false, true} {
		j.assign()
		j.list()
		if all := j.Processes(); len(all) != 1 || all[0].Role != recording.RoleTrainer {
			t.Errorf("ended: %v, processes %+v", trainer.zombie, all)
		}
	}
}

func TestHookDecidesRoles(t *testing.T) {
	c := begin(t, "sh", "-c", "sleep 30 & python3 -c 'while 1: pass' & wait")
	j, err := Watch(Options{Root: c.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	got := book{}
	sleeper := 0
	leash.Wait(t, "a process that sleeps beside others", func() bool {
		j.Second(1, got)
		for pid, p := range j.tree.live {
			if p.comm == "sleep" {
				sleeper = pid
			}
		}
		return sleeper > 0 && len(j.Alive()) >= 3
	})
	j.Tell(Told{PID: sleeper, Role: recording.RoleTrainer, Rank: 2, World: 4, Device: 1, Hooked: true, Loads: true, LaunchThread: sleeper})
	j.Second(2, got)
	all := j.Processes()
	if len(all) != 1 || all[0].PID != sleeper || all[0].Rank != 2 || all[0].Device != 1 {
		t.Errorf("processes %+v", all)
	}
}

// Where /proc shows nothing of the job, that is said, and nothing crashes.
func TestFeedIsRecognised(t *testing.T) {
	for command, want := range map[string]bool{
		"/opt/venv/bin/stoker feed --fd 5":          true,
		"stoker-0.2 feed --socket /run/x --ranks 2": true,
		"/usr/bin/stoker observe -- python feed.py": false,
		"/usr/bin/python train.py feed ":            false,
		"stoker":                                    false,
		"":                                          false,
	} {
		if got := feeds(&process{command: command}); got != want {
			t.Errorf("%q: %v, want %v", command, got, want)
		}
	}
}

func TestHiddenProc(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"proc", "sys", "dev/shm"} {
		_ = os.MkdirAll(filepath.Join(root, dir), 0o700)
	}
	j, err := Watch(Options{Root: os.Getpid(), FS: root})
	if err != nil {
		t.Fatal(err)
	}
	got := book{}
	for i := range 3 {
		j.Second(float64(i), got)
		j.Tick(float64(i), got)
	}
	if absent := j.Absent(); len(absent) == 0 || !strings.Contains(absent[0].Why, "hidepid") {
		t.Errorf("absent %+v", absent)
	}
	j.Ended(time.Second)
	if len(j.Processes()) != 0 || len(j.Alive()) != 0 || j.HostMachine().Allowed == 0 {
		t.Errorf("machine %+v", j.HostMachine())
	}
	if _, err := Watch(Options{Root: 1, FS: "/nonexistent"}); err == nil {
		t.Error("a machine without /proc was accepted")
	}
}

// What could not be seen and then is seen is no longer said to be missing.
func TestAbsenceIsTakenBack(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"proc/stat": "cpu 1 1 1 1 1 1 1 1 1 1\n", "proc/77/cgroup": "0::/\n"} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700)
		_ = os.WriteFile(filepath.Join(root, name), []byte(text), 0o600)
	}
	j, err := Watch(Options{Root: os.Getpid(), FS: root})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, want ...string) {
		t.Helper()
		j.note()
		j.machine.regroup(77)
		var got []string
		for _, a := range j.Absent() {
			got = append(got, a.What)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q is absent, want %q", when, got, want)
		}
	}
	check("without anything", "processes", "control groups")
	one, other := &process{pid: 77, role: recording.RoleTrainer, unread: true}, &process{pid: 78, role: recording.RoleWorker}
	j.tree.live[77], j.tree.live[78] = one, other
	check("processes are shown", "bytes read by processes", "control groups")
	_ = os.MkdirAll(filepath.Join(root, "proc/self"), 0o700)
	_ = os.WriteFile(filepath.Join(root, "proc/self/mountinfo"), nil, 0o600)
	check("groups are found", "bytes read by processes")
	delete(j.tree.live, 77)
	check("what may not be read has ended", "bytes read by processes")
	j.tree.live[77], one.unread, other.unread = one, false, true
	check("another may not be read", "bytes read by processes")
	other.unread = false
	check("all may be read")
}

func TestMachineHere(t *testing.T) {
	j, err := Watch(Options{Root: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	m := j.HostMachine()
	if m.CPUs < 1 || m.Allowed < 1 || !(stat.Value(m.MemoryBytes) >= 1e8) || m.Kernel == "" || m.PhysCores > m.Allowed {
		t.Errorf("machine %+v", m)
	}
}

// A quota of control groups version 1 is found from inside the group.
func TestLiveQuota(t *testing.T) {
	group, err := os.MkdirTemp("/sys/fs/cgroup/cpu", "stoker-test-")
	if err != nil {
		t.Skip("no control groups to make here: ", err)
	}
	leash.Remove(group)
	t.Cleanup(func() { _ = os.Remove(group) })
	c := begin(t, "sh", "-c", "while :; do :; done")
	for file, text := range map[string]string{
		"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "30000", "cgroup.procs": fmt.Sprint(c.Process.Pid),
	} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(text), 0o600); err != nil {
			t.Skip(err)
		}
	}
	j, err := Watch(Options{Root: c.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if q := j.HostMachine().Quota; q != 0.3 {
		t.Errorf("quota %v, want 0.3", q)
	}
	got := book{}
	leash.Wait(t, "throttling", func() bool { j.Second(1, got); return got["cgroup.throttled machine"] > 0 })
	_ = c.Process.Kill()
	_ = c.Wait()
}

func TestSettle(t *testing.T) {
	table := &table{live: map[int]*process{}}
	parent := &process{pid: 1, start: 1, own: 5}
	child := &process{pid: 2, parent: 1, start: 2, own: 3, reaped: 1}
	child.read.now = 100
	parent.read.now = 10
	table.live[1] = parent
	before := map[int]process{1: *parent, 2: *child}

	parent.reaped, parent.read.now, table.gone = 4, 112, []*process{child} // waited for
	table.keepCoreTime(before)
	if table.total != 9 || table.settled != 0 || parent.read.total() != 12 {
		t.Errorf("waited for: total %v, settled %v, read %v", table.total, table.settled, parent.read.total())
	}

	other := &process{pid: 3, parent: 1, start: 3, own: 2}
	before = map[int]process{1: *parent, 3: *other}
	table.gone = []*process{other} // not waited for
	table.keepCoreTime(before)
	if table.total != 11 || table.settled != 0 {
		t.Errorf("not waited for: total %v, settled %v", table.total, table.settled)
	}
	before, table.gone = map[int]process{1: *parent}, nil
	table.keepCoreTime(before) // nor at the next look
	if table.total != 11 || table.settled != 2 {
		t.Errorf("not waited for: total %v, settled %v", table.total, table.settled)
	}

	late := &process{pid: 4, parent: 1, start: 4, own: 6}
	late.read.now = 1000
	before, table.gone = map[int]process{1: *parent, 4: *late}, []*process{late} // read before it waited
	table.keepCoreTime(before)
	total := table.total
	before, table.gone = map[int]process{1: *parent}, nil
	parent.reaped += 6.5
	parent.read.now += 1003
	table.keepCoreTime(before)
	if own := parent.read.total(); own != 15 {
		t.Errorf("waited for after the look: it has read %v bytes itself", own)
	}
	if total != 17 || table.total != 17.5 || table.settled != 2 {
		t.Errorf("waited for after the look: total %v, then %v, settled %v", total, table.total, table.settled)
	}

	before = map[int]process{1: *parent}
	table.gone = []*process{parent} // the last one
	delete(table.live, 1)
	table.keepCoreTime(before)
	if table.total != 17.5 {
		t.Errorf("nobody left: total %v", table.total)
	}
}

func BenchmarkTick(b *testing.B) {
	j, err := Watch(Options{Root: os.Getpid()})
	if err != nil {
		b.Fatal(err)
	}
	t, err := watch("/proc", os.Getpid(), os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	j.threads[os.Getpid()] = t
	b.ReportAllocs()
	for b.Loop() {
		t.look(j.buffer)
		t.readTimes(j.buffer)
	}
}

// The core time of a command that ended, by the kernel's word, holds that of the
// descendants that were waited for: it counts once, whichever is noticed first.
func TestEndedCountsOnce(t *testing.T) {
	family := func() *table {
		return &table{root: 1, live: map[int]*process{
			1: {pid: 1, start: 1, own: 1, reaped: 2},
			2: {pid: 2, parent: 1, start: 2, own: 30},
			3: {pid: 3, parent: 2, start: 3, own: 5},
			4: {pid: 4, parent: 9, start: 4, own: 7}, // an orphan
		}}
	}
	vanish := func(table *table, pids ...int) {
		before := map[int]process{}
		for pid, p := range table.live {
			before[pid] = *p
		}
		table.gone = nil
		for _, pid := range pids {
			table.gone = append(table.gone, table.live[pid])
			delete(table.live, pid)
		}
		table.keepCoreTime(before)
	}
	for name, c := range map[string]struct {
		cpu  time.Duration
		want float64
	}{
		"all were waited for":    {40 * time.Second, 40 + 7},
		"none was waited for":    {3 * time.Second, 3 + 35 + 7},
		"they worked to the end": {41 * time.Second, 41 + 7},
	} {
		first := &Job{tree: family()}
		first.Ended(c.cpu)
		vanish(first.tree, 1, 2, 3)
		later := &Job{tree: family()}
		vanish(later.tree, 1, 2, 3)
		later.Ended(c.cpu)
		vanish(later.tree)
		again := &Job{tree: family()}
		again.Ended(c.cpu)
		vanish(again.tree, 1, 2, 3)
		vanish(again.tree, 4)
		for order, j := range map[string]*Job{"told first": first, "noticed first": later, "looked at again": again} {
			if j.tree.total != c.want {
				t.Errorf("%s, %s: %v s, want %v", name, order, j.tree.total, c.want)
			}
		}
	}
}

// A server may use the processors of all its processes, though the one that computes is bound to one.
func TestProcessorsOfAServer(t *testing.T) {
	all := affinity(os.Getpid())
	if all.Count() < 2 {
		t.Skip("one processor")
	}
	bound := begin(t, "sleep", "60")
	var one unix.CPUSet
	for n := 0; one.Count() == 0; n++ {
		if all.IsSet(n) {
			one.Set(n)
		}
	}
	if err := unix.SchedSetaffinity(bound.Process.Pid, &one); err != nil {
		t.Fatal(err)
	}
	if got := affinity(bound.Process.Pid).Count(); got != 1 {
		t.Errorf("bound to one, it may use %d", got)
	}
	if got := affinity(bound.Process.Pid, os.Getpid()).Count(); got != all.Count() {
		t.Errorf("with one that takes requests, it may use %d of %d", got, all.Count())
	}
}
