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

// ready allocates the pages of a part of mapped memory: at once, which costs less than
// a fault for each when it is written to. Where the kernel cannot, they come then.
func ready(memory []byte, from, size int) {
	from -= from % os.Getpagesize()
	_ = unix.Madvise(memory[from:][:min(size+os.Getpagesize(), len(memory)-from)], unix.MADV_POPULATE_WRITE)
}

func unmap(memory []byte) { _ = unix.Munmap(memory) }
