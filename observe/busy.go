//go:build linux

package observe

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"
)

// Limits of the threads of a server that are looked at because they work: a tokenizer's pool, a batcher's.
const (
	mostListed  = 256                    // of a process
	mostBusy    = 4                      // that are followed
	wantsCore   = 100 * time.Millisecond // of a second, on a core or waiting for one, from which a thread works
	leastOnCore = 20 * time.Millisecond  // of these on a core: on a crowded machine each waking awaits one
)

// onCores is how long a thread was on a core, and how long it waited for one.
type onCores struct{ on, waited time.Duration }

// busyThreads finds the threads of server processes that work, by their core time from second to second.
type busyThreads struct {
	times map[int]map[int]onCores // by process and thread
	found map[int][]int
}

// findBusy returns the threads of a process that work, or did lately: those that were found last come last, and of
// these the busiest.
func (b *busyThreads) findBusy(pid int) []int {
	if b.times == nil {
		b.times, b.found = map[int]map[int]onCores{}, map[int][]int{}
	}
	before, now, worked := b.times[pid], map[int]onCores{}, map[int]time.Duration{}
	folder := fmt.Sprintf("/proc/%d/task", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		delete(b.times, pid)
		return nil
	}
	for _, entry := range entries[:min(len(entries), mostListed)] {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil || tid == pid {
			continue
		}
		t, ok := readOnCores(folder + "/" + entry.Name() + "/schedstat")
		if !ok {
			continue
		}
		now[tid] = t
		last, seen := before[tid]
		on, waited := t.on-last.on, t.waited-last.waited
		if seen && on >= leastOnCore && on+waited >= wantsCore {
			worked[tid] = on
		}
	}
	b.times[pid] = now
	busiestLast := slices.SortedFunc(maps.Keys(worked), func(x, y int) int { return cmp.Compare(worked[x], worked[y]) })
	b.found[pid] = slices.DeleteFunc(b.found[pid], func(t int) bool {
		_, lives := now[t]
		_, again := worked[t]
		return !lives || again
	})
	b.found[pid] = append(b.found[pid], busiestLast...)
	if extra := len(b.found[pid]) - mostBusy; extra > 0 {
		b.found[pid] = slices.Delete(b.found[pid], 0, extra)
	}
	return b.found[pid]
}

// readOnCores reads how long a thread was on a core and waited for one, from its schedstat.
func readOnCores(path string) (t onCores, ok bool) {
	text, err := os.ReadFile(path)
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return t, false
	}
	on, err := strconv.ParseInt(string(fields[0]), 10, 64)
	waited, also := strconv.ParseInt(string(fields[1]), 10, 64)
	return onCores{time.Duration(on), time.Duration(waited)}, err == nil && also == nil
}
