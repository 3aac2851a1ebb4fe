package order

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// BagDigest stands for a bag of samples, whatever their order: sum and xor, modulo
// 2^64, of the hash mixBits(sample + golden) of each. Two bags that differ, be it only in
// how often a sample is in them, have one digest with a probability of about 2^-64 (xor
// does not see pairs, but the sum does). The zero Digest is the empty bag.
type BagDigest struct {
	Sum, Xor uint64
}

// Add puts one sample into the bag.
func (d *BagDigest) Add(sample int) {
	h := mixBits(uint64(sample) + golden)
	d.Sum += h
	d.Xor ^= h
}

// Merge puts another bag into this one: parts of an epoch, or several ranks.
func (d *BagDigest) Merge(other BagDigest) {
	d.Sum += other.Sum
	d.Xor ^= other.Xor
}

// String is 32 hexadecimal digits, sum first.
func (d BagDigest) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], d.Sum)
	binary.BigEndian.PutUint64(b[8:], d.Xor)
	return hex.EncodeToString(b[:])
}

// ParseDigest reads what String writes.
func ParseDigest(text string) (BagDigest, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 16 {
		return BagDigest{}, fmt.Errorf("the digest %.40q: 32 hexadecimal digits are expected", text)
	}
	return BagDigest{Sum: binary.BigEndian.Uint64(b[:8]), Xor: binary.BigEndian.Uint64(b[8:])}, nil
}

// golden keeps sample 0 away from mixBits(0) = 0, which would not be seen in a bag.
const golden = 0x9e3779b97f4a7c15
