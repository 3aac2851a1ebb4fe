package ring

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/cgroup"
)

// reserve creates and maps a memfd. A memfd has no name that could collide or stay behind, is
// not limited by the size of /dev/shm, and is freed with its last descriptor. Its pages are
// allocated before anything is written (fallocate), and seals keep a client from shrinking it.
// Otherwise an access here could raise SIGBUS.
func reserve(bytes int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("stoker-ring", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("make a memfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "memfd:stoker-ring")
	memory, err := fitMemory(fd, bytes)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, memory, nil
}

func fitMemory(fd, bytes int) ([]byte, error) {
	// fallocate beyond the limit calls the OOM killer, which may kill any process, before it
	// returns an error
	if free, who := cgroup.FreeMemory(os.DirFS("/"), "self"); free > 0 && int64(bytes) > free {
		return nil, fmt.Errorf("%s: lower depth or batch", who)
	}
	if err := unix.Ftruncate(fd, int64(bytes)); err != nil {
		return nil, fmt.Errorf("set its size: %w", err)
	}
	if err := allocate(fd, bytes); errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) {
		return nil, fmt.Errorf("the machine has no %.1f MB of memory to spare: lower depth or batch: %w",
			float64(bytes)/1e6, err)
	} else if err != nil {
		return nil, fmt.Errorf("allocate it: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
		unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("seal it: %w", err)
	}
	memory, err := unix.Mmap(fd, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map it: %w", err)
	}
	return memory, nil
}

// allocate calls fallocate in parts: if a signal interrupts it, the kernel undoes the whole
// call, and Go's runtime sends signals all the time.
func allocate(fd, bytes int) error {
	const part = 64 << 20
	for at := 0; at < bytes; {
		n := min(part, bytes-at)
		err := unix.Fallocate(fd, 0, int64(at), int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

func unmap(memory []byte) error { return unix.Munmap(memory) }
