package stack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on what a process can make us follow and keep.
const (
	mostFrames       = 512
	mostThreads      = 1024
	mostInterpreters = 16
	mostCode         = 4096 // code objects of one process,
	mostCodeBytes    = 4 << 20
	tries            = 4 // at a stack that changes while it is read
)

// place is the position of a thread in one function.
type place struct {
	code *code
	line int
}

// code describes a code object.
type code struct {
	identity
	file, name string
	table      []byte
	part       part
}

// identity tells whether a code object is still the one that was read: memory is used
// again.
type identity struct {
	fileAt, nameAt, tableAt uint64
	first                   int
}

// python is one interpreter, read through any reader of its memory.
type python struct {
	layout
	*memory
	from     reader
	begins   uint64 // the interpreter
	state    uint64 // of the thread that is looked at
	number   uint64 // the thread's, as its state has it
	codeType uint64
	codes    map[uint64]*code
	kept     int // bytes of them
	places   []place
}

// attach finds the state of a thread. native is its number as the process itself sees
// it; main says that it is the process's first, which is known without a number.
func attach(m *memory, read reader, runtime uint64, l layout, native int, main bool) (*python, error) {
	p := &python{layout: l, memory: m, from: read, codes: map[uint64]*code{}}
	p.begin(read)
	interpreter, err := p.readWord(runtime + l.interpreters)
	for n := 0; err == nil && interpreter != 0 && n < mostInterpreters; n++ {
		if err = p.find(interpreter, uint64(native), main); err != nil || p.state != 0 {
			return p, err
		}
		interpreter, err = p.readWord(interpreter + l.nextInterpreter)
	}
	if err == nil {
		err = fmt.Errorf("its interpreter does not know the thread %d", native)
	}
	return nil, err
}

// find finds the thread in an interpreter's list. The first thread is the last of the list.
func (p *python) find(interpreter, native uint64, main bool) error {
	state, err := p.readWord(interpreter + p.threads)
	for n := 0; err == nil && state != 0 && n < mostThreads; n++ {
		var number, next uint64
		if number, err = p.readWord(state + p.numberAt()); err != nil {
			return err
		}
		if next, err = p.readWord(state + p.nextThread); err != nil {
			return err
		}
		if p.native != 0 && number == native || p.native == 0 && main && next == 0 {
			p.begins, p.state, p.number = interpreter, state, number
			return nil
		}
		state = next
	}
	return err
}

// numberAt returns the offset of a thread's number in its state.
func (p *python) numberAt() uint64 {
	if p.native != 0 {
		return p.native
	}
	return p.thread
}

// readStack returns the thread's places, innermost first. They are valid until the next look.
func (p *python) readStack() (found []place, err error) {
	for range tries {
		p.begin(p.from)
		if found, err = p.look(); err == nil || errors.Is(err, errMuch) {
			return found, err
		}
	}
	return nil, err
}

// readBeside returns the places of another thread that runs Python, the innermost first: of the first one for whose
// number runs holds. It returns none where threads have no such numbers.
func (p *python) readBeside(runs func(native int) bool) ([]place, error) {
	if p.native == 0 {
		return nil, nil
	}
	own, number := p.state, p.number
	defer func() { p.state, p.number = own, number }()
	p.begin(p.from)
	state, err := p.readWord(p.begins + p.threads)
	for n := 0; err == nil && state != 0 && n < mostThreads; n++ {
		var next uint64
		if next, err = p.readWord(state + p.nextThread); err != nil {
			return nil, err
		}
		if p.number, err = p.readWord(state + p.native); err != nil {
			return nil, err
		}
		if p.state = state; state != own && runs(int(p.number)) {
			if found, err := p.readStack(); err != nil || len(found) > 0 {
				return found, err
			}
		}
		state = next
	}
	return nil, err
}

func (p *python) look() ([]place, error) {
	number, err := p.readWord(p.state + p.numberAt())
	if err != nil {
		return nil, err
	}
	if number != p.number {
		return nil, errTorn // the thread has ended, and its memory is another's
	}
	from := p.state
	if p.through != 0 {
		if from, err = p.readWord(p.state + p.through); err != nil {
			return nil, err
		}
	}
	frame, err := p.readWord(from + p.frame)
	p.places = p.places[:0]
	for err == nil && frame != 0 {
		if len(p.places) == mostFrames {
			return nil, errMuch
		}
		frame, err = p.addFrame(frame)
	}
	return p.places, err
}

