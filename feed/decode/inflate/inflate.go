// Package inflate decompresses a zlib stream (RFC 1950, 1951) of known size from one slice into
// another. Decompression dominates the cost of a dense PNG, and a library for arbitrary readers
// with a window takes two to three times as long (klauspost/compress).
//
//	Unpack  inflate.go   the header, blocks, the checksum
//	        unpacker.go  the bits of a stream, the errors
//	        codes.go     the lengths of a block's codes
//	        tables.go    codes → tables, which give up to three literals per lookup
//	        symbols.go   the symbols of a block: many at once, and singly near the ends
//	        kernels.go   the loop over many symbols in assembly; the Go loop gives the same bytes
//	        adler.go     the checksum
//
// It accepts exactly what zlib accepts.
package inflate

import (
	"encoding/binary"
)

// Unpack inflates a zlib stream into to, which it must fill exactly. Bytes after the stream are
// an error.
func (u *Unpacker) Unpack(to, stream []byte) error {
	if len(stream) < 6 {
		return ErrShort
	}
	if head := binary.BigEndian.Uint16(stream); head%31 != 0 || head>>8&15 != 8 || head>>12 > 7 || head&0x20 != 0 {
		return ErrDamaged
	}
	u.bits = reader{data: stream, at: 2}
	done := 0
	for last := false; !last; {
		var err error
		if last, done, err = u.unpackBlock(to, done); err != nil {
			return err
		}
	}
	u.bits.dropPart()
	rest := stream[u.bits.at:]
	switch {
	case len(rest) < 4:
		return ErrShort
	case done < len(to) || len(rest) > 4:
		return ErrSize
	case binary.BigEndian.Uint32(rest) != checksum(to):
		return ErrDamaged
	}
	return nil
}

func (u *Unpacker) unpackBlock(to []byte, done int) (last bool, now int, err error) {
	u.bits.refill()
	head, ok := u.bits.take(3)
	if !ok {
		return false, 0, ErrShort
	}
	switch head >> 1 {
	case 0:
		now, err = u.copyStored(to, done)
	case 1:
		u.makeFixed()
		now, err = u.unpackSymbols(to, done)
	case 2:
		if err = u.readCodes(); err == nil {
			now, err = u.unpackSymbols(to, done)
		}
	default:
		err = ErrDamaged
	}
	return head&1 != 0, now, err
}

// copyStored copies a block that is not compressed.
func (u *Unpacker) copyStored(to []byte, done int) (int, error) {
	u.bits.dropPart()
	rest := u.bits.data[u.bits.at:]
	if len(rest) < 4 {
		return 0, ErrShort
	}
	size := int(binary.LittleEndian.Uint16(rest))
	if size^0xffff != int(binary.LittleEndian.Uint16(rest[2:])) {
		return 0, ErrDamaged
	}
	switch rest = rest[4:]; {
	case size > len(rest):
		return 0, ErrShort
	case size > len(to)-done:
		return 0, ErrSize
	}
	copy(to[done:], rest[:size])
	u.bits.at += 4 + size
	return done + size, nil
}
