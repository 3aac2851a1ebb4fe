// Package cgroup reads the limits that control groups, of version 1 or 2, put on a process, and
// how long these held it back. It reads files below /proc and /sys of an fs.FS and changes
// nothing.
package cgroup

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Groups holds the control groups of one process, per controller: the folders from its group up
// to the topmost one that is visible here, of version 1 or 2. A controller that exists in
// neither version has no folders.
//
// A limit applies to all groups below it, so every folder is searched for limits and the
// smallest counts.
type Groups struct {
	files fs.FS  // the root of the file system
	text  string // text of /proc/PID/cgroup
	cpu   row
	mem   row
	block row
	pids  row
	all   row // version 2; its pressure files need no controller
}

// row is one controller's folders, innermost first.
type row struct {
	v2      bool
	folders []string
}

// noLimit is the value by which version 1 says that there is no limit: the largest page
// counter.
const noLimit = float64(1 << 60)

// Find reads the groups of a process (its number, or "self") and the mount points of the
// controllers.
func Find(files fs.FS, process string) (*Groups, error) {
	text, err := fs.ReadFile(files, "proc/"+process+"/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := fs.ReadFile(files, "proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	g := &Groups{files: files, text: string(text)}
	g.cpu = g.findRow("cpu", "cpu.max", string(mounts))
	g.mem = g.findRow("memory", "memory.max", string(mounts))
	g.block = g.findRow("blkio", "io.max", string(mounts))
	g.pids = g.findRow("pids", "pids.max", string(mounts))
	g.all = g.findRow("", "", string(mounts))
	return g, nil
}

// ProcessFile returns the text of the process's cgroup file. If it has changed, the process was
// moved.
func (g *Groups) ProcessFile() string { return g.text }

// findRow finds the folders of a controller: those of version 1 if it is mounted there, else
// those of version 2 if one of them has v2File. An empty controller means version 2 itself.
func (g *Groups) findRow(controller, v2File, mounts string) row {
	for line := range strings.Lines(g.text) { // hierarchy:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if controller == "" || len(parts) < 3 || !contains(parts[1], controller) {
			continue
		}
		if point, root, found := findMount(mounts, controller); found {
			return row{folders: folders(g.files, point, below(parts[2], root))}
		}
	}
	for line := range strings.Lines(g.text) {
		own, found := strings.CutPrefix(strings.TrimSpace(line), "0::")
		point, root, mounted := findMount(mounts, "")
		if !found || !mounted {
			continue
		}
		r := row{v2: true, folders: folders(g.files, point, below(own, root))}
		if v2File == "" {
			return r
		}
		for _, folder := range r.folders {
			if _, err := fs.Stat(g.files, path.Join(folder, v2File)); err == nil {
				return r
			}
		}
	}
	return row{}
}

// findMount finds the mount point of a controller of version 1, or of version 2 for "", and the
// group that is mounted there.
func findMount(mounts, controller string) (point, root string, found bool) {
	for line := range strings.Lines(mounts) { // proc_pid_mountinfo(5)
		head, tail, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		if controller == "" && kind[0] == "cgroup2" ||
			controller != "" && kind[0] == "cgroup" && contains(kind[2], controller) {
			return unescape(fields[4]), unescape(fields[3]), true
		}
	}
	return "", "", false
}

// contains reports whether a comma-separated list has a word.
func contains(list, word string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if item == word {
			return true
		}
	}
	return false
}

var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// unescape decodes the octal escapes of mountinfo.
func unescape(field string) string { return octal.Replace(field) }

// below returns a group's path relative to the mount: in a container the mount has only the
// container's part of the tree. A group outside that part is treated as the topmost.
func below(group, root string) string {
	if root == "/" || root == "" {
		return group
	}
	if rest, found := strings.CutPrefix(group, root); found && (rest == "" || rest[0] == '/') {
		return rest
	}
	return "/"
}

// folders lists the folders from a group up to the mount point, as names in an fs.FS.
func folders(files fs.FS, point, group string) []string {
	point = strings.TrimPrefix(path.Clean(point), "/")
	var found []string
	for at := path.Clean("/" + group); ; at = path.Dir(at) { // Clean removes ".." at the top
		folder := path.Join(point, at)
		if info, err := fs.Stat(files, folder); err == nil && info.IsDir() {
			found = append(found, folder)
		}
		if at == "/" {
			return found
		}
	}
}

// Quota returns the number of cores that the tightest CPU quota allows; 0 for none.
func (g *Groups) Quota() float64 {
	least := math.Inf(1)
	for _, folder := range g.cpu.folders {
		var quota, period float64
		var ok bool
		if g.cpu.v2 { // "max 100000" or "150000 100000"
			fields := strings.Fields(g.readWord(folder, "cpu.max"))
			if len(fields) != 2 {
				continue
			}
			quota, ok = parse(fields[0])
			period, _ = parse(fields[1])
		} else {
			quota, ok = parse(g.readWord(folder, "cpu.cfs_quota_us"))
			period, _ = parse(g.readWord(folder, "cpu.cfs_period_us"))
		}
		if ok && quota > 0 && period > 0 {
			least = min(least, quota/period)
		}
	}
	return finite(least)
}