// addFrame adds a frame and returns the one that called it. Frames that are the
// interpreter's own count as well, so that a circle ends.
func (p *python) addFrame(frame uint64) (previous uint64, err error) {
	if previous, err = p.readWord(frame + p.previous); err != nil {
		return 0, err
	}
	at, err := p.readWord(frame + p.code)
	if err != nil {
		return 0, err
	}
	if p.owner != 0 {
		var owner [1]byte
		if err = p.get(frame+p.owner, owner[:]); err != nil {
			return 0, err
		}
		if owner[0] > 4 {
			return 0, errTorn
		}
		if owner[0] >= 3 { // the interpreter's entry from C
			p.places = append(p.places, place{})
			return previous, nil
		}
	}
	at &^= 7 // marks of 3.14
	c, err := p.codeAt(at)
	if err != nil {
		return 0, err
	}
	unit, err := p.instructionIndex(frame, at)
	if err != nil {
		return 0, err
	}
	line, units := c.lineOf(unit, p.minor)
	if unit < -1 || unit > units { // the next instruction may be behind the last
		return 0, errTorn
	}
	p.places = append(p.places, place{c, line})
	return previous, nil
}

// instructionIndex returns which instruction of its code a frame is at.
func (p *python) instructionIndex(frame, code uint64) (int, error) {
	if p.minor < 11 {
		return p.readInt(frame + p.instruction)
	}
	instruction, err := p.readWord(frame + p.instruction)
	return int(int64(instruction-(code+p.bytecode)) / 2), err
}

// codeAt returns the code object at an address: as known, if it is the same one still.
func (p *python) codeAt(at uint64) (*code, error) {
	now, err := p.identify(at)
	if err != nil {
		return nil, err
	}
	if known := p.codes[at]; known != nil && known.identity == now {
		return known, nil
	}
	c := &code{identity: now}
	if c.file, err = p.readText(now.fileAt); err != nil {
		return nil, err
	}
	if c.name, err = p.readText(now.nameAt); err != nil {
		return nil, err
	}
	if c.table, err = p.bytes(now.tableAt); err != nil {
		return nil, err
	}
	if c.file == "" || c.name == "" || now.first < 0 {
		return nil, errTorn
	}
	c.file, c.part = partOf(c.file, c.name)
	if p.kept += len(c.file) + len(c.name) + len(c.table); len(p.codes) >= mostCode || p.kept > mostCodeBytes {
		clear(p.codes)
		p.kept = 0
	}
	p.codes[at] = c
	return c, nil
}

// identify reads the head of what must be a code object.
func (p *python) identify(at uint64) (now identity, err error) {
	kind, err := p.readWord(at + objectType)
	if err != nil {
		return now, err
	}
	if kind != p.codeType {
		if err = p.checkType(kind); err != nil {
			return now, err
		}
	}
	if now.fileAt, err = p.readWord(at + p.file); err != nil {
		return now, err
	}
	if now.nameAt, err = p.readWord(at + p.name); err != nil {
		return now, err
	}
	if now.tableAt, err = p.readWord(at + p.table); err != nil {
		return now, err
	}
	now.first, err = p.readInt(at + p.firstLine)
	return now, err
}

// checkType learns the type of code objects. There is only one.
func (p *python) checkType(kind uint64) error {
	if p.codeType != 0 {
		return errTorn
	}
	name, err := p.readWord(kind + typeName)
	if err != nil {
		return err
	}
	var text [5]byte
	if err = p.get(name, text[:]); err != nil {
		return err
	}
	if string(text[:]) != "code\x00" {
		return errTorn
	}
	p.codeType = kind
	return nil
}

func (p *python) bytes(at uint64) ([]byte, error) {
	n, err := p.readWord(at + p.bytesSize)
	if err != nil {
		return nil, err
	}
	if n > mostLine {
		return nil, errTorn
	}
	if err = p.spend(int(n)); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, p.get(at+p.bytesValue, b)
}

// readText reads a str. One that is all ASCII begins right behind its head, others behind
// two or three more words, with 1, 2 or 4 bytes a character.
func (p *python) readText(at uint64) (string, error) {
	n, err := p.readWord(at + p.textLength)
	if err != nil {
		return "", err
	}
	if n == 0 || n > mostText {
		return "", errTorn
	}
	b := make([]byte, n)
	if err = p.get(at+p.textValue, b); err != nil {
		return "", err
	}
	if text := string(b); ascii(text) {
		return text, nil
	}
	state, err := p.readWord(at + p.textLength + 16)
	if err != nil {
		return "", err
	}
	width := int(state >> 2 & 7)
	if width != 1 && width != 2 && width != 4 {
		return "", errTorn
	}
	at += p.textValue + 16
	if p.minor < 12 {
		at += 8
	}
	return p.wide(at, int(n), width)
}

func (p *python) wide(at uint64, n, width int) (string, error) {
	b := make([]byte, n*width)
	if err := p.get(at, b); err != nil {
		return "", err
	}
	var text strings.Builder
	for i := range n {
		var word [4]byte
		copy(word[:], b[i*width:(i+1)*width])
		r := rune(binary.LittleEndian.Uint32(word[:]))
		if r < ' ' || !utf8.ValidRune(r) {
			return "", errTorn
		}
		text.WriteRune(r)
	}
	return text.String(), nil
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
