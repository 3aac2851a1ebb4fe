package stack

import (
	"encoding/binary"
	"testing"
)

// fake is memory in which every address can be read: what lies there comes round again.
func fake(data []byte, reads *int) reader {
	return func(address uint64, into []byte) error {
		*reads += len(into)
		for n := 0; n < len(into); {
			n += copy(into[n:], data[(address+uint64(n))%uint64(len(data)):])
		}
		return nil
	}
}

// table is a runtime that begins with CPython's own table of offsets, each word of it
// a small number.
func table(minor uint64, data []byte) []byte {
	b := append([]byte(cookie), make([]byte, tableSize)...)
	binary.LittleEndian.PutUint64(b[8:], 3<<24|minor<<16)
	for i := 3; i < 96; i++ {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(data[i%len(data)])*8)
	}
	return b[:tableSize]
}

// FuzzStack looks at memory that holds anything: looking ends, after a bounded number
// of bytes and with a bounded stack, whatever leads where.
func FuzzStack(f *testing.F) {
	f.Add([]byte{0}, uint64(11))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, uint64(13))
	circle := make([]byte, 256) // every word is the address 64
	for i := 0; i < len(circle); i += 8 {
		circle[i] = 64
	}
	for minor := range uint64(6) {
		f.Add(circle, 10+minor)
	}
	f.Fuzz(func(t *testing.T, data []byte, version uint64) {
		if len(data) == 0 {
			return
		}
		version = 10 + version%6
		l, known := layouts[version]
		if !known {
			var err error
			if l, known, err = ownLayout(table(version, data)); err != nil || !known {
				t.Fatalf("a table of 3.%d is not read: %v", version, err)
			}
		}
		reads := 0
		read := fake(data, &reads)
		m := &memory{}
		p, err := attach(m, read, 0, l, int(data[0]), true)
		if reads > mostRead {
			t.Errorf("attaching read %d bytes", reads)
		}
		if err != nil {
			p = &python{layout: l, memory: m, from: read, codes: map[uint64]*code{}}
			p.begin(read)
			p.number, _ = p.readWord(p.numberAt())
		}
		p.codeType = 64 // otherwise next to nothing is a code object
		for range 3 {
			reads = 0
			places, _ := p.readStack()
			if reads > tries*mostRead || len(places) > mostFrames {
				t.Errorf("a look read %d bytes for %d places", reads, len(places))
			}
		}
	})
}

// FuzzLines: any table of lines ends.
func FuzzLines(f *testing.F) {
	f.Add([]byte{0xff, 0x7f, 0xf1, 1}, 3)
	f.Fuzz(func(_ *testing.T, table []byte, unit int) {
		c := code{table: table}
		c.lineOf(unit, 10)
		c.lineOf(unit, 13)
	})
}

// TestFreeThreaded: an interpreter without a lock and one of tomorrow are not read.
func TestFreeThreaded(t *testing.T) {
	b := table(13, []byte{1})
	if _, _, err := ownLayout(b); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(b[16:], 1)
	if _, _, err := ownLayout(b); err == nil {
		t.Error("without a lock it is read")
	}
	if _, _, err := ownLayout(table(16, []byte{1})); err == nil {
		t.Error("3.16 is read")
	}
	binary.LittleEndian.PutUint64(b[16:], 0)
	binary.LittleEndian.PutUint64(b[8*30:], 1<<40)
	if _, _, err := ownLayout(b); err == nil {
		t.Error("a field a terabyte away is read")
	}
}
