package serve

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// rooms keeps track of memory that a client has batches written to repeatedly. It is mapped once
// its pages exist: mapping them then costs less than copying the result.
type rooms struct {
	mu   sync.Mutex
	uses int
	seen map[roomID]*mapping
}

type roomID struct{ device, inode uint64 }

type mapping struct {
	memory []byte
	last   int // number of the latest use
	lent   int // number of jobs that write to it
}

const (
	unwanted   = 64  // uses of other rooms after which a room is forgotten
	blockBytes = 512 // of stat's blocks
)

// lendMemory returns a file's memory, or nil if it is not mapped, and a function to call when
// nothing writes to it any more. It maps only files that are sealed against shrinking:
// otherwise a write could raise a signal here.
//
// The client may have locked the file's opening: nothing else then uses this memory until the
// make has closed it, however that ends. A mapping of this opening would keep the lock.
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
		if stat.Blocks*blockBytes < size {
			return nil, func() {}
		}
		memory, err := mapAnew(fd, int(size))
		if err != nil {
			return nil, func() {}
		}
		if r.seen == nil {
			r.seen = map[roomID]*mapping{}
		}
		known = &mapping{memory: memory}
		r.seen[id] = known
	}
	known.last = r.uses
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

// mapAnew maps a file through an opening of its own.
func mapAnew(fd, size int) ([]byte, error) {
	own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(own) }()
	return unix.Mmap(own, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// forget unmaps unused rooms for which the predicate is true.
func (r *rooms) forget(not func(*mapping) bool) {
	for id, m := range r.seen {
		if m.lent > 0 || !not(m) {
			continue
		}
		_ = unix.Munmap(m.memory)
		delete(r.seen, id)
	}
}

// unmapAll unmaps all rooms. Nothing may write to them any more.
func (r *rooms) unmapAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(func(*mapping) bool { return true })
}
