package sqlite

import (
	"encoding/binary"
	"math"
)

// Row is one row of a scan. Its values are those of the columns that were asked
// for, in that order; they are valid until the next row.
type Row struct {
	ID int64 // the row's number

	values []value
	spare  []byte // payload that was put together from several pages
}

// value is one column: what it is and its number or bytes.
type value struct {
	kind kind
	n    int64 // of a number; the bits of a real
	text []byte
}

type kind uint8

const (
	null kind = iota
	integer
	real
	text
	blob
)

// Int is a whole number; false where the column is NULL, absent or something else.
func (r *Row) Int(i int) (int64, bool) {
	v := &r.values[i]
	if v.kind == real {
		f := math.Float64frombits(uint64(v.n))
		if n := int64(f); float64(n) == f && f < 1<<62 && f > -1<<62 {
			return n, true
		}
	}
	return v.n, v.kind == integer
}

// Float is a number; NaN where the column is NULL, absent or something else.
func (r *Row) Float(i int) float64 {
	switch v := &r.values[i]; v.kind {
	case integer:
		return float64(v.n)
	case real:
		return math.Float64frombits(uint64(v.n))
	case null, text, blob:
	}
	return math.NaN()
}

// Text is the bytes of a text; nil where the column is NULL, absent or something
// else. They may be no valid UTF-8.
func (r *Row) Text(i int) []byte {
	if v := &r.values[i]; v.kind == text {
		return v.text
	}
	return nil
}

// varint reads SQLite's number of one to nine bytes; n is 0 where b ends too
// early.
func varint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 8 {
		c := b[n]
		n++
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, n
		}
	}
	if n == 8 && len(b) > 8 {
		return v<<8 | uint64(b[8]), 9
	}
	return 0, 0
}

// sizes are the bytes of a value by its type, below 12.
var sizes = [12]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, -1, -1}

// size is how many bytes a value of a type takes, -1 where there is no such type.
func size(serial uint64) int {
	if serial < 12 {
		return sizes[serial]
	}
	if serial > math.MaxInt32 {
		return -1
	}
	return int(serial-12) / 2
}

// record reads the wanted columns of a record. want[c] is the place of column c in
// the row, -1 where nobody asked for it. It reports false where the record
// contradicts itself.
func (r *Row) record(b []byte, want []int32) bool {
	head, n := varint(b)
	if n == 0 || head < uint64(n) || head > uint64(len(b)) {
		return false
	}
	at := int(head) // of the value
	for c := 0; n < int(head); c++ {
		serial, used := uint64(b[n]), 1
		if serial >= 0x80 {
			if serial, used = varint(b[n:head]); used == 0 {
				return false
			}
		}
		n += used
		length := size(serial)
		if length < 0 || length > len(b)-at {
			return false
		}
		if c >= len(want) {
			break
		}
		if want[c] >= 0 {
			r.values[want[c]] = decode(serial, b[at:at+length])
		}
		at += length
	}
	return true
}

func decode(serial uint64, b []byte) value {
	switch {
	case serial == 0:
		return value{}
	case serial == 7:
		return value{kind: real, n: int64(binary.BigEndian.Uint64(b))}
	case serial < 7:
		n := int64(int8(b[0]))
		for _, c := range b[1:] {
			n = n<<8 | int64(c)
		}
		return value{kind: integer, n: n}
	case serial < 10:
		return value{kind: integer, n: int64(serial - 8)}
	case serial%2 == 0:
		return value{kind: blob}
	}
	return value{kind: text, text: b}
}
