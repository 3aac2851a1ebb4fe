package serve

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// rooms keeps track of memory that a client has batches written to repeatedly. From the second
// use on it is mapped: then its pages exist, and mapping them costs less than copying the
// result.
type rooms struct {
	mu   sync.Mutex
	uses int
	seen map[roomID]*mapping
}

type roomID struct{ device, inode uint64 }

type mapping struct {
	memory []byte // nil: not mapped
	last   int    // number of the latest use
	lent   int    // number of jobs that write to it
}

const unwanted = 64 // uses of other rooms after which a room is forgotten

// lendMemory returns a file's memory, or nil if it is not mapped, and a function to call when
// nothing writes to it any more. It maps only files that are sealed against shrinking:
// otherwise a write could raise a signal here.
func (r *rooms) lendMemory(file *os.File, size int64) (memory []byte, back func()) {
	var stat unix.Stat_t
	fd := int(file.Fd())
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 || unix.Fstat(fd, &stat) != nil {
		return nil, func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uses++
	r.forget(func(m *mapping) bool { return r.uses-m.last > unwanted })
	id := roomID{stat.Dev, stat.Ino}
	known := r.seen[id]
	if known == nil {
		if r.seen == nil {
			r.seen = map[roomID]*mapping{}
		}
		r.seen[id] = &mapping{last: r.uses}
		return nil, func() {}
	}
	known.last = r.uses
	if known.memory == nil {
		known.memory, _ = unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	}
	if int64(len(known.memory)) != size {
		return nil, func() {}
	}
	known.lent++
	return known.memory, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		known.lent--
	}
}

// forget unmaps unused rooms for which the predicate is true.
func (r *rooms) forget(not func(*mapping) bool) {
	for id, m := range r.seen {
		if m.lent > 0 || !not(m) {
			continue
		}
		if m.memory != nil {
			_ = unix.Munmap(m.memory)
		}
		delete(r.seen, id)
	}
}

// unmapAll unmaps all rooms. Nothing may write to them any more.
func (r *rooms) unmapAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(func(*mapping) bool { return true })
}
