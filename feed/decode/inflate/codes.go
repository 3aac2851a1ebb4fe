package inflate

// orderOfLengths is the order in which a stream lists the lengths of the codes for lengths.
var orderOfLengths = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

var lengthMeaning = func() (m [19]entry) {
	for i := range m {
		m[i] = entry(i) << 8
	}
	return m
}()

const lengthBits = 7

// makeFixed makes the tables of the fixed codes.
func (u *Unpacker) makeFixed() {
	if u.fixed {
		return
	}
	var lengths [288 + 32]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		case i < 288:
			lengths[i] = 8
		default:
			lengths[i] = 5
		}
	}
	u.fixed = u.makeTables(lengths[:288], lengths[288:])
}

// makeTables returns false if the lengths are not those of a code. A single code of one bit is
// allowed.
func (u *Unpacker) makeTables(symbols, spaces []uint8) bool {
	u.joined, u.fixed = false, false
	return fill(u.symbol[:], symbolBits, symbols, symbolMeaning[:], true) &&
		fill(u.space[:], spaceBits, spaces, spaceMeaning[:], true)
}

// readCodes reads the codes of a block that defines its own.
func (u *Unpacker) readCodes() error {
	u.bits.refill()
	sizes, ok := u.bits.take(14)
	if !ok {
		return ErrShort
	}
	symbols, spaces := int(sizes&31)+257, int(sizes>>5&31)+1
	if symbols > mostSymbols || spaces > mostSpaces {
		return ErrDamaged
	}
	var table [1 << lengthBits]entry
	if err := u.readLengthCodes(&table, int(sizes>>10)+4); err != nil {
		return err
	}
	lengths := u.lengths[:symbols+spaces]
	if err := u.readLengths(lengths, &table); err != nil {
		return err
	}
	if lengths[endOfBlock] == 0 || !u.makeTables(lengths[:symbols], lengths[symbols:]) {
		return ErrDamaged
	}
	return nil
}

// readLengthCodes reads the code by which lengths are written.
func (u *Unpacker) readLengthCodes(table *[1 << lengthBits]entry, n int) error {
	var lengths [19]uint8
	for _, i := range orderOfLengths[:n] {
		u.bits.refill()
		l, ok := u.bits.take(3)
		if !ok {
			return ErrShort
		}
		lengths[i] = uint8(l)
	}
	if !fill(table[:], lengthBits, lengths[:], lengthMeaning[:], false) {
		return ErrDamaged
	}
	return nil
}

func (u *Unpacker) readLengths(lengths []uint8, table *[1 << lengthBits]entry) error {
	for i := 0; i < len(lengths); {
		u.bits.refill()
		e := table[u.bits.buffer&(1<<lengthBits-1)]
		if _, ok := u.bits.take(uint(e & 63)); !ok {
			return ErrShort
		}
		value := uint8(e >> 8)
		if value < 16 {
			lengths[i] = value
			i++
			continue
		}
		if value == 16 && i == 0 {
			return ErrDamaged
		}
		more, least := [3]uint{2, 3, 7}[value-16], [3]int{3, 3, 11}[value-16]
		times, ok := u.bits.take(more)
		if !ok {
			return ErrShort
		}
		n := least + int(times)
		if n > len(lengths)-i {
			return ErrDamaged
		}
		again := uint8(0)
		if value == 16 {
			again = lengths[i-1]
		}
		for range n {
			lengths[i] = again
			i++
		}
	}
	return nil
}
