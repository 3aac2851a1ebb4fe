//go:build linux

package disk

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Bounds of looking at open files.
const (
	maxFiles     = 256 // of a process at a look
	maxMounts    = 32  // in the facts
	maxProcesses = 512
	maxTable     = 4096 // file systems of a machine
)

// Mounts finds out which file systems a job reads from: of the files that its processes
// have open now and then. One that is opened, read and closed at once is seen by chance,
// in proportion to how long that takes; one that stays open counts again if it was read
// on. The zero value is ready.
type Mounts struct {
	Root  string // where proc and sys lie, "" is "/"
	next  int    // whose turn it is
	table []mount
	text  []byte // of which table was made
	seen  map[string]int
	open  map[int]map[string]string // by process and descriptor: its state at the last sample, and how far it was read
}

// mount is a line of /proc/PID/mountinfo.
type mount struct{ point, kind, source, device string }

// Look samples the open files of one of the processes, at each call of the next.
func (m *Mounts) Look(pids []int) {
	if len(pids) == 0 {
		return
	}
	m.next++
	pid := pids[m.next%len(pids)]
	folder := fmt.Sprintf("%s/proc/%d/", m.Root, pid)
	text, err := os.ReadFile(folder + "mountinfo")
	if err != nil {
		return // it ended, or is not ours to look at
	}
	if !bytes.Equal(text, m.text) {
		m.text, m.table = text, parseMounts(text)
	}
	names, err := os.ReadDir(folder + "fd")
	if err != nil {
		return
	}
	if m.open == nil || len(m.open) > maxProcesses {
		m.open = map[int]map[string]string{}
	}
	before, now := m.open[pid], map[string]string{}
	for _, name := range names[:min(len(names), maxFiles)] {
		link := folder + "fd/" + name.Name()
		info, err := os.Lstat(link)
		if err != nil || info.Mode().Perm()&0o400 == 0 { // not for reading
			continue
		}
		target, err := os.Readlink(link)
		if err != nil || !regular(target) {
			continue
		}
		at, _ := os.ReadFile(folder + "fdinfo/" + name.Name()) // it has the position in its first line
		now[name.Name()] = target + "\n" + string(at[:min(len(at), 64)])
		if before[name.Name()] != now[name.Name()] {
			m.addFile(target)
		}
	}
	m.open[pid] = now
}

// regular reports whether a descriptor's target seems to be a file with data.
func regular(target string) bool {
	for _, other := range []string{"/dev/", "/proc/", "/sys/", "/memfd:"} {
		if strings.HasPrefix(target, other) {
			return false
		}
	}
	return strings.HasPrefix(target, "/") && !strings.HasSuffix(target, " (deleted)")
}

func (m *Mounts) addFile(path string) {
	if at := m.of(path); at != nil && (m.seen[at.point] > 0 || len(m.seen) < maxMounts) {
		if m.seen == nil {
			m.seen = map[string]int{}
		}
		m.seen[at.point]++
	}
}

// of returns the file system of a path: the last mounted of the deepest.
func (m *Mounts) of(path string) (best *mount) {
	for i := range m.table {
		at := &m.table[i]
		inside := at.point == "/" || path == at.point || strings.HasPrefix(path, at.point+"/")
		if inside && (best == nil || len(at.point) >= len(best.point)) {
			best = at
		}
	}
	return best
}

// List returns the file systems, those with the most open files first. Counts are rounded down
// to a power of two, so that the facts seldom change. Among equal counts, the file system of the
// whole machine comes last.
func (m *Mounts) List() []recording.Mount {
	var list []recording.Mount
	for point, seen := range m.seen {
		at := m.of(point)
		if at == nil || at.point != point {
			continue // unmounted since
		}
		list = append(list, recording.Mount{
			Point: point, Kind: at.kind, Remote: remote(at.kind), Disk: m.disk(at),
			Seen: 1 << (bits.Len(uint(seen)) - 1),
		})
	}
	slices.SortFunc(list, func(a, b recording.Mount) int {
		return cmp.Or(b.Seen-a.Seen, len(b.Point)-len(a.Point), cmp.Compare(a.Point, b.Point))
	})
	return list
}

// disk returns the subject of the signals of a file system's disk; "" if it has none.
func (m *Mounts) disk(at *mount) string {
	link, err := filepath.EvalSymlinks(m.Root + "/sys/dev/block/" + at.device)
	if err != nil && strings.HasPrefix(at.source, "/dev/") { // btrfs and the like use other numbers
		link, err = filepath.EvalSymlinks(m.Root + "/sys/class/block/" + filepath.Base(at.source))
	}
	if err != nil {
		return ""
	}
	if _, err := os.Stat(link + "/partition"); err == nil {
		link = filepath.Dir(link)
	}
	return "disk/" + filepath.Base(link)
}

// remote reports whether reads of a kind of file system are answered by a server or by a
// program.
func remote(kind string) bool {
	if strings.HasPrefix(kind, "fuse.") {
		return true
	}
	return slices.Contains([]string{
		"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "wekafs", "panfs", "orangefs", "pvfs2",
		"afs", "9p", "virtiofs", "fuse",
	}, kind)
}

// parseMounts reads proc_pid_mountinfo(5).
func parseMounts(text []byte) (table []mount) {
	for line := range strings.Lines(string(text)) {
		head, tail, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if !ok || len(fields) < 5 || len(kind) < 2 || len(table) >= maxTable {
			continue
		}
		table = append(table, mount{
			point: unescape(fields[4]), kind: kind[0], source: unescape(kind[1]),
			device: fields[2],
		})
	}
	return table
}

// unescape replaces the kernel's codes for blanks in names, such as \040.
func unescape(field string) string {
	for from := 0; ; {
		at := strings.IndexByte(field[from:], '\\')
		if at < 0 || from+at+4 > len(field) {
			return field
		}
		at += from
		if code, err := strconv.ParseUint(field[at+1:at+4], 8, 8); err == nil {
			field = field[:at] + string([]byte{byte(code)}) + field[at+4:]
		}
		from = at + 1
	}
}
