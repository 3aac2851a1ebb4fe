package inflate

import (
	"github.com/stoker-dev/stoker/feed/kernels"
)

// Assembly says whether the loop over many symbols runs in assembly. Tests switch it off.
var Assembly = kernels.Run(kernels.Inflate)

// span is the state of the loop over many symbols, with its limits. The kernels rely on this
// layout.
type span struct {
	at, mostAt     int // offset in the data
	done, mostDone int // bytes written
	buffer         uint64
	n              uint
	outcome        int
}

// The outcomes of that loop.
const (
	limited = iota // the end of the data or of the room is near
	ended          // the block has ended
	damaged
)

// A round reads up to 16 bytes. It writes up to four lookups of three literals, one byte beyond
// those, and a match of 258 bytes with 15 bytes beyond its end.
const (
	roundReads  = 16
	roundWrites = 4*3 + 1 + 258 + 15
)

// unpackMany decompresses symbols until the block ends, or until limit or the end of the data
// is near.
func (u *Unpacker) unpackMany(to []byte, done, limit int) (outcome, now int) {
	r := &u.bits
	s := span{
		at: r.at, mostAt: len(r.data) - roundReads, done: done, mostDone: limit - roundWrites,
		buffer: r.buffer, n: r.n,
	}
	switch {
	case s.at > s.mostAt || s.done > s.mostDone:
		return limited, done
	case Assembly:
		unpackRounds(&s.at, &r.data[0], &to[0], &u.symbol[0], &u.space[0])
	default:
		u.unpackRounds(&s, to)
	}
	r.at, r.buffer, r.n = s.at-int(s.n>>3&7), s.buffer&(1<<(s.n&7)-1), s.n&7
	return s.outcome, s.done
}
