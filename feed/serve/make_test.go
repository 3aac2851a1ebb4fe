//go:build linux

package serve

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	decoder "github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/picture"
)

const program = `"mode":"RGB","size":[40,30],"ops":[["crop",3,4,35,28],["resize",16,12,2,null],["transpose",0],["pil_to_tensor"]]`

// photograph is a JPEG of 40 x 30 pixels.
func photograph(t *testing.T) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for y := range 30 {
		for x := range 40 {
			picture.Set(x, y, color.RGBA{uint8(6 * x), uint8(8 * y), uint8(x * y), 255})
		}
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, picture, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// room is a memfd, mapped.
func room(t *testing.T, size int) (fd int, memory []byte) {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == nil {
		err = unix.Ftruncate(fd, int64(size))
	}
	if err == nil {
		memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Munmap(memory), unix.Close(fd) })
	return fd, memory
}

// ask sends a make: the text behind the file.
func (c *client) ask(t *testing.T, file []byte, text string, to int) {
	t.Helper()
	from, err := memfd("test", append(bytes.Clone(file), text...))
	if err != nil {
		t.Fatal(err)
	}
	defer closeDescriptor(from)
	packet, _ := json.Marshal(fields{"type": "make", "n": 7, "at": len(file), "bytes": len(text)})
	if err := sendWaiting(c.conn, packet, from, to); err != nil {
		t.Fatal(err)
	}
}

func TestMake(t *testing.T) {
	s := start(t, Options{Threads: 2})
	file := photograph(t)
	p, err := picture.Parse([]byte("{" + program + "}"))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, p.Output.Bytes())
	if err := picture.NewWorker(decoder.Limits{Pixels: 1 << 20}).Run(p, picture.Source{File: file}, want); err != nil {
		t.Fatal(err)
	}
	var bits []byte
	for band := range 3 {
		for v := range 256 {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(float32(v)/3+float32(band)))
		}
	}
	table, _ := json.Marshal(tableText{"float32", bits})
	whole, _ := json.Marshal([2]int{0, len(file)})
	cut, _ := json.Marshal([2]int{0, len(file) / 2})
	beyond, _ := json.Marshal([2]int{len(file), 1 << 20})
	text := strings.NewReplacer("TABLE", string(table), "WHOLE", string(whole), "CUT", string(cut), "BEYOND", string(beyond), "PROGRAM", program).Replace(
		`{"tables":[TABLE],"pictures":[{PROGRAM,"file":WHOLE,"to":64},{PROGRAM,"file":WHOLE,"to":4096,"table":0},{PROGRAM,"file":CUT,"to":1024},
		{"mode":"RGB","size":[40,30],"ops":[["effect_spread",3]],"file":WHOLE,"to":0},{PROGRAM,"file":BEYOND,"to":1024}]}`)
	fd, memory := room(t, 1<<14)
	for _, seals := range []int{0, unix.F_SEAL_SHRINK, 0, 0} { // written, written, mapped, mapped
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			t.Fatal(err)
		}
		clear(memory)
		s.ask(t, file, text, fd)
		checkMade(t, s, memory, want)
	}
	s.close()
	s.over(t)
}

// checkMade holds what was made against what feed/picture gives.
func checkMade(t *testing.T, s *started, memory, want []byte) {
	t.Helper()
	a, err := s.expect("made")
	if err != nil {
		t.Fatal(err)
	}
	if a.N != 7 || len(a.Failed) != 3 || a.Failed[0].Index != 3 || !strings.Contains(a.Failed[0].Why, "effect_spread") {
		t.Errorf("made: %+v", a)
	}
	if !bytes.Equal(memory[64:64+len(want)], want) {
		t.Error("other bytes than feed/picture gives")
	}
	for i, v := range want {
		got := math.Float32frombits(binary.LittleEndian.Uint32(memory[4096+4*i:]))
		if number := float32(v)/3 + float32(i/(16*12)); got != number {
			t.Fatalf("place %d: %v of the table, want %v", i, got, number)
		}
	}
}

