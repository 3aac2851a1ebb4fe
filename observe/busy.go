//go:build linux

package observe

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// Limits of the threads of a server that are looked at because they work: a tokenizer's pool, a batcher's.
const (
	mostListed = 256 // of a process
	mostBusy   = 4   // that are followed
	busyTicks  = 10  // of the kernel's 100 in a second, from which a thread works
)

// busyThreads finds the threads of server processes that work, by their core time from second to second.
type busyThreads struct {
	ticks map[int]map[int]uint64 // by process and thread
	found map[int][]int
}

// findBusy returns the threads of a process that work, or did lately: those that were found last come last.
func (b *busyThreads) findBusy(pid int) []int {
	if b.ticks == nil {
		b.ticks, b.found = map[int]map[int]uint64{}, map[int][]int{}
	}
	before, now := b.ticks[pid], map[int]uint64{}
	folder := fmt.Sprintf("/proc/%d/task", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		delete(b.ticks, pid)
		return nil
	}
	for _, entry := range entries[:min(len(entries), mostListed)] {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil || tid == pid {
			continue
		}
		ticks, ok := coreTicks(folder + "/" + entry.Name() + "/stat")
		if !ok {
			continue
		}
		now[tid] = ticks
		if last, seen := before[tid]; seen && ticks-last >= busyTicks {
			b.found[pid] = append(slices.DeleteFunc(b.found[pid], func(t int) bool { return t == tid }), tid)
		}
	}
	b.ticks[pid] = now
	b.found[pid] = slices.DeleteFunc(b.found[pid], func(t int) bool { _, lives := now[t]; return !lives })
	if extra := len(b.found[pid]) - mostBusy; extra > 0 {
		b.found[pid] = slices.Delete(b.found[pid], 0, extra)
	}
	return b.found[pid]
}

// coreTicks returns the core time of a thread, in the kernel's ticks.
func coreTicks(path string) (uint64, bool) {
	text, err := os.ReadFile(path)
	at := bytes.LastIndexByte(text, ')')
	if err != nil || at < 0 {
		return 0, false
	}
	const user, system = 11, 12 // behind the name
	fields := bytes.Fields(text[at+1:])
	if len(fields) <= system {
		return 0, false
	}
	u, err := strconv.ParseUint(string(fields[user]), 10, 64)
	s, also := strconv.ParseUint(string(fields[system]), 10, 64)
	return u + s, err == nil && also == nil
}
