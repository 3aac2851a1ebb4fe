package inflate

import (
	"github.com/stoker-dev/stoker/feed/kernels"
)

// Assembly says that the loop over many symbols runs in assembly here; tests switch it off.
var Assembly = kernels.Run(kernels.Inflate)

// span is how far a loop over many symbols is, and how far it may go. The kernels know its layout.
type span struct {
	at, mostAt     int // in the data
	done, mostDone int // in what they are unpacked to
	buffer         uint64
	n              uint
	outcome        int
}

// How such a loop ends.
const (
	limited = iota // near the end of something
	ended          // with its block
	damaged
)

// In a round it reads up to 16 bytes, and writes four looks of three literals, a byte beyond the last, and a match of
// 258 bytes, 15 of them beyond its end.
const (
	roundReads  = 16
	roundWrites = 4*3 + 1 + 258 + 15
)

// unpackMany unpacks symbols up to the end of the block, or up to near a limit or the end of the data.
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
