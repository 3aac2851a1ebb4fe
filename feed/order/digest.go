package order

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// BagDigest identifies a bag of samples regardless of their order. It is the sum and the xor,
// modulo 2^64, of the hash mixBits(sample + golden) of each sample. Two different bags have the
// same digest with a probability of about 2^-64, even if they differ only in how often a sample
// occurs (xor misses pairs, but the sum does not). The zero value is the empty bag.
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

// String returns 32 hexadecimal digits, the sum first.
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

// golden is added because mixBits(0) = 0: sample 0 would leave the digest unchanged.
const golden = 0x9e3779b97f4a7c15
