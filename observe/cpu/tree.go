//go:build linux

package cpu

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/recording"
)

// maxProcesses bounds the tree: a job that forks more is followed in part.
const maxProcesses = 4096

// seldomEvery is how many refreshes pass between two that read the children of a loader worker,
// which seldom has any, and of threads other than a process's first: a trainer has
// hundreds, and each has a file to read. A child that is known stays known meanwhile.
const seldomEvery = 4

// clockTick is the unit of CPU times in /proc/PID/stat. The kernel's USER_HZ is
// 100 on every architecture that Go has.
const clockTick = 0.01

// process is one process of the job's tree, identified by its number and its start.
type process struct {
	pid, parent int
	start       uint64 // clock ticks since the machine booted
	command     string // arguments separated by spaces, cut
	comm        string
	python      bool
	zombie      bool

	own     float64 // its core time, dead threads included, seconds
	reaped  float64 // core time of children that it has waited for
	owes    float64 // core time of children that are gone and that reaped does not hold yet
	memory  float64 // resident bytes
	read    growing // bytes by read(2)
	disk    growing // bytes from storage
	faults  float64 // major page faults
	unread  bool    // its io file may not be read
	counted bool    // it was read once

	first, last float64 // when it was seen, seconds of the recording

	role     string // "" for processes that matter to no verdict
	of       int    // of a worker: its trainer
	guessed  bool   // its role is, by a name that may not be its own yet
	torch    bool   // libtorch is mapped
	asked    int    // how often its maps were read
	nextMaps float64
	named    bool // comm and command are final
}

// table is the job's tree: living processes, those included whose parent died.
type table struct {
	root    int
	path    string // "/proc"
	proc    procfs.FS
	adopter int // whose orphaned descendants we are given; 0 without one
	scan    bool
	live    map[int]*process
	looks   int
	settled float64 // core time of the dead that no living process's reaped holds

	rootCPU  float64 // of the root that has ended and of its reaped children, as the kernel gave it
	rootLast float64 // the same, as it was seen last
	total    float64
	gone     []*process // since the last look
}

