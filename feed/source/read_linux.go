package source

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// File is an open file of a data set. It holds a descriptor instead of an os.File, which would
// need an allocation, a finaliser and an epoll registration per sample.
type File struct {
	Size int64
	fd   int
	last bool // it uses the descriptor of the reserve
	shardPart
}

// openBelow opens a path below the root for reading. It does not block on a pipe. An urgent
// call may use the reserve if no descriptor is left.
func (f *Folder) openBelow(path string, urgent bool) (File, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	var fd int
	var last bool
	var err error
	// Control keeps the root open meanwhile. Without it, the loader could be closed while a
	// thread hangs here, and the descriptor could be reused for another file.
	closed := f.conn.Control(func(root uintptr) {
		err = untilUninterrupted(func() (err error) {
			fd, err = unix.Openat(int(root), path, flags, 0)
			if urgent && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && reserve.spendOne() {
				fd, err = unix.Openat(int(root), path, flags, 0)
				last = err == nil
			}
			return err
		})
	})
	if err := cmp.Or(closed, err); err != nil {
		return File{}, err
	}
	file := File{fd: fd, last: last}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNoFile
	}
	if err != nil {
		file.Close()
		return File{}, err
	}
	file.Size = stat.Size
	return file, nil
}

// reserve is a spare descriptor, closed when no other is left, so that one file at a time can
// still be read.
var reserve descriptorReserve

type descriptorReserve struct {
	mu    sync.Mutex
	base  int  // an eventfd, of which the spare is a copy
	at    int  // the spare
	whole bool // the spare is open
}

// fillReserve opens the spare descriptor if possible.
func (r *descriptorReserve) fillReserve() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole {
		return
	}
	if r.base == 0 {
		base, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			return
		}
		r.base = base
	}
	var err error
	r.at, err = unix.FcntlInt(uintptr(r.base), unix.F_DUPFD_CLOEXEC, 0)
	r.whole = err == nil
}

// spendOne closes the spare. It returns false if another thread uses it, which returns it after
// reading its file.
func (r *descriptorReserve) spendOne() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.whole {
		return false
	}
	r.whole = false
	_ = unix.Close(r.at)
	return true
}

// refill replaces a file's descriptor by the spare, in one step, so that no other thread takes
// it.
func (r *descriptorReserve) refill(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if unix.Dup3(r.base, fd, unix.O_CLOEXEC) != nil {
		_ = unix.Close(fd)
		return
	}
	r.at, r.whole = fd, true
}

// inMemory returns a file in memory twice: one handle to write to it and one to read it.
func inMemory(size int64) (*os.File, File, error) {
	fd, err := unix.MemfdCreate("stoker-object", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, File{}, fmt.Errorf("make a memfd: %w", err)
	}
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(fd)
		return nil, File{}, fmt.Errorf("make a memfd: %w", err)
	}
	return os.NewFile(uintptr(other), "memfd:stoker-object"), File{Size: size, fd: fd}, nil
}

// networks are file systems that use a network, or a process that may use one. EIO from them
// says nothing about the file.
var networks = []int64{
	unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
	unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC,
	unix.FUSE_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC,
	0x0bd00bd0, // Lustre
	0x47504653, // GPFS
	0x19830326, // BeeGFS
}

// remote reports whether the first of the paths that can be examined is on network storage.
func remote(paths ...string) bool {
	for _, path := range paths {
		var stat unix.Statfs_t
		if untilUninterrupted(func() error { return unix.Statfs(path, &stat) }) == nil {
			return slices.Contains(networks, int64(stat.Type)&0xffffffff)
		}
	}
	return false
}

func (f *File) readAt(buffer []byte, offset int64) (n int, err error) {
	err = untilUninterrupted(func() (err error) {
		n, err = unix.Pread(f.fd, buffer, offset)
		return err
	})
	return max(n, 0), err
}

// Announce asks the kernel to fetch the file of sample i into the page cache, without waiting
// for its bytes. An error is left to the reader to find.
func (f *Folder) Announce(i int) {
	if f.bucket != nil {
		f.fetchAhead(i)
		return
	}
	open := func() (File, error) { return f.openBelow(f.Below(i), false) }
	if f.pack != nil {
		open = func() (File, error) { return f.openPacked(i, false) }
	}
	file, err := open()
	if err != nil {
		return
	}
	defer file.Close()
	_ = unix.Fadvise(file.fd, file.at, min(file.Size, f.maxFile), unix.FADV_WILLNEED)
}

// Close closes the file.
func (f *File) Close() {
	if f.last {
		reserve.refill(f.fd)
		return
	}
	_ = unix.Close(f.fd) // nothing was written that could be lost
}

// untilUninterrupted repeats a system call until no signal interrupts it. On network storage,
// Go's own preemption signals interrupt calls.
func untilUninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
