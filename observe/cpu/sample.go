//go:build linux

package cpu

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"stoker/recording"
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
		to.Sample(recording.ProcessCPU, subject, now, p.own)
		to.Sample(recording.ProcessMemory, subject, now, p.memory)
		if !p.unread {
			to.Sample(recording.ProcessRead, subject, now, p.read.total())
			to.Sample(recording.ProcessDisk, subject, now, p.disk.total())
		}
	}
	for _, t := range j.threads {
		if _, queued, ok := t.times(j.buffer); ok {
			to.Sample(recording.ThreadQueue, t.subject, now, queued)
		}
	}
	if len(j.tree.live) > 0 || j.tree.total > 0 {
		to.Sample(recording.TreeCPU, "tree", now, j.tree.total)
		to.Sample(recording.TreeMemory, "tree", now, memory)
	}
}

// Loaded is the first Python process that has had PyTorch mapped for at least the
// given seconds without the hook answering from inside; 0 where there is none.
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
	return err == nil && (bytes.Contains(maps, []byte("/libtorch.so")) || bytes.Contains(maps, []byte("/libtorch_cpu.so")))
}

// environment takes a trainer's rank from the variables that launchers set. No
// other name is ever looked at.
func (j *Job) environment(f *recording.Process) {
	values, err := Environment(filepath.Join(j.options.FS, "proc"), f.PID)
	if err != nil {
		return
	}
	if world, err := strconv.Atoi(values["WORLD_SIZE"]); err == nil && world > 0 {
		if rank, err := strconv.Atoi(values["RANK"]); err == nil && rank >= 0 {
			f.Rank, f.World = rank, world
		}
	}
}

// allowed are the only variables that are ever taken from another process's
// environment.
var allowed = []string{
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES",
	"KINETO_USE_DAEMON", "KINETO_IPC_SOCKET_DIR", "KINETO_ONDEMAND_TRACE_DIR",
	"STOKER_HOOK_SOCKET", "STOKER_EMULATED_PAGE",
}

// maxVariable bounds what is looked at of a variable: a path has 4096 bytes at most.
const maxVariable = 4096

// Environment reads the allowed variables (RANK, LOCAL_RANK, WORLD_SIZE,
// CUDA_VISIBLE_DEVICES, three of libkineto's and two of ours) of a process as it was started, and no others.
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
