package inflate

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded returns size bytes between two inaccessible pages, adjacent to the second or to the
// first.
func guarded(t *testing.T, size int, atEnd bool) []byte {
	t.Helper()
	page := unix.Getpagesize()
	room := (size + page - 1) / page * page
	all, err := unix.Mmap(-1, 0, room+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+room:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	if atEnd {
		return all[page+room-size : page+room : page+room]
	}
	return all[page : page+size : page+size]
}

// TestGuards: for any stream, nothing outside the stream, the output and the tables is read or
// written. Each of them is between inaccessible pages.
func TestGuards(t *testing.T) {
	const most = 40_000
	r := rand.New(rand.NewPCG(12, 13))
	all, kinds := contents(), packers()
	for _, atEnd := range []bool{true, false} {
		u := (*Unpacker)(unsafe.Pointer(&guarded(t, int(unsafe.Sizeof(Unpacker{})), atEnd)[0]))
		data, room := guarded(t, 2*most, atEnd), guarded(t, most, atEnd)
		place := func(all []byte, n int) []byte {
			if atEnd {
				return all[len(all)-n:]
			}
			return all[:n]
		}
		for _, how := range []string{"Go -2", "Go 0", "Go 1", "Go 6", "klauspost 1"} {
			for name, content := range all {
				content = content[:min(len(content), most)]
				whole := pack(kinds[how], content)
				stream, to := place(data, len(whole)), place(room, len(content))
				copy(stream, whole)
				if err := u.Unpack(to, stream); err != nil || !bytes.Equal(to, content) {
					t.Fatalf("%s by %s: %v", name, how, err)
				}
				for range 60 { // any end may come
					for range 1 + r.IntN(3) {
						stream[2+r.IntN(len(stream)-2)] = byte(r.Uint32())
					}
					u.Unpack(place(room, r.IntN(most)), stream)
					cut := place(data, r.IntN(len(whole)))
					copy(cut, whole)
					u.Unpack(to, cut)
					copy(stream, whole)
				}
			}
		}
	}
}
