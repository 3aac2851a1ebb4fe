package inflate

import "encoding/binary"

const (
	// A round of the loop that does many at once reads up to 16 bytes, and writes four looks of three literals, a byte
	// beyond the last, and a match of 258 bytes, seven of them beyond its end.
	roundReads  = 16
	roundWrites = 4*3 + 1 + 258 + 7

	// joinBehind is how many bytes of a block are unpacked before its literals are joined, which costs as much as they do.
	joinBehind = 2048
)

// unpackSymbols unpacks a block up to its end.
func (u *Unpacker) unpackSymbols(to []byte, done int) (int, error) {
	if !u.joined {
		ended, now, err := u.unpackMany(to, done, min(len(to), done+joinBehind))
		if ended || err != nil {
			return now, err
		}
		if done = now; len(to)-done > joinBehind {
			join(&u.symbol)
			u.joined = true
		}
	}
	ended, done, err := u.unpackMany(to, done, len(to))
	if ended || err != nil {
		return done, err
	}
	return u.unpackFew(to, done)
}

// unpackMany unpacks symbols up to the end of the block, or up to near a limit or the end of the data.
func (u *Unpacker) unpackMany(to []byte, done, limit int) (ended bool, now int, err error) {
	data, at, buffer, n := u.bits.data, u.bits.at, u.bits.buffer, u.bits.n
	symbol, space := &u.symbol, &u.space
	mostDone, mostAt := limit-roundWrites, len(data)-roundReads
	for done <= mostDone && at <= mostAt {
		buffer |= binary.LittleEndian.Uint64(data[at:]) << (n & 63)
		at += int((63 - n) >> 3 & 7)
		n |= 56

		e := symbol[buffer&(1<<symbolBits-1)]
		if e&literals != 0 {
			binary.LittleEndian.PutUint32(to[done:], e)
			done += int(e >> countAt & countMask)
			buffer >>= e >> codeAt & codeMask
			n -= uint(e >> codeAt & codeMask)
			if e = symbol[buffer&(1<<symbolBits-1)]; e&literals != 0 {
				binary.LittleEndian.PutUint32(to[done:], e)
				done += int(e >> countAt & countMask)
				buffer >>= e >> codeAt & codeMask
				n -= uint(e >> codeAt & codeMask)
				if e = symbol[buffer&(1<<symbolBits-1)]; e&literals != 0 {
					binary.LittleEndian.PutUint32(to[done:], e)
					done += int(e >> countAt & countMask)
					buffer >>= e >> codeAt & codeMask
					n -= uint(e >> codeAt & codeMask)
					if e = symbol[buffer&(1<<symbolBits-1)]; e&literals != 0 {
						binary.LittleEndian.PutUint32(to[done:], e)
						done += int(e >> countAt & countMask)
						buffer >>= e >> codeAt & codeMask
						n -= uint(e >> codeAt & codeMask)
						continue
					}
				}
			}
		}
		// 23 bits are left at least: a length has up to 20.
		buffer >>= e >> codeAt & codeMask
		n -= uint(e >> codeAt & codeMask)
		if e&kinds == longer {
			e = symbol[(uint64(e&baseMask)+buffer&(1<<(e>>extraAt&extraMask)-1))%symbolEntries]
			buffer >>= e >> codeAt & codeMask
			n -= uint(e >> codeAt & codeMask)
			if e&literals != 0 {
				to[done] = byte(e)
				done++
				continue
			}
		}
		if e&kinds != plain {
			if e&kinds == end {
				ended = true
				break
			}
			return false, 0, ErrDamaged
		}
		length := int(e&baseMask) + int(buffer&(1<<(e>>extraAt&extraMask)-1))
		buffer >>= e >> extraAt & extraMask
		n -= uint(e >> extraAt & extraMask)

		buffer |= binary.LittleEndian.Uint64(data[at:]) << (n & 63)
		at += int((63 - n) >> 3 & 7)
		n |= 56
		e = space[buffer&(1<<spaceBits-1)]
		buffer >>= e >> codeAt & codeMask
		n -= uint(e >> codeAt & codeMask)
		if e&kinds == longer {
			e = space[(uint64(e&baseMask)+buffer&(1<<(e>>extraAt&extraMask)-1))%spaceEntries]
			buffer >>= e >> codeAt & codeMask
			n -= uint(e >> codeAt & codeMask)
		}
		distance := int(e&baseMask) + int(buffer&(1<<(e>>extraAt&extraMask)-1))
		buffer >>= e >> extraAt & extraMask
		n -= uint(e >> extraAt & extraMask)
		if e&kinds != plain || distance > done {
			return false, 0, ErrDamaged
		}
		copyWords(to, done, length, distance)
		done += length
	}
	u.bits = reader{data, at - int(n>>3), buffer & (1<<(n&7) - 1), n & 7}
	return ended, done, nil
}

// copyWords copies a match eight bytes at a time, up to seven beyond its end.
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
	// What lies within eight bytes is repeated in a word, and the word moves on by whole repetitions.
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

// unpackFew does the same one by one, to the ends of both.
func (u *Unpacker) unpackFew(to []byte, done int) (int, error) {
	r := &u.bits
	for {
		r.refill()
		e := u.symbol[r.buffer&(1<<symbolBits-1)]
		if e&kinds == longer {
			if _, ok := r.take(symbolBits); !ok {
				return 0, ErrShort
			}
			e = u.symbol[(uint64(e&baseMask)+r.buffer&(1<<(e>>extraAt&extraMask)-1))%symbolEntries]
		}
		if _, ok := r.take(uint(e >> codeAt & codeMask)); !ok {
			return 0, ErrShort
		}
		if n := int(e >> countAt & countMask); n != 0 {
			if n > len(to)-done {
				return 0, ErrSize
			}
			for range n {
				to[done] = byte(e)
				e >>= 8
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
		extra, ok := r.take(uint(e >> extraAt & extraMask))
		if !ok {
			return 0, ErrShort
		}
		length := int(e&baseMask) + int(extra)
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
		e = u.space[(uint64(e&baseMask)+r.buffer&(1<<(e>>extraAt&extraMask)-1))%spaceEntries]
	}
	if _, ok := r.take(uint(e >> codeAt & codeMask)); !ok {
		return 0, ErrShort
	}
	if e&kinds != plain {
		return 0, ErrDamaged
	}
	extra, ok := r.take(uint(e >> extraAt & extraMask))
	if !ok {
		return 0, ErrShort
	}
	return int(e&baseMask) + int(extra), nil
}
