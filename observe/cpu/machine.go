//go:build linux

package cpu

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/cgroup"
	"github.com/stoker-dev/stoker/internal/stat"
	"github.com/stoker-dev/stoker/observe/net"
	"github.com/stoker-dev/stoker/recording"
)

// machine reads what belongs to the host and to the job's control groups.
type machine struct {
	root   string
	files  fs.FS
	proc   procfs.FS
	groups *cgroup.Groups
	static recording.Machine
	absent []recording.Absence

	nodes map[int]int // NUMA node of each processor

	last map[int64]float64 // busy time per processor, seconds
	busy float64           // its growth on the allowed processors
}

func newMachine(root string) (*machine, error) {
	proc, err := procfs.NewFS(join(root, "proc"))
	if err != nil {
		return nil, err
	}
	return &machine{root: root, files: os.DirFS(root), proc: proc}, nil
}

func join(root, name string) string { return filepath.Join(root, name) }

// facts describes the host for a process. Its processors are also those of others that answer requests for it.
func (m *machine) facts(pid int, servers ...int) recording.Machine {
	if m.static.CPUs == 0 {
		m.describe()
	}
	f := m.static
	allowed := affinity(pid, servers...)
	f.Allowed = allowed.Count()
	f.PhysCores = m.physical(allowed)
	if limits, err := m.lockedMemoryLimit(pid); err == nil {
		f.LockedBytes = &limits
	}
	if m.regroup(pid) {
		f.Quota, f.DiskLimit, f.ReadsLimit = m.groups.Quota(), m.groups.DiskLimit(), m.groups.ReadsLimit()
		if limit, _ := m.groups.MemoryLimit(); limit > 0 && !(limit >= stat.Value(f.MemoryBytes)) {
			f.MemoryBytes = &limit
		}
	}
	return f
}

// describe reads what never changes.
func (m *machine) describe() {
	if info, err := m.proc.CPUInfo(); err == nil && len(info) > 0 {
		m.static.CPUs = len(info)
		if m.static.CPU = info[0].ModelName; m.static.CPU == "" { // ARM names no model
			m.static.CPU = info[0].VendorID
		}
	}
	if memory, err := m.proc.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		m.static.MemoryBytes = new(float64(*memory.MemTotalBytes))
	}
	if size, _, err := shm(m.root); err == nil {
		m.static.ShmBytes = &size
	}
	m.nodes = nodesOf(m.files)
	ids := map[int]bool{}
	for _, node := range m.nodes {
		ids[node] = true
	}
	m.static.Nodes, m.static.NetSpeed = len(ids), net.Speeds(m.root)
	if release, err := os.ReadFile(join(m.root, "proc/sys/kernel/osrelease")); err == nil {
		m.static.Kernel = strings.TrimSpace(string(release))
	}
}

// regroup notices that the process was moved to another control group.
func (m *machine) regroup(pid int) bool {
	text, err := fs.ReadFile(m.files, "proc/"+strconv.Itoa(pid)+"/cgroup")
	if err != nil || m.groups != nil && m.groups.ProcessFile() == string(text) {
		return m.groups != nil
	}
	found, err := cgroup.Find(m.files, strconv.Itoa(pid))
	if err != nil {
		if m.groups == nil { // else the process ended while it was looked at
			m.absent = []recording.Absence{{What: "control groups", Why: err.Error()}}
		}
		return m.groups != nil
	}
	m.groups, m.absent = found, nil
	return true
}

// writeSample writes the signals of the host, as process pid may use it, and others that answer requests for it.
func (m *machine) writeSample(now float64, to Sink, pid int, servers ...int) {
	if stat, err := m.proc.Stat(); err == nil {
		m.grow(stat, affinity(pid, servers...))
		to.AddSample(recording.MachineCPU, "machine", now, m.busy)
	}
	free := math.NaN()
	if memory, err := m.proc.Meminfo(); err == nil && memory.MemAvailableBytes != nil {
		free = float64(*memory.MemAvailableBytes)
	}
	if _, left, err := shm(m.root); err == nil {
		to.AddSample(recording.MachineShm, "machine", now, left)
	}
	if m.regroup(pid) {
		if _, left := m.groups.MemoryLimit(); left < free || math.IsNaN(free) {
			free = left
		}
		if held, known := m.groups.Throttled(); known {
			to.AddSample(recording.Throttled, "machine", now, held)
		}
		for resource, signal := range pressures {
			if waited, known := m.groups.Pressure(resource); known {
				to.AddSample(signal, "machine", now, waited)
			}
		}
	}
	to.AddSample(recording.MachineMemory, "machine", now, free)
}

