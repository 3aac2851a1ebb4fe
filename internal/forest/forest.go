// Package forest writes the files of a machine's /proc and /sys for tests and benchmarks: a job
// with trainers and loader workers on any number of processors. It writes only the files that
// Stoker's probes read.
package forest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Machine describes the machine to write.
type Machine struct {
	CPUs     int // processors, on two NUMA nodes
	Trainers int // processes from PID 100 on, children of process 99
	Workers  int // of all trainers together, from PID 1000 on
	Disks    int
	Threads  int // threads of a trainer, not counting its main thread
}

// Root is the process at the root of the job.
const Root = 99

// Plant writes the machine to a temporary folder of the test and returns the folder.
func Plant(t testing.TB, m Machine) string {
	t.Helper()
	f := planter{t, t.TempDir()}
	f.plantMachine(m)
	workers := map[int][]int{}
	for i := range m.Workers {
		of := 100 + i%m.Trainers
		workers[of] = append(workers[of], 1000+i)
		f.plantProcess(1000+i, of, "pt_data_worker", nil, 0, m)
	}
	var trainers []int
	for i := range m.Trainers {
		trainers = append(trainers, 100+i)
		f.plantProcess(100+i, Root, "python3", workers[100+i], m.Threads, m)
	}
	f.plantProcess(Root, 1, "torchrun", trainers, 0, m)
	return f.root
}

// planter writes files for a test.
type planter struct {
	t    testing.TB
	root string
}

// File writes a file of the machine and creates the folders above it.
func File(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f planter) file(name, format string, args ...any) {
	f.t.Helper()
	File(f.t, f.root, name, fmt.Sprintf(format, args...))
}

const mounts = `22 1 8:2 / / rw - ext4 /dev/sd0 rw
30 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
40 22 0:50 / /data rw - nfs4 server:/data rw
`

// plantMachine writes the files that do not belong to a process.
func (f planter) plantMachine(m Machine) {
	var stat, info strings.Builder
	stat.WriteString("cpu  1 2 3 4 5 6 7 8 9 10\n")
	for n := range m.CPUs {
		fmt.Fprintf(&stat, "cpu%d 1000 2 3000 400000 5 6 7 8 9 10\n", n)
		fmt.Fprintf(&info, "processor\t: %d\nmodel name\t: A Processor\n\n", n)
		f.file(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", n), "%d\n", n)
	}
	stat.WriteString("intr 1 2 3\nctxt 4\nbtime 1700000000\nprocesses 5\nprocs_running 1\nprocs_blocked 0\n")
	f.file("proc/stat", "%s", stat.String())
	f.file("proc/cpuinfo", "%s", info.String())
	f.file("proc/meminfo", "MemTotal: 1000000000 kB\nMemFree: 500000000 kB\nMemAvailable: 700000000 kB\n")
	f.file("proc/sys/kernel/osrelease", "6.8.0\n")
	f.file("proc/self/mountinfo", "%s", mounts)
	f.file(fmt.Sprintf("proc/self/task/%d/children", os.Getpid()), "")
	for _, resource := range []string{"cpu", "io", "memory"} {
		f.file("proc/pressure/"+resource,
			"some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=10\n")
	}
	f.file("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_time 5000\n")
	f.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
	f.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
	var disks strings.Builder
	for n := range m.Disks {
		fmt.Fprintf(&disks, "8 %d sd%d 1000 0 20000 500 10 0 80 1 2 1500 2501\n", n, n)
		f.file(fmt.Sprintf("sys/block/sd%d/size", n), "1\n")
	}
	f.file("proc/diskstats", "%s", disks.String())
	f.file("sys/devices/system/node/node0/cpulist", "0-%d\n", m.CPUs/2-1)
	f.file("sys/devices/system/node/node1/cpulist", "%d-%d\n", m.CPUs/2, m.CPUs-1)
	f.file("sys/class/net/eth0/speed", "100000\n")
	f.file("dev/shm/batch", "")
}

// StatFile returns the stat file of a process or thread that ran for a number of ticks on a
// processor.
func StatFile(pid, parent int, comm string, ticks, processor int) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194560 1000 10 7 0 %d 50 20 10 20 0 1 0 %d 900000000 250000 "+
		"18446744073709551615 1 1 1 1 1 0 0 0 0 0 0 0 17 %d 0 0 0 0 0\n",
		pid, comm, parent, ticks, 5000+pid, processor)
}

// plantProcess writes the files of a process and its threads.
func (f planter) plantProcess(pid, parent int, comm string, children []int, threads int, m Machine) {
	folder := fmt.Sprintf("proc/%d/", pid)
	f.file(folder+"stat", "%s", StatFile(pid, parent, comm, 100, pid%m.CPUs))
	f.file(folder+"comm", "%s\n", comm)
	command := comm
	if comm == "pt_data_worker" {
		command = "python3"
	}
	f.file(folder+"cmdline", "%s\x00train.py\x00", command)
	f.file(folder+"io", "rchar: 1000\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 500\nwrite_bytes: "+
		"0\ncancelled_write_bytes: 0\n")
	f.file(folder+"environ", "RANK=%d\x00WORLD_SIZE=%d\x00SLURM_CPUS_PER_TASK=4\x00", pid-100, m.Trainers)
	f.file(folder+"limits",
		"Limit                     Soft Limit           Hard Limit           Units     \nMax locked memory         "+
			"unlimited            unlimited            bytes     \n")
	f.file(folder+"cgroup", "3:memory:/\n2:cpu:/\n")
	f.file(folder+"mountinfo", "%s", mounts)
	f.file(folder+"mountstats",
		"device server:/data mounted on /data with fstype nfs4 statvers=1.1\n\tbytes:\t1 0 0 0 900 0 3 0\n\t        "+
			"READ: 50 50 0 8000 905000 10 400 450 0\n")
	f.file(folder+"net/dev", "a |b\nc |d\n  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n")
	f.file(folder+"smaps_rollup",
		"1-2 ---p 0 00:00 0 [rollup]\nRss: 1000 kB\nPrivate_Clean: 24 kB\nPrivate_Dirty: 1000 kB\n")
	if err := os.MkdirAll(filepath.Join(f.root, folder, "fd"), 0o700); err != nil {
		f.t.Fatal(err)
	}
	for i, target := range []string{"/dev/null", "pipe:[1]", "/data/a.jpg", "socket:[2]", "/data/b.jpg", "/root/log"} {
		_ = os.Symlink(target, filepath.Join(f.root, folder, "fd", fmt.Sprint(i)))
	}
	var words []string
	for _, child := range children {
		words = append(words, fmt.Sprint(child))
	}
	f.plantThread(pid, pid, comm, strings.Join(words, " "), m)
	for i := range threads {
		name := "cuda-EvtHandlr"
		if i == threads-1 {
			name = "pt_data_pin"
		}
		f.plantThread(pid, pid*1000+i, name, "", m)
	}
}

// plantThread writes the files of a thread.
func (f planter) plantThread(pid, tid int, comm, children string, m Machine) {
	folder := fmt.Sprintf("proc/%d/task/%d/", pid, tid)
	f.file(folder+"stat", "%s", StatFile(tid, pid, comm, 100, pid%m.CPUs))
	f.file(folder+"comm", "%s\n", comm)
	f.file(folder+"wchan", "do_poll")
	f.file(folder+"schedstat", "5000000000 300000000 1000\n")
	f.file(folder+"children", "%s", children)
}
