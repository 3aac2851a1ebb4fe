//go:build linux

package cpu

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Told is what others found out about a process: the start-up hook from inside,
// NVML from the device.
type Told struct {
	PID          int
	Role         string // recording.RoleTrainer, RoleWorker, RoleServer or ""
	Parent       int    // of a worker: the process that loads through it
	Rank, World  int
	Device       int    // index of its GPU, -1 if unknown
	LaunchThread int    // 0 if unknown
	LauncherSeen bool   // the thread is known from launches, not assumed
	Hooked       bool   // the hook answered from inside
	Imports      string // the program's line that imported torch
	Blocking     bool   // CUDA_LAUNCH_BLOCKING is set
	Loads        bool   // it has a DataLoader or asked for a batch
}

// assign gives every living process its role: first the trainers, then the processes that load
// for them. A role stays once it is given. Only a guessed role gives way, to a known one or to
// what the process turns out to run.
func (j *Job) assign() {
	trainers := j.trainers()
	for _, p := range j.tree.live {
		if p.guessed && !p.zombie {
			p.role, p.of, p.guessed = "", 0, false
		}
		known := j.told[p.pid] != nil && j.told[p.pid].Role != ""
		switch {
		case slices.Contains(trainers, p.pid):
			p.role, p.of = recording.RoleTrainer, 0
		case p.role == recording.RoleTrainer && !known && !p.zombie:
			p.role = "" // guessed wrongly
		}
	}
	named := map[int]bool{} // trainers whose workers are known by name
	for _, p := range j.tree.live {
		if p.role == recording.RoleTrainer {
			continue
		}
		if feeds(p) {
			p.role = recording.RoleFeed
			continue
		}
		if t := j.told[p.pid]; t != nil && t.Role == recording.RoleServer {
			p.role = recording.RoleServer
			continue
		}
		if of := j.worksFor(p); of != 0 {
			p.role, p.of = recording.RoleWorker, of
			named[of] = true
		}
	}
	for _, p := range j.tree.live {
		if p.role != "" || !p.python || p.zombie || j.onDevice(p.pid) {
			continue
		}
		if of := j.trainerAbove(p); of != 0 && !named[of] && j.likeWorker(p) {
			p.role, p.of, p.guessed = recording.RoleWorker, of, !p.named
		}
	}
}

// trainers are, in this order of trust: processes that have a loader; those that
// the hook calls main and that use a GPU; those that use a GPU; those that the
// hook calls main; else the Python process with most core time.
func (j *Job) trainers() []int {
	levels := []func(*process) bool{
		func(p *process) bool { t := j.told[p.pid]; return t != nil && t.Loads },
		func(p *process) bool {
			t := j.told[p.pid]
			return t != nil && t.Role == recording.RoleTrainer && j.onDevice(p.pid)
		},
		func(p *process) bool { return j.onDevice(p.pid) && !isWorkerName(p.comm) },
		func(p *process) bool { t := j.told[p.pid]; return t != nil && t.Role == recording.RoleTrainer },
	}
	for _, holds := range levels {
		var found []int
		for _, p := range j.tree.live {
			if t := j.told[p.pid]; t != nil && (t.Role == recording.RoleWorker || t.Role == recording.RoleServer) {
				continue
			}
			if holds(p) {
				found = append(found, p.pid)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	if p := j.busiest(); p != nil {
		return []int{p.pid}
	}
	return nil
}

// busiest returns the Python process with most core time; where that is a worker by
// its name or parent, the process that it works for.
func (j *Job) busiest() *process {
	var best *process
	for _, p := range j.tree.live {
		if !p.python || p.zombie || p.command == "" {
			continue
		}
		if best == nil || p.own > best.own || p.own == best.own && p.pid < best.pid {
			best = p
		}
	}
	for best != nil && (isWorkerName(best.comm) || j.likeWorker(best)) {
		parent := j.tree.live[best.parent]
		if parent == nil || !parent.python {
			break
		}
		best = parent
	}
	return best
}

// isWorkerName reports whether PyTorch named the process a loader worker, as it
// does since 2.5.
func isWorkerName(comm string) bool { return comm == "pt_data_worker" }

// feeds reports whether the process is stoker feed. Its threads load, but are not sampled,
// because the loader reports what they do.
func feeds(p *process) bool {
	program, rest, _ := strings.Cut(p.command, " ")
	return strings.HasPrefix(filepath.Base(program), "stoker") && strings.HasPrefix(rest, "feed ")
}

// worksFor returns the trainer of a process that is a worker by the hook's word or by
// its name; 0 otherwise.
func (j *Job) worksFor(p *process) int {
	if t := j.told[p.pid]; t != nil && t.Role == recording.RoleWorker {
		if of := j.tree.live[t.Parent]; of != nil && of.role == recording.RoleTrainer {
			return t.Parent
		}
		return j.trainerAbove(p)
	}
	if isWorkerName(p.comm) {
		return j.trainerAbove(p)
	}
	return 0
}

// trainerAbove returns the nearest trainer among the ancestors, 0 without one: a
// fork server may be between a worker and its trainer.
func (j *Job) trainerAbove(p *process) int {
	for range maxProcesses {
		parent := j.tree.live[p.parent]
		if parent == nil {
			return 0
		}
		if parent.role == recording.RoleTrainer {
			return parent.pid
		}
		p = parent
	}
	return 0
}

// likeWorker reports whether a Python process resembles one that
// multiprocessing started: a copy of its parent, or a spawned one. A rank that a
// launcher started has another command.
func (j *Job) likeWorker(p *process) bool {
	parent := j.tree.live[p.parent]
	if parent == nil || !parent.python {
		return false
	}
	return !j.serves(p) && (strings.Contains(p.command, "multiprocessing.spawn") || p.command == parent.command)
}

// serves reports whether a process is a helper of multiprocessing: its resource tracker or its
// fork server, not what that forked. A helper loads nothing, and ends with the processes that it
// serves.
func (j *Job) serves(p *process) bool {
	if strings.Contains(p.command, "multiprocessing.forkserver") {
		parent := j.tree.live[p.parent]
		return parent == nil || parent.command != p.command
	}
	return strings.Contains(p.command, "resource_tracker")
}

func (j *Job) onDevice(pid int) bool { _, on := j.device[pid]; return on }