func newTable(path string, root, adopter int) (*table, error) {
	proc, err := procfs.NewFS(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	t := &table{root: root, path: path, proc: proc, adopter: adopter, live: map[int]*process{}}
	self := filepath.Join(path, "self/task", strconv.Itoa(os.Getpid()), "children")
	if _, err := os.Stat(self); errors.Is(err, fs.ErrNotExist) {
		t.scan = true // a kernel without CONFIG_PROC_CHILDREN
	}
	return t, nil
}

// refresh reads the tree again. Processes that disappeared are in t.gone afterwards.
func (t *table) refresh(now float64) {
	t.looks++
	before := make(map[int]process, len(t.live))
	t.gone = t.gone[:0]
	for _, p := range t.byAge() {
		before[p.pid] = *p
		if !t.read(p, now) {
			t.gone = append(t.gone, p)
			delete(t.live, p.pid)
		}
	}
	t.discover(now)
	t.keepCoreTime(before)
}

// byAge returns the processes, parents before their children: see settle.
func (t *table) byAge() []*process {
	return slices.SortedFunc(maps.Values(t.live), func(a, b *process) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
}

// discover adds new descendants.
func (t *table) discover(now float64) {
	var all map[int][]int
	if t.scan {
		all = t.childrenByParent()
	}
	queue := []int{t.root}
	for pid := range t.live {
		queue = append(queue, pid)
	}
	slices.Sort(queue)
	if t.adopter > 0 {
		queue = append(queue, t.adoptedOrphans(all)...)
	}
	seen := make(map[int]bool, len(queue))
	for len(queue) > 0 && len(t.live) < maxProcesses {
		pid := queue[0]
		queue = queue[1:]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if t.live[pid] == nil && !t.addProcess(pid, now) {
			continue
		}
		if p := t.live[pid]; p.role != recording.RoleWorker || t.looks%seldomEvery == 0 {
			queue = append(queue, t.children(pid, all)...)
		}
	}
}

func (t *table) addProcess(pid int, now float64) bool {
	p := &process{pid: pid, first: now}
	if !t.read(p, now) {
		return false
	}
	t.live[pid] = p
	return true
}

// read refreshes a process; false when it is gone or is another one by now.
func (t *table) read(p *process, now float64) bool {
	handle, err := t.proc.Proc(p.pid)
	if err != nil {
		return false
	}
	stat, err := handle.Stat()
	if err != nil || p.start != 0 && p.start != stat.Starttime {
		return false
	}
	p.start, p.parent, p.zombie = stat.Starttime, stat.PPID, stat.State == "Z" || stat.State == "X"
	if p.comm != stat.Comm { // forked or renamed: a worker is its parent's copy at first
		p.comm, p.named = stat.Comm, false
	}
	p.own = float64(stat.UTime+stat.STime) * clockTick
	p.reaped = float64(stat.CUTime+stat.CSTime) * clockTick
	p.memory, p.faults, p.last = float64(stat.ResidentMemory()), float64(stat.MajFlt), now
	if !p.named {
		p.command, p.python = t.commandLine(p)
		p.named = now-p.first > 2 // it may yet exec
	}
	if io, err := handle.IO(); err == nil {
		p.read.now, p.disk.now, p.unread, p.counted = float64(io.RChar), float64(io.ReadBytes), false, true
	} else {
		p.unread = errors.Is(err, fs.ErrPermission)
	}
	return true
}

// commandLine is only used to tell kinds of processes apart and never recorded:
// it may hold secrets.
func (t *table) commandLine(p *process) (command string, python bool) {
	raw, err := os.ReadFile(fmt.Sprintf("%s/%d/cmdline", t.path, p.pid))
	if err != nil || len(raw) == 0 {
		return p.comm, strings.HasPrefix(p.comm, "python")
	}
	const most = 4096
	raw = bytes.TrimRight(raw[:min(len(raw), most)], "\x00")
	first, _, _ := bytes.Cut(raw, []byte{0})
	python = strings.HasPrefix(filepath.Base(string(first)), "python") || strings.HasPrefix(p.comm, "python")
	if !python { // a script with python in its first line, or a renamed worker
		exe, _ := os.Readlink(fmt.Sprintf("%s/%d/exe", t.path, p.pid))
		python = strings.HasPrefix(filepath.Base(exe), "python")
	}
	return string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '})), python
}

func (t *table) children(pid int, all map[int][]int) []int {
	if t.scan {
		return all[pid]
	}
	folder, threads := fmt.Sprintf("%s/%d/task", t.path, pid), []string{strconv.Itoa(pid)}
	if t.looks%seldomEvery == 0 {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil
		}
		for _, entry := range entries {
			if entry.Name() != threads[0] {
				threads = append(threads, entry.Name())
			}
		}
	}
	var found []int
	for _, thread := range threads { // each thread has its own children
		text, err := os.ReadFile(filepath.Join(folder, thread, "children"))
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// adoptedOrphans returns the orphans that the kernel gave us (PR_SET_CHILD_SUBREAPER), without
// our own nvidia-smi.
func (t *table) adoptedOrphans(all map[int][]int) []int {
	var found []int
	for _, pid := range t.children(t.adopter, all) {
		if pid == t.root || t.live[pid] != nil {
			continue
		}
		handle, err := t.proc.Proc(pid)
		if err != nil {
			continue
		}
		if comm, err := handle.Comm(); err == nil && !strings.HasPrefix(comm, "nvidia-smi") {
			found = append(found, pid)
		}
	}
	return found
}

// childrenByParent maps each parent on this machine to its children.
func (t *table) childrenByParent() map[int][]int {
	found := map[int][]int{}
	all, err := t.proc.AllProcs()
	if err != nil {
		return found
	}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil {
			found[stat.PPID] = append(found[stat.PPID], p.PID)
		}
	}
	return found
}

// reap collects orphans that were given to us and have ended, so that they do
// not stay behind as zombies. CMD itself is waited for elsewhere.
func (t *table) reap() {
	for pid, p := range t.live {
		if p.zombie && pid != t.root && p.parent == t.adopter && t.adopter > 0 {
			var usage unix.Rusage
			if got, err := unix.Wait4(pid, nil, unix.WNOHANG, &usage); err == nil && got == pid {
				p.own = toSeconds(usage.Utime) + toSeconds(usage.Stime)
				p.reaped = 0 // wait4 tells both in one
			}
		}
	}
}

func toSeconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
