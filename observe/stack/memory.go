package stack

import (
	"encoding/binary"
	"errors"
)

// Limits of one look at a stack.
const (
	pageSize = 4096
	mostRead = mostFrames * pageSize // bytes: each frame may have its code on another page
	mostText = 1024                  // characters of a name
	mostLine = 1 << 16               // bytes of a table of lines
)

// errTorn says that what was read does not fit together: it changed meanwhile.
var errTorn = errors.New("the stack changed while it was read")

// errMuch says that a look would have to read more than it may.
var errMuch = errors.New("more would have to be read than one look may")

// reader fills a buffer from an address of a process.
type reader func(address uint64, into []byte) error

// memory is what one look reads: whole pages, each once. Frames are next to each other, so most
// of a stack is one copy, taken at one moment.
type memory struct {
	read  reader
	pages []page // only the first `used` count; the others are kept for the next look
	used  int
	spent int
	last  int // the page that was asked for last
	words [8]byte
}

type page struct {
	address uint64
	bytes   [pageSize]byte
}

// begin forgets what was read: it is old, or of another process.
func (m *memory) begin(read reader) { m.read, m.used, m.spent, m.last = read, 0, 0, 0 }

// spend counts bytes against the limit of a look.
func (m *memory) spend(n int) error {
	if m.spent += n; m.spent > mostRead {
		return errMuch
	}
	return nil
}

// readPage returns the page of an address.
func (m *memory) readPage(address uint64) (*page, error) {
	address &^= pageSize - 1
	for i := range m.used {
		if p := &m.pages[(m.last+i)%m.used]; p.address == address {
			m.last = (m.last + i) % m.used
			return p, nil
		}
	}
	if err := m.spend(pageSize); err != nil {
		return nil, err
	}
	if m.used == len(m.pages) {
		m.pages = append(m.pages, page{})
	}
	p := &m.pages[m.used]
	if err := m.read(address, p.bytes[:]); err != nil {
		return nil, err
	}
	p.address, m.last = address, m.used
	m.used++
	return p, nil
}

// get copies from an address.
func (m *memory) get(address uint64, into []byte) error {
	for len(into) > 0 {
		p, err := m.readPage(address)
		if err != nil {
			return err
		}
		n := copy(into, p.bytes[address%pageSize:])
		address, into = address+uint64(n), into[n:]
	}
	return nil
}

// readWord returns the pointer or number at an address.
func (m *memory) readWord(address uint64) (uint64, error) {
	err := m.get(address, m.words[:])
	return binary.LittleEndian.Uint64(m.words[:]), err
}

// readInt returns the C int at an address.
func (m *memory) readInt(address uint64) (int, error) {
	err := m.get(address, m.words[:4])
	return int(int32(binary.LittleEndian.Uint32(m.words[:]))), err
}
