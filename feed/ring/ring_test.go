//go:build linux

package ring

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/internal/cgroup"
)

func open(t testing.TB, slots, slotBytes int) *Ring {
	t.Helper()
	r, err := New(slots, slotBytes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOneRound(t *testing.T) {
	r := open(t, 2, 5000)
	if r.SlotBytes() != 8192 || r.Bytes() != 16384 || len(r.SlotMemory(1)) != 8192 {
		t.Fatalf("slots of %d, ring of %d bytes", r.SlotBytes(), r.Bytes())
	}
	a, ok := r.Take()
	b, ok2 := r.Take()
	if _, third := r.Take(); !ok || !ok2 || third || a == b {
		t.Fatalf("took %d %v, %d %v, and a third: %v", a, ok, b, ok2, third)
	}
	for _, step := range []func(int) error{r.MarkFilled, r.Loan, r.Release} {
		if err := step(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "being filled") {
		t.Fatalf("closed while slot %d was being filled: %v", b, err)
	}
	if err := r.Drop(b); err != nil {
		t.Fatal(err)
	}
	if got := r.CountSlots(); got != (Counts{Free: 2}) {
		t.Fatalf("%+v", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRandomMoves compares with a model: only the transitions of the package comment succeed,
// for random sequences.
func TestRandomMoves(t *testing.T) {
	const slots = 3
	r := open(t, slots, 1)
	defer r.Close()
	model := make([]state, slots)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 20_000 {
		slot := random.IntN(slots+2) - 1
		from, to := loaned, free
		move := r.Release
		switch random.IntN(5) {
		case 0:
			taken, ok := r.Take()
			lowest := -1
			for i := slots - 1; i >= 0; i-- {
				if model[i] == free {
					lowest = i
				}
			}
			if ok != (lowest >= 0) || ok && taken != lowest {
				t.Fatalf("move %d: took %d %v, expected %d", n, taken, ok, lowest)
			}
			if ok {
				model[taken] = filling
			}
			continue
		case 1:
			from, to, move = filling, ready, r.MarkFilled
		case 2:
			from, to, move = ready, loaned, r.Loan
		case 3:
			to, move = free, r.Drop
			if slot >= 0 && slot < slots && (model[slot] == filling || model[slot] == ready) {
				from = model[slot]
			} else {
				from = filling
			}
		}
		allowed := slot >= 0 && slot < slots && model[slot] == from
		if err := move(slot); (err == nil) != allowed {
			t.Fatalf("move %d: slot %d of %v: %v", n, slot, model, err)
		}
		if allowed {
			model[slot] = to
		}
	}
	for slot := range slots {
		if r.Drop(slot) != nil {
			_ = r.Release(slot)
		}
	}
}

// TestOtherEnd does what a client does, and what a hostile one would.
func TestOtherEnd(t *testing.T) {
	r := open(t, 2, 4096)
	defer r.Close()
	fd := int(r.File().Fd())
	theirs, err := unix.Mmap(fd, 0, r.Bytes(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(theirs)
	r.SlotMemory(1)[3] = 42
	if theirs[4096+3] != 42 {
		t.Error("a byte written here is not seen there")
	}
	for size, name := range map[int64]string{0: "shrink", 4096: "halve", 1 << 20: "grow"} {
		if unix.Ftruncate(fd, size) == nil {
			t.Errorf("the other end can %s the ring", name)
		}
	}
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096); err == nil {
		r.SlotMemory(0)[0] = 1 // a hole is filled again on touch: no SIGBUS
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err == nil {
		t.Error("the other end can seal the ring against writing")
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ slots, bytes int }{{0, 1}, {maxSlots + 1, 1}, {1, 0}, {1, -1}, {1, 1 << 60}} {
		if _, err := New(c.slots, c.bytes); err == nil {
			t.Errorf("New(%d, %d) was accepted", c.slots, c.bytes)
		}
	}
	if free, _ := cgroup.FreeMemory(os.DirFS("/"), "self"); free > 0 && free < 1<<44 { // else there is really so much, or nobody knows
		if _, err := New(maxSlots, 1<<36); err == nil || !strings.Contains(err.Error(), "lower depth or batch") {
			t.Errorf("a ring of 16 TiB: %v", err)
		}
	}
}

func BenchmarkFirstTouch(b *testing.B) {
	const bytes = 38_535_168 // a batch of 64 of 3 x 224 x 224 float32
	for b.Loop() {
		r := open(b, 4, bytes)
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(4 * bytes)
}
