//go:build linux

package cpu

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stoker-dev/stoker/recording"
)

// Limits that keep a large job's recording small.
const (
	maxThreads = 512 // looked at ten times a second
	maxFacts   = 512 // processes in the facts; of those that ended, the oldest go first
)

// Sink takes samples; a *recording.Writer is one.
type Sink interface {
	AddSample(signal recording.Signal, subject string, t, v float64)
}

// Options say whose tree to watch. Only Root has to be set.
type Options struct {
	Root    int    // the process at the root of the job
	Adopter int    // process that the kernel gives orphaned descendants to, 0 without one
	FS      string // where proc, sys and dev lie, "/" by default
}

// Job watches the processes of one job.
type Job struct {
	options Options
	tree    *table
	machine *machine
	told    map[int]*Told
	device  map[int][]int // PID to the indices of the GPUs that it has a context on
	threads map[int]*thread
	facts   map[identity]*recording.Process
	ended   []identity // in order of their end
	hidden  bool       // /proc does not show the processes
	unread  int        // a process whose io file may not be read; it may have ended
	buffer  []byte
	host    recording.Machine

	launches    map[int]bool // of threads: launch device work
	pins        map[int]int  // PID of a trainer to its thread that pins batches
	taskCores   int          // that SLURM gave, 0 unknown
	queue       []int        // threads that are still to be looked at in this round
	turn        int          // which worker's private memory was looked at last
	nextPrivate float64
	turnWants   int // which process's threads were counted last
}

type identity struct {
	pid   int
	start uint64
}

// Watch begins to watch a job. It fails only without a usable /proc.
func Watch(o Options) (*Job, error) {
	if o.FS == "" {
		o.FS = "/"
	}
	tree, err := newTable(join(o.FS, "proc"), o.Root, o.Adopter)
	if err != nil {
		return nil, fmt.Errorf("watch processes: %w: is /proc mounted?", err)
	}
	machine, err := newMachine(o.FS)
	if err != nil {
		return nil, fmt.Errorf("watch machine: %w: is /proc mounted?", err)
	}
	return &Job{
		options: o, tree: tree, machine: machine, told: map[int]*Told{}, device: map[int][]int{},
		threads: map[int]*thread{}, facts: map[identity]*recording.Process{}, buffer: make([]byte, 1024),
		launches: map[int]bool{}, pins: map[int]int{},
	}, nil
}

// Close closes all files.
func (j *Job) Close() {
	for tid, t := range j.threads {
		t.close()
		delete(j.threads, tid)
	}
}

// Tell adds what the hook said about a process. It takes effect in the next Second, or at once
// for a new process.
func (j *Job) Tell(t Told) { j.told[t.PID] = &t }

// Devices says which process uses which GPU, by NVML. Numbers that belong to no
// process of the tree (another PID namespace, another job) mean nothing here.
func (j *Job) Devices(device map[int][]int) { j.device = device }

// Has reports whether a process is one of the job's.
func (j *Job) Has(pid int) bool { return j.tree.live[pid] != nil }

// mostLooks bounds how many threads are looked at in a tick: of a job with more of them
// each is looked at in its turn. What matters is the mean over all that load.
const mostLooks = 32

// Tick samples the threads that matter. now is in seconds of the recording.
func (j *Job) Tick(now float64, to Sink) {
	if len(j.queue) == 0 {
		j.queue = slices.Sorted(maps.Keys(j.threads))
	}
	turn := j.queue[:min(mostLooks, len(j.queue))]
	j.queue = j.queue[len(turn):]
	for _, tid := range turn {
		t := j.threads[tid]
		if t == nil {
			continue
		}
		state, ok := t.look(j.buffer)
		if !ok {
			t.close()
			delete(j.threads, tid)
			continue
		}
		to.AddSample(recording.ThreadState, t.subject, now, float64(state))
		if ran, _, ok := t.readTimes(j.buffer); ok {
			to.AddSample(recording.ThreadCPU, t.subject, now, ran)
		}
	}
}

// Second walks the tree and reads everything that is read once a second.
func (j *Job) Second(now float64, to Sink) {
	j.tree.reap()
	j.tree.refresh(now)
	j.assign()
	j.follow()
	j.list()
	j.sampleTree(now, to)
	j.machine.writeSample(now, to, j.trainer(), j.servers()...)
	j.note()
}

// Ended takes the core time of the root as the kernel gave it to wait4, its
// waited-for descendants included. It counts from the next Second on.
func (j *Job) Ended(cpu time.Duration) { j.tree.rootCPU = cpu.Seconds() }

// Alive returns the processes of the tree that have not ended and do not end by themselves, in
// order of PID.
func (j *Job) Alive() []int {
	var alive []int
	for pid, p := range j.tree.live {
		if !p.zombie && !j.serves(p) {
			alive = append(alive, pid)
		}
	}
	slices.Sort(alive)
	return alive
}

// trainer returns the process that represents the job if one must: the trainer
// with the lowest PID, else the root.
func (j *Job) trainer() int {
	best := 0
	for pid, p := range j.tree.live {
		if p.role == recording.RoleTrainer && (best == 0 || pid < best) {
			best = pid
		}
	}
	if best == 0 {
		return j.tree.root
	}
	return best
}

