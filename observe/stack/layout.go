package stack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// layout holds the offsets, in bytes, of fields that are read from the memory of one version of CPython.
type layout struct {
	minor uint64 // of the version, 3.minor

	interpreters               uint64 // in the runtime: the first interpreter
	nextInterpreter, threads   uint64 // in an interpreter
	nextThread, native, thread uint64 // in a thread's state; native: the kernel's number, none before 3.11
	frame                      uint64 // in a thread's state, or behind the pointer there
	through                    uint64 // in a thread's state, if frame is behind a pointer; else 0

	previous, code, instruction, owner uint64 // in a frame; no owner before 3.11

	file, name, table, firstLine, bytecode uint64 // in a code object

	bytesSize, bytesValue, textLength, textValue uint64
}

// The same in all versions if the interpreter lock is built in.
const (
	objectType = 8
	typeName   = 24
)

// layouts are of the versions that carry no table: the offsets in their
// headers, the same on all 64-bit processors and in all releases of a version.
// Checked against interpreters by TestStacks.
var layouts = map[uint64]layout{
	10: {
		minor: 10, interpreters: 32, nextInterpreter: 0, threads: 8, nextThread: 8, thread: 176, frame: 24,
		previous: 24, code: 32, instruction: 96, file: 104, name: 112, table: 120, firstLine: 40,
		bytesSize: 16, bytesValue: 32, textLength: 16, textValue: 48,
	},
	11: {
		minor: 11, interpreters: 40, nextInterpreter: 0, threads: 16, nextThread: 8, thread: 152, native: 160,
		through: 56, frame: 8,
		previous: 48, code: 32, instruction: 56, owner: 69, file: 112, name: 128, table: 136, firstLine: 72,
		bytecode:  184,
		bytesSize: 16, bytesValue: 32, textLength: 16, textValue: 48,
	},
	12: {
		minor: 12, interpreters: 40, nextInterpreter: 0, threads: 72, nextThread: 8, thread: 136, native: 144,
		through: 56, frame: 0,
		previous: 8, code: 0, instruction: 56, owner: 70, file: 112, name: 128, table: 136, firstLine: 68,
		bytecode:  192,
		bytesSize: 16, bytesValue: 32, textLength: 16, textValue: 40,
	},
}

// The groups of CPython's own table (_Py_DebugOffsets), in order. Each begins with the
// size of the described structure.
const (
	inRuntime = iota
	inInterpreter
	inThread
	inFrame
	inCode
	inObject
	inType
	inTuple
	inList
	inSet
	inDict
	inFloat
	inLong
	inBytes
	inText
	tableGroups
)

// tables are how many words each group has, by version.
var tables = map[uint64][tableGroups]int{
	13: {3, 13, 9, 6, 10, 2, 4, 3, 3, 0, 3, 2, 3, 3, 4},
	14: {3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4},
	// a group behind that of threads and one behind that of types count with them
	15: {3, 16, 17, 8, 11, 2, 8, 3, 3, 4, 3, 2, 3, 3, 5},
}

const (
	cookie    = "xdebugpy"
	tableHead = 24      // bytes: cookie, version, whether the interpreter has no lock
	tableSize = 8 * 96  // bytes, at least as long as any
	farthest  = 1 << 20 // bytes: no field is farther
)

// errUnknown says that a Python is of a kind that is not read.
var errUnknown = errors.New("stacks are read of CPython 3.10 to 3.15")

// ownLayout reads the table at the start of a newer CPython's runtime; false if it is missing.
func ownLayout(runtime []byte) (l layout, has bool, err error) {
	if len(runtime) < tableSize || string(runtime[:len(cookie)]) != cookie {
		return l, false, nil
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(runtime[8*i:]) }
	minor := word(1) >> 16 & 0xff
	sizes, known := tables[minor]
	switch {
	case word(1)>>24 != 3 || !known:
		return l, true, fmt.Errorf("%w, and this is %d.%d", errUnknown, word(1)>>24, minor)
	case word(2) != 0:
		return l, true, fmt.Errorf("%w with an interpreter lock, and this has none", errUnknown)
	}
	var at [tableGroups]int
	next := tableHead / 8
	for group, size := range sizes {
		at[group] = next
		next += size
	}
	for i := tableHead / 8; i < next; i++ {
		if word(i) > farthest && i != at[inRuntime] && i != at[inInterpreter] { // those two are sizes of large things
			return l, true, fmt.Errorf("%w: its table of offsets makes no sense", errUnknown)
		}
	}
	in := func(group, field int) uint64 { return word(at[group] + field) }
	number := 5
	if minor >= 15 { // three more fields stand before it
		number = 8
	}
	return layout{
		minor: minor, interpreters: in(inRuntime, 2), nextInterpreter: in(inInterpreter, 2),
		threads:    in(inInterpreter, 3),
		nextThread: in(inThread, 2), frame: in(inThread, 4), thread: in(inThread, number),
		native:   in(inThread, number+1),
		previous: in(inFrame, 1), code: in(inFrame, 2), instruction: in(inFrame, 3), owner: in(inFrame, 5),
		file: in(inCode, 1), name: in(inCode, 3), table: in(inCode, 4), firstLine: in(inCode, 5),
		bytecode:  in(inCode, 9),
		bytesSize: in(inBytes, 1), bytesValue: in(inBytes, 2), textLength: in(inText, 2), textValue: in(inText, 3),
	}, true, nil
}