var pressures = map[string]recording.Signal{
	"cpu": recording.PressureCPU, "io": recording.PressureIO, "memory": recording.PressureMemory,
}

// grow adds what the allowed processors did since the last look. It sums growth, not totals, so
// that the signal does not jump when the affinity changes. Stolen time counts as used, because
// the job cannot use it.
func (m *machine) grow(stat procfs.Stat, allowed *unix.CPUSet) {
	first := m.last == nil
	if first {
		m.last = make(map[int64]float64, len(stat.CPU))
	}
	for n, c := range stat.CPU {
		busy := c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal // guests are in User
		if by := busy - m.last[n]; !first && by > 0 && (allowed.Count() == 0 || allowed.IsSet(int(n))) {
			m.busy += by
		}
		m.last[n] = busy
	}
}

// nodesOf reads on which NUMA node each processor is.
func nodesOf(files fs.FS) map[int]int {
	nodes := map[int]int{}
	lists, _ := fs.Glob(files, "sys/devices/system/node/node[0-9]*/cpulist") // no error but of the pattern
	for _, list := range lists {
		node, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(list)), "node"))
		text, readErr := fs.ReadFile(files, list)
		if err != nil || readErr != nil {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") { // "0-3,8-11"
			first, last, isRange := strings.Cut(part, "-")
			if !isRange {
				last = first
			}
			from, err := strconv.Atoi(first)
			to, lastErr := strconv.Atoi(last)
			for n := from; err == nil && lastErr == nil && n <= min(to, from+maxCPUs); n++ {
				nodes[n] = node
			}
		}
	}
	return nodes
}

// maxCPUs bounds a range of processors: Linux is built for 8192 at most.
const maxCPUs = 8192

// numaNode returns the NUMA node of a processor; false if the machine has only one.
func (m *machine) numaNode(processor int) (int, bool) {
	node, known := m.nodes[processor]
	return node, known && m.static.Nodes > 1
}

func affinity(pid int, servers ...int) *unix.CPUSet {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		_ = unix.SchedGetaffinity(0, &set) // gone: what we may use ourselves, as it was started by us
	}
	for _, server := range servers {
		var more unix.CPUSet
		if unix.SchedGetaffinity(server, &more) == nil {
			for n := range more {
				set[n] |= more[n]
			}
		}
	}
	return &set
}

// physical counts the cores of the allowed processors; 0 if the kernel does not say.
func (m *machine) physical(allowed *unix.CPUSet) int {
	cores := map[string]bool{}
	for n := range m.static.CPUs {
		if !allowed.IsSet(n) {
			continue
		}
		name := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", n)
		siblings, err := fs.ReadFile(m.files, name)
		if err != nil {
			return 0
		}
		cores[strings.TrimSpace(string(siblings))] = true
	}
	return len(cores)
}

// lockedMemoryLimit is RLIMIT_MEMLOCK, bytes; -1 is unlimited.
func (m *machine) lockedMemoryLimit(pid int) (float64, error) {
	text, err := fs.ReadFile(m.files, "proc/"+strconv.Itoa(pid)+"/limits")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, "Max locked memory")
		if fields := strings.Fields(rest); found && len(fields) > 0 {
			if fields[0] == "unlimited" {
				return -1, nil
			}
			return strconv.ParseFloat(fields[0], 64)
		}
	}
	return 0, fmt.Errorf("read limits of process %d: no line on locked memory", pid)
}

// shm returns the size of /dev/shm and its free part, bytes.
func shm(root string) (size, free float64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(join(root, "dev/shm"), &s); err != nil {
		return 0, 0, err
	}
	return float64(s.Blocks) * float64(s.Bsize), float64(s.Bavail) * float64(s.Bsize), nil
}
