package inflate

import (
	"errors"
)

// The reasons why a stream cannot be decompressed.
var (
	ErrDamaged = errors.New("inflate: the stream is not what zlib writes")
	ErrShort   = errors.New("inflate: the stream ends too early")
	ErrSize    = errors.New("inflate: the stream is longer or shorter than expected")
)

// Unpacker holds 25 KB of tables, which are rebuilt for each block. It is not safe for
// concurrent use.
type Unpacker struct {
	bits   reader
	symbol [symbolEntries]entry
	space  [spaceEntries]entry
	joined bool // symbol has entries of several literals
	fixed  bool // both tables are those of the fixed codes

	lengths [mostSymbols + mostSpaces]uint8
}

// reader reads bits: first the n lowest of buffer, then data from at on.
type reader struct {
	data   []byte
	at     int
	buffer uint64
	n      uint
}

// refill makes at least 56 bits available, or all that are left.
func (r *reader) refill() {
	for r.n < 56 && r.at < len(r.data) {
		r.buffer |= uint64(r.data[r.at]) << r.n
		r.at++
		r.n += 8
	}
}

// take consumes k bits, at most as many as refill provides. ok is false if there are fewer.
func (r *reader) take(k uint) (v uint, ok bool) {
	if k > r.n {
		return 0, false
	}
	v = uint(r.buffer) & (1<<k - 1)
	r.drop(k)
	return v, true
}

func (r *reader) drop(k uint) {
	r.buffer >>= k & 63
	r.n -= k
}

// dropPart moves to the next whole byte.
func (r *reader) dropPart() {
	r.at -= int(r.n >> 3)
	r.buffer, r.n = 0, 0
}