// TestRooms: memory that cannot shrink is mapped once it has pages, and unmapped when it is no
// longer used.
func TestRooms(t *testing.T) {
	var r rooms
	defer r.unmapAll()
	sealed := func() *os.File {
		fd, _ := room(t, 4096)
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
			t.Fatal(err)
		}
		twice, err := unix.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(twice), "room")
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	written := func() *os.File {
		file := sealed()
		if _, err := file.WriteAt(make([]byte, 4096), 0); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := written()
	lend := func(file *os.File, size int64) []byte {
		memory, back := r.lendMemory(file, size)
		back()
		return memory
	}
	if lend(sealed(), 4096) != nil || len(lend(first, 4096)) != 4096 || lend(first, 8192) != nil {
		t.Error("mapped without pages, or not with them, or where it has grown")
	}
	_, back := r.lendMemory(first, 4096)
	other := written()
	for range unwanted + 1 {
		lend(other, 4096)
	}
	if len(r.seen) != 2 {
		t.Errorf("%d rooms, one of which is written to", len(r.seen))
	}
	back()
	lend(other, 4096)
	if len(r.seen) != 1 {
		t.Errorf("%d rooms, of which one is wanted", len(r.seen))
	}
}

// TestRoomsKeepNoLock: a client's lock on memory ends once a make has closed it, though it stays
// mapped.
func TestRoomsKeepNoLock(t *testing.T) {
	var r rooms
	defer r.unmapAll()
	fd, memory := room(t, 4096)
	memory[0] = 1
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	reopen := func() *os.File {
		file, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	lock := func(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	loan, next := reopen(), reopen()
	if err := lock(loan); err != nil {
		t.Fatal(err)
	}
	mapped, back := r.lendMemory(loan, 4096)
	if len(mapped) != 4096 || lock(next) == nil {
		t.Fatal("not mapped, or lent twice")
	}
	back()
	_ = loan.Close()
	if err := lock(next); err != nil || len(r.seen) != 1 {
		t.Errorf("%d rooms are mapped, and locking one that is closed: %v", len(r.seen), err)
	}
}

// TestMakeRefusals: what no client sends ends the connection, and the daemon.
func TestMakeRefusals(t *testing.T) {
	file := photograph(t)
	for _, c := range []struct {
		text, want string
	}{
		{`{"pictures":[`, "cannot read"},
		{`{"pictures":[],"other":1}`, "cannot read"},
		{`{"pictures":[{` + program + `,"file":[0,99],"to":4000}]}`, "at 4000 of 4096"},
		{`{"pictures":[{` + program + `,"file":[0,99],"to":-1}]}`, "at -1 of 4096"},
		{`{"pictures":[{` + program + `,"file":[-9,99],"to":0}]}`, "99 bytes at -9"},
		{`{"pictures":[{` + program + `,"file":[0,99],"to":0,"table":0}]}`, "table 0 of 0"},
		{`{"tables":[{"dtype":"float32","bits":"AAAA"}],"pictures":[]}`, "a table of 3 bytes"},
		{`{"pictures":[{"mode":"RGB","size":[0,1],"ops":[],"file":[0,99],"to":0}]}`, "a width and a height"},
	} {
		s := start(t, Options{Threads: 1})
		fd, _ := room(t, 4096)
		s.ask(t, file, c.text, fd)
		if a, err := s.expect("error"); err != nil || !a.Fatal || !strings.Contains(a.Text, c.want) {
			t.Errorf("%s: %v, %q, want %q", c.text, err, a.Text, c.want)
		}
		s.close()
		s.over(t)
	}
	s := start(t, Options{Threads: 1})
	if err := s.send(fields{"type": "make", "n": 1, "bytes": 5}); err != nil {
		t.Fatal(err)
	}
	if a, err := s.expect("error"); err != nil || !strings.Contains(a.Text, "without a file") {
		t.Errorf("%v, %q", err, a.Text)
	}
}