// servers returns the processes that take requests for a trainer. vLLM's worker on a CPU binds itself to a core, and
// they do not.
func (j *Job) servers() (pids []int) {
	for pid, p := range j.tree.live {
		if p.role == recording.RoleServer {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Processes returns the trainers and workers seen so far, in order of their start.
func (j *Job) Processes() []recording.Process {
	all := make([]recording.Process, 0, len(j.facts))
	for _, p := range j.facts {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b recording.Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return all
}

// HostMachine returns the part of the host that the job may use, as it was when its trainer was
// last alive.
func (j *Job) HostMachine() recording.Machine {
	pid := j.trainer()
	if p := j.tree.live[pid]; j.host.CPUs == 0 || p != nil && !p.zombie {
		j.host = j.machine.facts(pid, j.servers()...)
		j.host.TaskCores = j.taskCores
	}
	return j.host
}

// follow keeps open the thread files of the living trainers and workers, and closes the others.
func (j *Job) follow() {
	wanted := map[int]int{}
	clear(j.launches)
	for pid, p := range j.tree.live {
		if p.role == "" || p.role == recording.RoleFeed || p.zombie {
			continue
		}
		tid := pid
		if t := j.told[pid]; t != nil && t.LaunchThread > 0 && p.role == recording.RoleTrainer {
			tid = t.LaunchThread
		}
		wanted[tid] = pid
		if p.role == recording.RoleTrainer {
			j.launches[tid] = true
			if pin := j.pinner(pid); pin != 0 {
				wanted[pin] = pid
			}
		}
	}
	for tid, t := range j.threads {
		if wanted[tid] == 0 {
			t.close()
			delete(j.threads, tid)
		}
	}
	for tid, pid := range wanted {
		if j.threads[tid] != nil || len(j.threads) >= maxThreads {
			continue
		}
		if t, err := watch(j.tree.path, pid, tid); err == nil {
			j.threads[tid] = t
		}
	}
}

// list brings the facts up to date.
func (j *Job) list() {
	for _, p := range j.tree.live {
		id := identity{p.pid, p.start}
		if p.role == "" {
			delete(j.facts, id) // a guess that was taken back
			continue
		}
		f := j.facts[id]
		if f == nil {
			f = &recording.Process{PID: p.pid, Start: p.first, Device: -1}
			j.facts[id] = f
			j.environment(f)
		}
		j.describe(f, p)
	}
	for _, p := range j.tree.gone {
		id := identity{p.pid, p.start}
		if f := j.facts[id]; f != nil && f.End == 0 {
			f.End = p.last
			j.ended = append(j.ended, id)
		}
		delete(j.told, p.pid)
	}
	for len(j.facts) > maxFacts && len(j.ended) > 0 {
		delete(j.facts, j.ended[0])
		j.ended = j.ended[1:]
	}
}

func (j *Job) describe(f *recording.Process, p *process) {
	f.Role, f.Parent = p.role, p.parent
	if p.of != 0 {
		f.Parent = p.of
	}
	if t := j.told[p.pid]; t != nil {
		f.Hooked, f.Imports = f.Hooked || t.Hooked, cmp.Or(t.Imports, f.Imports)
		f.Blocking = f.Blocking || t.Blocking
		if t.World > 0 {
			f.Rank, f.World = t.Rank, t.World
		}
		f.LaunchThread, f.LauncherSeen = t.LaunchThread, t.LauncherSeen
		if t.Device >= 0 {
			f.Device = t.Device
		}
	}
	// The driver knows better than a count by CUDA_VISIBLE_DEVICES; of several devices it
	// does not tell which one the steps are on.
	if on := j.device[p.pid]; len(on) > 0 && !slices.Contains(on, f.Device) {
		f.Device = on[len(on)-1]
	}
	f.PinThread = j.pins[p.pid]
	if f.LaunchThread == 0 {
		f.LaunchThread = p.pid
	}
}

// note records why something is missing from the recording, as of now, so that the user knows.
func (j *Job) note() {
	j.hidden = len(j.tree.live) == 0 && !isVisible(j.tree.path, j.tree.root) && exists(j.tree.root)
	if p := j.tree.live[j.unread]; p != nil && !p.unread {
		j.unread = 0
	}
	for pid, p := range j.tree.live {
		if p.role != "" && p.unread && (j.unread == 0 || pid < j.unread) {
			j.unread = pid
		}
	}
}

// Absent returns what cannot be seen, and why.
func (j *Job) Absent() []recording.Absence {
	var absent []recording.Absence
	if j.hidden {
		absent = append(absent, recording.Absence{
			What: "processes",
			Why:  "/proc does not show them (hidepid, or another PID namespace): run stoker as the user who owns them",
		})
	}
	if j.unread > 0 {
		absent = append(absent, recording.Absence{
			What: "bytes read by processes",
			Why: fmt.Sprintf("/proc/%d/io may not be read: the process belongs to another user or is not dumpable",
				j.unread),
		})
	}
	return append(absent, j.machine.absent...)
}

func isVisible(proc string, pid int) bool {
	_, err := os.Stat(fmt.Sprintf("%s/%d", proc, pid))
	return err == nil
}
