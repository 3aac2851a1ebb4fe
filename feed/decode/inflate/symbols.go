package inflate

import "encoding/binary"

// joinBehind is how many bytes of a block are decompressed before join is called, which takes
// about as long as they do.
const joinBehind = 2048

// unpackSymbols decompresses the rest of a block.
func (u *Unpacker) unpackSymbols(to []byte, done int) (int, error) {
	outcome := limited
	if !u.joined {
		outcome, done = u.unpackMany(to, done, min(len(to), done+joinBehind))
		if outcome == limited && len(to)-done > joinBehind {
			join(&u.symbol)
			u.joined = true
		}
	}
	if outcome == limited {
		outcome, done = u.unpackMany(to, done, len(to))
	}
	switch outcome {
	case ended:
		return done, nil
	case damaged:
		return 0, ErrDamaged
	}
	return u.unpackFew(to, done)
}

// unpackRounds decompresses many symbols, without checks within a round for the end of data or
// room.
func (u *Unpacker) unpackRounds(s *span, to []byte) {
	data, at, done, buffer, n := u.bits.data, s.at, s.done, s.buffer, s.n
	symbol, space := &u.symbol, &u.space
	for done <= s.mostDone && at <= s.mostAt {
		buffer |= binary.LittleEndian.Uint64(data[at:]) << (n & 63)
		at += int((63 - n) >> 3 & 7)
		n |= 56

		e := symbol[buffer&(1<<symbolBits-1)]
		looks := 0
		for ; looks < 4 && e&literals != 0; looks++ {
			binary.LittleEndian.PutUint32(to[done:], e>>8)
			done += int(e >> 6 & 3)
			buffer >>= e & 63
			n -= uint(e & 63)
			e = symbol[buffer&(1<<symbolBits-1)]
		}
		if looks == 4 {
			continue
		}
		// At least 23 bits are left; a length takes up to 20.
		buffer >>= e & 63
		n -= uint(e & 63)
		if e&kinds == longer {
			e = symbol[(uint64(e>>16)+buffer&(1<<(e>>8&15)-1))%symbolEntries]
			buffer >>= e & 63
			n -= uint(e & 63)
			if e&literals != 0 {
				to[done] = byte(e >> 8)
				done++
				continue
			}
		}
		if e&kinds != plain {
			if s.outcome = damaged; e&kinds == end {
				s.outcome = ended
			}
			break
		}
		length := int(e>>16) + int(buffer&(1<<(e>>8&15)-1))
		buffer >>= e >> 8 & 15
		n -= uint(e >> 8 & 15)

		buffer |= binary.LittleEndian.Uint64(data[at:]) << (n & 63)
		at += int((63 - n) >> 3 & 7)
		n |= 56
		e = space[buffer&(1<<spaceBits-1)]
		buffer >>= e & 63
		n -= uint(e & 63)
		if e&kinds == longer {
			e = space[(uint64(e>>16)+buffer&(1<<(e>>8&15)-1))%spaceEntries]
			buffer >>= e & 63
			n -= uint(e & 63)
		}
		distance := int(e>>16) + int(buffer&(1<<(e>>8&15)-1))
		buffer >>= e >> 8 & 15
		n -= uint(e >> 8 & 15)
		if e&kinds != plain || distance > done {
			s.outcome = damaged
			break
		}
		copyWords(to, done, length, distance)
		done += length
	}
	s.at, s.done, s.buffer, s.n = at, done, buffer, n
}

// copyWords copies a match eight bytes at a time, and writes up to seven bytes beyond its end.
func copyWords(to []byte, done, length, distance int) {
	from, behind := done-distance, done+length
	if distance >= 8 {
		if distance >= length && length > 64 {
			copy(to[done:behind], to[from:])
			return
		}
		for ; done < behind; done, from = done+8, from+8 {
			binary.LittleEndian.PutUint64(to[done:], binary.LittleEndian.Uint64(to[from:]))
		}
		return
	}
	// A pattern of up to eight bytes is repeated within a word, which is written at steps of
	// whole repetitions.
	word, step := binary.LittleEndian.Uint64(to[from:])&(1<<(8*distance)-1), distance
	for ; step*2 <= 8; step *= 2 {
		word |= word << (8 * step)
	}
	if step < 8 {
		word |= word << (8 * step)
	}
	for ; done < behind; done += step {
		binary.LittleEndian.PutUint64(to[done:], word)
	}
}

// unpackFew decompresses the rest of a block symbol by symbol, up to the very end of both
// slices.
func (u *Unpacker) unpackFew(to []byte, done int) (int, error) {
	r := &u.bits
	for {
		r.refill()
		e := u.symbol[r.buffer&(1<<symbolBits-1)]
		if e&(kinds|literals) == longer {
			if _, ok := r.take(symbolBits); !ok {
				return 0, ErrShort
			}
			e = u.symbol[(uint64(e>>16)+r.buffer&(1<<(e>>8&15)-1))%symbolEntries]
		}
		if _, ok := r.take(uint(e & 63)); !ok {
			return 0, ErrShort
		}
		if n := int(e >> 6 & 3); n != 0 {
			if n > len(to)-done {
				return 0, ErrSize
			}
			for range n {
				e >>= 8
				to[done] = byte(e)
				done++
			}
			continue
		}
		switch e & kinds {
		case end:
			return done, nil
		case none:
			return 0, ErrDamaged
		}
		extra, ok := r.take(uint(e >> 8 & 15))
		if !ok {
			return 0, ErrShort
		}
		length := int(e>>16) + int(extra)
		distance, err := u.readDistance()
		switch {
		case err != nil:
			return 0, err
		case distance > done:
			return 0, ErrDamaged
		case length > len(to)-done:
			return 0, ErrSize
		}
		for range length {
			to[done] = to[done-distance]
			done++
		}
	}
}

func (u *Unpacker) readDistance() (int, error) {
	r := &u.bits
	r.refill()
	e := u.space[r.buffer&(1<<spaceBits-1)]
	if e&kinds == longer {
		if _, ok := r.take(spaceBits); !ok {
			return 0, ErrShort
		}
		e = u.space[(uint64(e>>16)+r.buffer&(1<<(e>>8&15)-1))%spaceEntries]
	}
	if _, ok := r.take(uint(e & 63)); !ok {
		return 0, ErrShort
	}
	if e&kinds != plain {
		return 0, ErrDamaged
	}
	extra, ok := r.take(uint(e >> 8 & 15))
	if !ok {
		return 0, ErrShort
	}
	return int(e>>16) + int(extra), nil
}