// MemoryLimit returns the tightest memory limit and how much may still be used under all
// limits; 0 and NaN for none. Page cache that can be dropped at once counts as unused.
func (g *Groups) MemoryLimit() (limit, free float64) {
	limit, free = math.Inf(1), math.Inf(1)
	limitFile, usedFile, cacheKey := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
	if g.mem.v2 {
		limitFile, usedFile, cacheKey = "memory.max", "memory.current", "inactive_file"
	}
	for _, folder := range g.mem.folders {
		most, ok := parse(g.readWord(folder, limitFile))
		if !ok || most >= noLimit {
			continue
		}
		limit = min(limit, most)
		used, ok := parse(g.readWord(folder, usedFile))
		if !ok {
			continue
		}
		cache, _ := g.key(folder, "memory.stat", cacheKey)
		free = min(free, max(0, most-max(0, used-cache)))
	}
	if math.IsInf(free, 1) {
		free = math.NaN()
	}
	return finite(limit), free
}

// Killed counts the processes of the innermost group that the kernel killed for lack of memory,
// no matter which group's limit it was.
func (g *Groups) Killed() (count float64, known bool) {
	if len(g.mem.folders) == 0 {
		return 0, false
	}
	file := "memory.oom_control"
	if g.mem.v2 {
		file = "memory.events"
	}
	return g.key(g.mem.folders[0], file, "oom_kill")
}

// FreeThreads returns how many threads and processes may still be started under all limits; NaN
// if there is no limit.
func (g *Groups) FreeThreads() float64 {
	free := math.NaN()
	for _, folder := range g.pids.folders {
		most, limited := parse(g.readWord(folder, "pids.max"))
		now, known := parse(g.readWord(folder, "pids.current"))
		if limited && known && !(free < most-now) {
			free = max(0, most-now)
		}
	}
	return free
}

// DiskLimit returns the smallest limit on bytes read per second; 0 for none.
func (g *Groups) DiskLimit() float64 { return g.diskLimit("blkio.throttle.read_bps_device", "rbps=") }

// ReadsLimit returns the smallest limit on read requests per second; 0 for none.
func (g *Groups) ReadsLimit() float64 {
	return g.diskLimit("blkio.throttle.read_iops_device", "riops=")
}

// diskLimit returns the smallest limit on reading: from file of version 1, or from key in
// io.max of version 2.
func (g *Groups) diskLimit(file, key string) float64 {
	least := math.Inf(1)
	for _, folder := range g.block.folders {
		if !g.block.v2 { // "254:0 1048576" per disk
			for line := range strings.Lines(g.readWord(folder, file)) {
				if fields := strings.Fields(line); len(fields) == 2 {
					least = smaller(least, fields[1])
				}
			}
			continue
		}
		for word := range strings.FieldsSeq(g.readWord(folder, "io.max")) { // "8:0 rbps=1048576 wbps=max …"
			if value, found := strings.CutPrefix(word, key); found {
				least = smaller(least, value)
			}
		}
	}
	return finite(least)
}

// smaller returns the lesser of a limit and a number in text, unless that is unlimited.
func smaller(least float64, text string) float64 {
	if v, ok := parse(text); ok && v > 0 && v < noLimit {
		return min(least, v)
	}
	return least
}

// Throttled returns the total time in seconds for which quotas held the groups back, summed
// over processors as the kernel does.
func (g *Groups) Throttled() (total float64, known bool) {
	key, unit := "throttled_time", 1e-9
	if g.cpu.v2 {
		key, unit = "throttled_usec", 1e-6
	}
	for _, folder := range g.cpu.folders {
		if v, ok := g.key(folder, "cpu.stat", key); ok {
			total, known = total+v*unit, true
		}
	}
	return total, known
}

// Pressure returns the total time in seconds for which some task of the job's group waited for
// a resource ("cpu", "io", "memory"). If the group has no such file, it is that of the machine.
func (g *Groups) Pressure(resource string) (total float64, known bool) {
	files := []string{"proc/pressure/" + resource}
	if len(g.all.folders) > 1 { // the topmost group has no such file
		files = append([]string{path.Join(g.all.folders[0], resource+".pressure")}, files...)
	}
	for _, file := range files { // "some avg10=0.00 avg60=0.00 avg300=0.00 total=12"
		text, err := fs.ReadFile(g.files, file)
		if err != nil {
			continue
		}
		some, _, _ := strings.Cut(string(text), "\n")
		if _, value, found := strings.Cut(some, "total="); found && strings.HasPrefix(some, "some ") {
			if v, ok := parse(value); ok {
				return v / 1e6, true
			}
		}
	}
	return 0, false
}

// key returns the value of a "key value" line of a file.
func (g *Groups) key(folder, file, key string) (float64, bool) {
	for line := range strings.Lines(g.readWord(folder, file)) {
		if value, found := strings.CutPrefix(line, key+" "); found {
			return parse(value)
		}
	}
	return 0, false
}

// readWord returns a file's text without surrounding white space; "" if it cannot be read.
func (g *Groups) readWord(folder, file string) string {
	text, err := fs.ReadFile(g.files, path.Join(folder, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// parse parses a number that is not negative; it rejects "max" and "-1".
func parse(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}

// finite returns 0 for infinity.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return v
}
