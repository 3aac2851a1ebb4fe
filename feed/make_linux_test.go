package feed

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed/picture"
)

// TestMakeFault: a picture whose memory is not there, shrinks under the kernels that write it, that has no
// room in the daemon's memory, or whose decoder panics fails alone: the others of that make are made, and
// those of the next.
func TestMakeFault(t *testing.T) {
	pool := newTestPool(t, 1)
	var file bytes.Buffer
	must(t, jpeg.Encode(&file, image.NewRGBA(image.Rect(0, 0, 400, 300)), nil))
	program, err := picture.Parse([]byte(`{"mode":"RGB","size":[400,300],"ops":[["resize",160,120,2,null],["pil_to_tensor"]]}`))
	must(t, err)
	size := program.Output.Bytes()
	forbidden, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	must(t, err)
	defer func() { must(t, unix.Munmap(forbidden)) }()
	fd, err := unix.MemfdCreate("shrinks", unix.MFD_CLOEXEC)
	must(t, err)
	must(t, unix.Ftruncate(fd, int64(size)))
	shrunk, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	must(t, unix.Ftruncate(fd, 0))
	must(t, unix.Close(fd))
	defer func() { must(t, unix.Munmap(shrunk)) }()
	read := func([]byte) ([]byte, error) { return file.Bytes(), nil }
	drawing := func(to []byte) Drawing { return Drawing{Program: program, Pixels: 400 * 300, Read: read, To: to} }
	large := drawing(make([]byte, size))
	large.Pixels = pool.budget.pixels + 1
	heavy := drawing(make([]byte, size))
	heavy.Bytes = int(pool.maxFile()) + 1
	panics := drawing(make([]byte, size))
	panics.Read = func([]byte) ([]byte, error) { panic("a fault in a decoder") }
	for range 2 {
		good := make([]byte, size)
		done := make(chan []error, 1)
		pool.Make([]Drawing{drawing(forbidden), panics, drawing(shrunk), large, heavy, drawing(good)}, func(errs []error, _ time.Duration) { done <- errs })
		for i, err := range await(t, done) {
			if failed := err != nil; failed != (i < 5) {
				t.Errorf("picture %d: %v", i, err)
			}
		}
	}
}
