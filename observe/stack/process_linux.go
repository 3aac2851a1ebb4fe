package stack

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errNone says that no CPython was found in a process.
var errNone = errors.New("no CPython is in it")

// readerOf reads the memory of a process, without stopping it.
func readerOf(pid int) reader {
	return func(address uint64, into []byte) error {
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &into[0], Len: uint64(len(into))}},
			[]unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}, 0)
		switch {
		case err != nil:
			return fmt.Errorf("read the memory of process %d: %w", pid, err)
		case n != len(into):
			return errTorn
		}
		return nil
	}
}

// Bounds on the search.
const (
	mostMaps  = 64 << 20 // bytes of /proc/PID/maps
	mostFiles = 4096     // of one process
)

// image is a file with a Python in it.
type image struct {
	runtime uint64 // address of its runtime, from the file's begin in memory
	minor   uint64 // of the version, by its name; 0 if that does not tell
}

// images are the files that were looked into, by path, device and inode: nil where no
// Python is in one.
type images map[string]*image

// home is the address of a process's Python runtime, and its layout.
type home struct {
	runtime uint64
	layout  layout
}

// homeOf finds the Python of a process.
func (known images) homeOf(pid int) (h home, err error) {
	var minor uint64
	if h.runtime, minor, err = known.runtimeOf(pid); err != nil {
		return h, err
	}
	head := make([]byte, tableSize)
	if err = readerOf(pid)(h.runtime, head); err != nil {
		return h, err
	}
	var has bool
	if h.layout, has, err = ownLayout(head); err != nil || has {
		return h, err
	}
	if h.layout, has = layouts[minor]; !has {
		return h, errUnknown
	}
	return h, nil
}

// attachTo finds a thread in the Python of a process.
func (h home) attachTo(m *memory, pid, tid int) (*python, error) {
	return attach(m, readerOf(pid), h.runtime, h.layout, ownNumber(pid, tid), pid == tid)
}

// runtimeOf returns the address of a process's Python runtime, and its minor version.
func (known images) runtimeOf(pid int) (address, minor uint64, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	for read := 0; lines.Scan() && read < mostMaps && len(seen) < mostFiles; read += len(lines.Bytes()) {
		words := strings.SplitN(lines.Text(), " ", 6)
		if len(words) < 6 || words[2] != "00000000" { // where a file begins
			continue
		}
		path := strings.TrimLeft(words[5], " ")
		if !strings.HasPrefix(path, "/") || seen[path] {
			continue
		}
		seen[path] = true
		begin, _, _ := strings.Cut(words[0], "-")
		base, err := strconv.ParseUint(begin, 16, 64)
		if err != nil {
			continue
		}
		if found := known.look(pid, path, words[3]+" "+words[4]); found != nil {
			return base + found.runtime, found.minor, nil
		}
	}
	return 0, 0, errNone
}

// look returns the Python in a file that a process has mapped; nil if there is none.
func (known images) look(pid int, path, inode string) *image {
	name := filepath.Base(path)
	if !strings.Contains(name, "python") {
		return nil
	}
	key := inode + " " + path
	found, looked := known[key]
	if !looked {
		found = imageOf(fmt.Sprintf("/proc/%d/root%s", pid, path), name)
		known[key] = found
	}
	return found
}

var named = regexp.MustCompile(`python3\.(\d+)`)

// openRegular opens a regular file for reading; nil if it is missing or another kind. A pipe would block.
func openRegular(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil
	}
	return f
}

// imageOf finds Python's runtime in a file: it is a separate section.
func imageOf(path, name string) *image {
	f := openRegular(path)
	if f == nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	binary, err := elf.NewFile(f)
	if err != nil || binary.Class != elf.ELFCLASS64 || binary.Section(".PyRuntime") == nil {
		return nil
	}
	lowest := ^uint64(0)
	for _, p := range binary.Progs {
		if p.Type == elf.PT_LOAD {
			lowest = min(lowest, p.Vaddr)
		}
	}
	found := &image{runtime: binary.Section(".PyRuntime").Addr - lowest&^(pageSize-1)}
	if version := named.FindStringSubmatch(name); version != nil {
		found.minor, _ = strconv.ParseUint(version[1], 10, 8)
	}
	return found
}

// ownNumber returns a thread's number as its own process sees it, which is another one in a
// container.
func ownNumber(pid, tid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return tid
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "NSpid:"); found {
			rest = strings.TrimSpace(rest)
			if own, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '\t')+1:]); err == nil {
				return own
			}
		}
	}
	return tid
}
