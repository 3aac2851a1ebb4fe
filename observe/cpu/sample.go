//go:build linux

package cpu

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/recording"
)

// sampleTree writes the signals of the processes and of the tree as a whole.
func (j *Job) sampleTree(now float64, to Sink) {
	memory := 0.0
	for _, p := range j.tree.live {
		memory += p.memory
		if p.role == "" || p.zombie {
			continue
		}
		subject := fmt.Sprintf("process/%d", p.pid)
		to.AddSample(recording.ProcessCPU, subject, now, p.own)
		to.AddSample(recording.ProcessMemory, subject, now, p.memory)
		to.AddSample(recording.ProcessFaults, subject, now, p.faults)
		if p.counted && !p.unread {
			to.AddSample(recording.ProcessRead, subject, now, p.read.total())
			to.AddSample(recording.ProcessDisk, subject, now, p.disk.total())
		}
	}
	for tid, t := range j.threads {
		if _, queued, ok := t.readTimes(j.buffer); ok {
			to.AddSample(recording.ThreadQueue, t.subject, now, queued)
		}
		if node, ok := j.machine.numaNode(t.processor(j.buffer)); ok && j.launches[tid] {
			to.AddSample(recording.ThreadNode, t.subject, now, float64(node))
		}
	}
	j.samplePrivate(now, to)
	j.sampleWants(now, to)
	if len(j.tree.live) > 0 || j.tree.total > 0 {
		to.AddSample(recording.TreeCPU, "tree", now, j.tree.total)
		to.AddSample(recording.TreeMemory, "tree", now, memory)
	}
}

// privateEvery is how many seconds pass between two readings of the private memory of a
// worker, each time of another one: the kernel walks through all of its pages, and keeps
// it from mapping memory meanwhile. The first few readings come sooner, for short runs.
const (
	privateEvery = 15
	privateSoon  = 4
	firstLooks   = 6
)

func (j *Job) samplePrivate(now float64, to Sink) {
	if now < j.nextPrivate {
		return
	}
	workers := j.of(recording.RoleWorker)
	if len(workers) == 0 {
		return
	}
	j.nextPrivate = now + privateEvery
	if j.turn++; j.turn < firstLooks {
		j.nextPrivate = now + privateSoon
	}
	pid := workers[j.turn%len(workers)]
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/smaps_rollup", j.tree.path, pid))
	if err != nil {
		return // kernels before 4.14 have none
	}
	sum, seen := 0.0, false
	for line := range strings.Lines(string(text)) { // "Private_Dirty:      1234 kB"
		fields := strings.Fields(line)
		if len(fields) == 3 && (fields[0] == "Private_Clean:" || fields[0] == "Private_Dirty:") {
			kb, err := strconv.ParseUint(fields[1], 10, 64)
			sum, seen = sum+float64(kb)*1024, seen || err == nil
		}
	}
	if seen {
		to.AddSample(recording.ProcessPrivate, fmt.Sprintf("process/%d", pid), now, sum)
	}
}

// mostCounted bounds how many threads of a process are counted: a process with more is left out.
const mostCounted = 512

// sampleWants counts the threads of one loading process that are on a core or wait for one. Each
// second it takes another process: libraries start as many threads as the machine has cores.
func (j *Job) sampleWants(now float64, to Sink) {
	readers := j.Readers()
	if len(readers) == 0 {
		return
	}
	j.turnWants++
	pid := readers[j.turnWants%len(readers)]
	threads, err := os.ReadDir(fmt.Sprintf("%s/%d/task", j.tree.path, pid))
	if err != nil || len(threads) == 0 || len(threads) > mostCounted {
		return
	}
	wants := 0
	for _, entry := range threads {
		stat, _ := os.ReadFile(fmt.Sprintf("%s/%d/task/%s/stat", j.tree.path, pid, entry.Name()))
		if letter, _ := stateLetter(stat); letter == 'R' {
			wants++
		}
	}
	to.AddSample(recording.ProcessWants, fmt.Sprintf("process/%d", pid), now, float64(wants))
}

