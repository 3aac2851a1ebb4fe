package cgroup

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// FreeMemory is how many bytes a process can still use, and in words who says so:
// the machine, or the tightest of the control groups above the process. 0: nothing
// is known.
func FreeMemory(files fs.FS, process string) (bytes int64, who string) {
	least, who := math.Inf(1), "nothing is known of the free memory"
	if available, ok := availableMemory(files); ok {
		least, who = available, "the machine has %.1f MiB left"
	}
	if g, err := Find(files, process); err == nil {
		if _, free := g.Memory(); free < least { // not where it is NaN
			least, who = free, "the control group's memory limit leaves %.1f MiB"
		}
	}
	if math.IsInf(least, 1) {
		return 0, who
	}
	return int64(least), fmt.Sprintf(who, least/(1<<20))
}

// availableMemory is what the kernel could give without swapping.
func availableMemory(files fs.FS) (float64, bool) {
	text, err := fs.ReadFile(files, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) { // "MemAvailable:    4194304 kB"
		if value, found := strings.CutPrefix(line, "MemAvailable:"); found {
			kib, ok := parse(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return kib * 1024, ok
		}
	}
	return 0, false
}
