package serve

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapSealed maps memory that cannot shrink under whoever writes to it.
func mapSealed(file *os.File) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	seals, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 || info.Size() < 1 || info.Size() > maxDrawn {
		return nil, fmt.Errorf("memory of %d bytes that is no memfd with a seal against shrinking", info.Size())
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the memory for pictures: %w", err)
	}
	return memory, nil
}

func unmap(memory []byte) { _ = unix.Munmap(memory) }
