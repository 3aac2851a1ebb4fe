package cgroup

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// FreeMemory returns how many bytes a process can still use, and a sentence that names the
// tightest limit: the machine, a control group above the process, or the process's limits
// (ulimit -v, ulimit -d). 0 means unknown.
func FreeMemory(files fs.FS, process string) (bytes int64, who string) {
	least, who := math.Inf(1), "nothing is known of the free memory"
	if available, ok := availableMemory(files); ok {
		least, who = available, "the machine has %.1f MiB left"
	}
	if g, err := Find(files, process); err == nil {
		if _, free := g.MemoryLimit(); free < least { // false if free is NaN
			least, who = free, "the control group's memory limit leaves %.1f MiB"
		}
	}
	for _, l := range processLimits {
		if free, ok := l.free(files, process); ok && free < least {
			least, who = free, l.who
		}
	}
	if math.IsInf(least, 1) {
		return 0, who
	}
	return max(1, int64(least)), fmt.Sprintf(who, least/(1<<20)) // 1 byte, because 0 means unknown
}

// processLimit is a memory limit of a single process: its name in /proc/PID/limits, the field
// of /proc/PID/status that counts against it, and the sentence for it.
type processLimit struct{ name, used, who string }

var processLimits = []processLimit{
	{"Max address space", "VmSize:", "the process's limit on its address space (ulimit -v) leaves %.1f MiB"},
	{"Max data size", "VmData:", "the process's limit on its data (ulimit -d) leaves %.1f MiB"},
}

// free returns how many bytes the limit leaves.
func (l processLimit) free(files fs.FS, process string) (float64, bool) {
	limits, err := fs.ReadFile(files, "proc/"+process+"/limits")
	if err != nil {
		return 0, false
	}
	status, err := fs.ReadFile(files, "proc/"+process+"/status")
	if err != nil {
		return 0, false
	}
	soft, limited := findField(string(limits), l.name) // "Max data size  unlimited  unlimited  bytes"
	used, known := findField(string(status), l.used)   // "VmData:     1234 kB"
	return max(0, soft-1024*used), limited && known
}

// findField returns the first number after a name at the beginning of a line.
func findField(text, name string) (float64, bool) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name); found {
			if words := strings.Fields(rest); len(words) > 0 {
				return parse(words[0])
			}
		}
	}
	return 0, false
}

// availableMemory returns the memory that the kernel can provide without swapping.
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
