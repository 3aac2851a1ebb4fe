package feed

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lowerPriority makes the calling thread give way to the trainer. Batch tells the
// scheduler beside niceness that the thread computes and need not be woken at
// once: it then preempts nobody when a job comes. Where it is not allowed, the
// loader works all the same.
func lowerPriority(nice int) {
	if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: int32(nice)}, 0) != nil {
		unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice)
	}
}

// stepBack does the same for the session: where the kernel groups threads by
// session (sched_autogroup, on by default in many distributions), niceness counts
// only within one. The daemon has one of its own; whoever shares a session with
// others, such as a test, must not slow them down.
func stepBack(nice int) {
	if own, err := unix.Getsid(0); err == nil && own == os.Getpid() {
		os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(nice)), 0) // absent where there is no grouping
	}
}

// freeMemory is what can still be used, 0 where that is not known, and who says so.
func freeMemory() (bytes int64, who string) { return freeMemoryIn(os.DirFS("/")) }

func freeMemoryIn(files fs.FS) (bytes int64, who string) {
	who = "nothing is known of the free memory"
	if available, ok := field(text(files, "proc/meminfo"), "MemAvailable:"); ok {
		bytes, who = available<<10, fmt.Sprintf("the machine has %s left", mebibytes(available<<10))
	}
	for _, folder := range memoryGroups(files) {
		limit, free, ok := groupMemory(files, folder)
		if ok && (bytes == 0 || free < bytes) {
			bytes, who = free, fmt.Sprintf("the control group's limit of %s leaves %s", mebibytes(limit), mebibytes(free))
		}
	}
	return bytes, who
}

// groupMemory is the limit of one control group and what it leaves, of either
// version. Page cache that can be dropped at once counts as free.
func groupMemory(files fs.FS, folder string) (limit, free int64, ok bool) {
	limitFile, usedFile, cacheKey := "memory.max", "memory.current", "inactive_file"
	if _, err := fs.Stat(files, path.Join(folder, limitFile)); err != nil {
		limitFile, usedFile, cacheKey = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
	}
	limit, err := strconv.ParseInt(text(files, path.Join(folder, limitFile)), 10, 64)
	if err != nil || limit >= 1<<60 { // "max"; version 1 says none by its largest page counter
		return 0, 0, false
	}
	used, err := strconv.ParseInt(text(files, path.Join(folder, usedFile)), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	cache, _ := field(text(files, path.Join(folder, "memory.stat")), cacheKey)
	return limit, max(0, limit-max(0, used-cache)), true
}

// memoryGroups are the folders of the process's memory control group and of those
// above it, as far as they can be seen: a limit holds for all below.
func memoryGroups(files fs.FS) (folders []string) {
	mounts := text(files, "proc/self/mountinfo")
	for entry := range strings.Lines(text(files, "proc/self/cgroup")) { // hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSpace(entry), ":", 3)
		if len(parts) < 3 || parts[1] != "" && !listed(parts[1], "memory") {
			continue
		}
		point, root, ok := groupMount(mounts, parts[1] == "")
		if !ok {
			continue
		}
		own := strings.TrimPrefix(parts[2], strings.TrimSuffix(root, "/")) // a container sees its own part only
		for at := path.Clean("/" + own); ; at = path.Dir(at) {
			folders = append(folders, path.Join(strings.TrimPrefix(point, "/"), at))
			if at == "/" {
				break
			}
		}
	}
	return folders
}

// groupMount finds where control groups of version 2, or the memory controller of
// version 1, are mounted, and which group stands there; proc_pid_mountinfo(5).
func groupMount(mounts string, two bool) (point, root string, ok bool) {
	for entry := range strings.Lines(mounts) {
		head, tail, _ := strings.Cut(entry, " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if len(fields) < 5 || len(kind) < 3 {
			continue
		}
		if two && kind[0] == "cgroup2" || !two && kind[0] == "cgroup" && listed(kind[2], "memory") {
			return fields[4], fields[3], true
		}
	}
	return "", "", false
}

func listed(list, word string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if item == word {
			return true
		}
	}
	return false
}

// field finds the number behind a key in a text of "key number" lines.
func field(text, key string) (int64, bool) {
	for entry := range strings.Lines(text) {
		words := strings.Fields(entry)
		if len(words) >= 2 && words[0] == key {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func text(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