// of returns the living processes of a role, in order of PID.
func (j *Job) of(role string) (pids []int) {
	for pid, p := range j.tree.live {
		if p.role == role && !p.zombie {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// Readers returns the processes that load: workers, and trainers without workers.
func (j *Job) Readers() []int {
	if workers := j.of(recording.RoleWorker); len(workers) > 0 {
		return workers
	}
	return j.of(recording.RoleTrainer)
}

// pinEvery is how many samples pass between two readings of the names of a trainer's threads.
const pinEvery = 10

// pinner returns the thread of a trainer that pins batches; 0 without one. PyTorch
// names it since 2.5.
func (j *Job) pinner(pid int) int {
	folder := fmt.Sprintf("%s/%d/task/", j.tree.path, pid)
	if tid := j.pins[pid]; tid != 0 {
		if name, err := os.ReadFile(folder + strconv.Itoa(tid) + "/comm"); err == nil && string(name) == pinName {
			return tid
		}
		delete(j.pins, pid) // an epoch's end may end it
	}
	if j.tree.looks%pinEvery != 1 {
		return 0
	}
	threads, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, thread := range threads {
		if name, err := os.ReadFile(folder + thread.Name() + "/comm"); err == nil && string(name) == pinName {
			j.pins[pid], _ = strconv.Atoi(thread.Name())
		}
	}
	return j.pins[pid]
}

const pinName = "pt_data_pin\n"

// Loaded returns the first Python process that has had PyTorch mapped for at least the
// given seconds without the hook answering from inside; 0 without one.
func (j *Job) Loaded(now, atLeast float64) (silent int) {
	for _, p := range j.tree.live {
		if !p.python || p.zombie || p.role == recording.RoleWorker || j.told[p.pid] != nil {
			continue
		}
		if !p.torch && now >= p.nextMaps {
			p.asked++
			p.nextMaps = now + min(30, float64(int(1)<<min(p.asked, 5))) // a large file: ask ever less often
			p.torch = j.mapsTorch(p.pid)
			if p.torch {
				p.nextMaps = now + atLeast
			}
		}
		if p.torch && now >= p.nextMaps && (silent == 0 || p.pid < silent) {
			silent = p.pid
		}
	}
	return silent
}

func (j *Job) mapsTorch(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("%s/%d/maps", j.tree.path, pid))
	return err == nil && (bytes.Contains(maps, []byte("/libtorch.so")) ||
		bytes.Contains(maps, []byte("/libtorch_cpu.so")))
}

// environment takes a trainer's rank from the variables that launchers set, and whether
// it may see a GPU. No other name is ever looked at.
func (j *Job) environment(f *recording.Process) {
	values, err := Environment(filepath.Join(j.options.FS, "proc"), f.PID)
	if err != nil {
		return
	}
	for _, name := range []string{"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"} {
		if cores, err := strconv.Atoi(values[name]); err == nil && cores > 0 && j.taskCores == 0 {
			j.taskCores = cores
		}
	}
	if world, err := strconv.Atoi(values["WORLD_SIZE"]); err == nil && world > 0 {
		if rank, err := strconv.Atoi(values["RANK"]); err == nil && rank >= 0 {
			f.Rank, f.World = rank, world
		}
	}
	visible, set := values["CUDA_VISIBLE_DEVICES"]
	f.HidesGPUs = set && namesNone(visible)
	f.Blocking = f.Blocking || !slices.Contains([]string{"", "0"}, values["CUDA_LAUNCH_BLOCKING"])
}

// namesNone reports whether a value of CUDA_VISIBLE_DEVICES leaves no GPU: CUDA ignores
// everything from the first word on that is not a name.
func namesNone(visible string) bool {
	first, _, _ := strings.Cut(visible, ",")
	first = strings.TrimSpace(first)
	return first == "" || first[0] == '-' || first == "NoDevFiles"
}

// allowed are the only variables that are ever taken from another process's
// environment.
var allowed = []string{
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING",
	"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "TORCHELASTIC_RUN_ID",
	"STOKER_HOOK_SOCKET", "STOKER_EMULATED_PAGE",
}

// maxVariable bounds how much of a variable is read: a path has 4096 bytes at most.
const maxVariable = 4096

// Environment reads the allowed variables (RANK, LOCAL_RANK, WORLD_SIZE,
// CUDA_VISIBLE_DEVICES, CUDA_LAUNCH_BLOCKING, names of jobs, two of SLURM's and two of Stoker's) of a process as
// it was started, and no others.
func Environment(proc string, pid int) (map[string]string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", proc, pid))
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for entry := range bytes.SplitSeq(raw, []byte{0}) {
		for _, name := range allowed {
			if value, found := bytes.CutPrefix(entry, []byte(name+"=")); found {
				values[name] = string(value[:min(len(value), maxVariable)])
			}
		}
	}
	clear(raw)
	return values, nil
}

// exists asks the kernel, not /proc, whether there is a process.
func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || err == unix.EPERM
}
