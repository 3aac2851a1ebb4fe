//go:build linux

package cpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/forest"
	"github.com/stoker-dev/stoker/recording"
)

var planted = forest.Machine{CPUs: 8, Trainers: 2, Workers: 6, Disks: 1, Threads: 5}

// watchForest watches a generated machine whose two trainers have a GPU each.
func watchForest(t *testing.T, root string) *Job {
	t.Helper()
	j, err := Watch(Options{Root: forest.Root, FS: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	j.Devices(map[int][]int{100: {0}, 101: {1}})
	return j
}

// What is read of a generated machine: roles, faults, nodes, the pinning thread, private
// memory, what SLURM gave.
func TestGeneratedMachine(t *testing.T) {
	j := watchForest(t, forest.Plant(t, planted))
	got := book{}
	for second := range 100 {
		j.Second(float64(second), got)
		j.HostMachine()
	}
	want := book{
		"process.faults process/1003": 7, "thread.node thread/100": 1, "thread.node thread/101": 1, // both on processors 4 and 5
		"process.private process/1000": 1024 * 1024, "thread.run_queue thread/100004": 0.3,
	}
	for name, v := range want {
		if have, ok := got[name]; !ok || have != v {
			t.Errorf("%s is %v (%t), want %v", name, have, ok, v)
		}
	}
	if _, ok := got["thread.node thread/1000"]; ok {
		t.Error("the node of a worker is recorded")
	}
	if m := j.HostMachine(); m.Nodes != 2 || m.TaskCores != 4 || m.NetSpeed["net/eth0"] != 12.5e9 {
		t.Errorf("machine: %+v", m)
	}
	trainers, workers := 0, 0
	for _, p := range j.Processes() {
		switch p.Role {
		case recording.RoleTrainer:
			trainers++
			if p.PinThread != p.PID*1000+4 {
				t.Errorf("trainer %d pins in thread %d", p.PID, p.PinThread)
			}
		case recording.RoleWorker:
			workers++
		}
	}
	if trainers != 2 || workers != 6 || len(j.Readers()) != 6 || !j.Has(1003) || j.Has(4711) {
		t.Errorf("%d trainers, %d workers: %+v", trainers, workers, j.Processes())
	}
}

// The threads of each worker that want a core are counted in turn, whatever a thread's name holds.
func TestThreadsThatWantACore(t *testing.T) {
	root := forest.Plant(t, forest.Machine{CPUs: 4, Trainers: 1, Workers: 2, Threads: 5})
	path := filepath.Join(root, "proc/1000/task/1000/stat")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") S ")
	_ = os.WriteFile(path, []byte("7 (a) S b) R "+rest), 0o600)
	j := watchForest(t, root)
	got := book{}
	for second := range 4 {
		j.Second(float64(second), got)
	}
	if idle, counted := got["process.wants process/1001"]; got["process.wants process/1000"] != 1 || idle != 0 || !counted {
		t.Errorf("threads that want a core: %v", got)
	}
}

// Entries of /proc that go, cannot be read, are cut or hold nonsense cost what they told,
// and nothing else; a counter is never 0 for want of an answer.
func TestDamagedProc(t *testing.T) {
	for name, damage := range map[string]func(path string){
		"gone":  func(path string) { _ = os.Remove(path) },
		"empty": func(path string) { _ = os.Truncate(path, 0) },
		"cut":   func(path string) { _ = os.Truncate(path, 9) },
		"nonsense": func(path string) {
			_ = os.WriteFile(path, []byte("a) b\x00 -1 99999999999999999999999 : x\n\n:"), 0o600)
		},
		"unreadable": func(path string) { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) }, // read answers an error, to root as well
	} {
		t.Run(name, func(t *testing.T) {
			root := forest.Plant(t, forest.Machine{CPUs: 4, Trainers: 2, Workers: 4})
			for _, file := range []string{"stat", "comm", "cmdline", "io", "environ", "limits", "cgroup", "smaps_rollup", "task/1000/stat", "task/1000/wchan", "task/1000/schedstat", "task/1000/children"} {
				damaged(t, root, "proc/1000/"+file, damage)
			}
			for _, file := range []string{"proc/stat", "proc/meminfo", "proc/cpuinfo", "proc/pressure/io", "proc/self/mountinfo", "sys/devices/system/node/node1/cpulist", "sys/fs/cgroup/cpu/cpu.stat"} {
				damaged(t, root, file, damage)
			}
		})
	}
}

// damaged looks at the machine through a job that has seen it whole, and through one that
// has not, and puts the file back.
func damaged(t *testing.T, root, file string, damage func(path string)) {
	t.Helper()
	path := filepath.Join(root, file)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after := watchForest(t, root), watchForest(t, root)
	before.Second(0, book{})
	damage(path)
	for name, j := range map[string]*Job{"meanwhile": before, "before": after} {
		got := book{}
		for second := range 2 {
			j.Second(float64(second), got)
			j.Tick(float64(second)+0.5, got)
			_, _ = j.HostMachine(), j.Processes()
		}
		for subject, want := range map[string]float64{"process.cpu process/1003": 1.5, "thread.run_queue thread/101": 0.3} {
			if have, told := got[subject]; !told || have != want {
				t.Errorf("%s, damaged %s: %s is %v (%t)", file, name, subject, have, told)
			}
		}
		for subject, want := range map[string]float64{"process.cpu process/1000": 1.5, "thread.run_queue thread/1000": 0.3, "process.read process/1000": 1000, "process.private process/1000": 1024 * 1024} {
			if have, told := got[subject]; told && have != want {
				t.Errorf("%s, damaged %s: %s is %v", file, name, subject, have)
			}
		}
		j.Close()
	}
	_ = os.RemoveAll(path)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Of more threads than a tick looks at each has its turn.
func TestManyThreadsInTurn(t *testing.T) {
	j := watchForest(t, forest.Plant(t, forest.Machine{CPUs: 4, Trainers: 1, Workers: 2 * mostLooks}))
	j.Second(0, book{})
	got := book{}
	for tick := range 3 {
		before := len(got)
		j.Tick(float64(tick), got)
		if n := len(got) - before; n > 2*mostLooks { // state and core time
			t.Errorf("tick %d took %d samples", tick, n)
		}
	}
	if want := 2 * (2*mostLooks + 1); len(got) != want {
		t.Errorf("%d samples of three ticks, want %d", len(got), want)
	}
}

// A process that has contexts on several devices takes its steps on the one that the hook
// names; where it has one alone the driver knows better.
func TestDeviceOfSeveral(t *testing.T) {
	j := watchForest(t, forest.Plant(t, planted))
	j.Devices(map[int][]int{100: {0, 1, 2}, 101: {1}})
	for _, pid := range []int{100, 101} {
		j.Tell(Told{PID: pid, Role: recording.RoleTrainer, Device: 0, Hooked: true})
	}
	j.Second(0, book{})
	for _, p := range j.Processes() {
		if want, is := map[int]int{100: 0, 101: 1}[p.PID]; is && p.Device != want {
			t.Errorf("process %d is on device %d, want %d", p.PID, p.Device, want)
		}
	}
}
