package order

import "math/bits"

// Draws is the stream of random numbers for one operation on one sample in one epoch. The
// numbers do not depend on which thread or process draws them, nor in which order.
//
// It is Philox-4x32-10 (Salmon et al., SC11), a pure function without state: block b of a
// stream is philox(counter, key), four 32-bit words, with
//
//	key[0]      seed, bits 0..31          key[1]      seed, bits 32..63
//	counter[0]  sample, bits 0..31        counter[1]  sample, bits 32..47 | operation << 16
//	counter[2]  epoch                     counter[3]  b, from 0
//
// Draw number k of the stream is 64 bits: words 0 and 1 (low, high) of block k/2 if k is even,
// words 2 and 3 if it is odd. This layout is part of the meaning of a seed. Changing it would
// change every training, so it needs a new StateFormat. python/stoker/loader/order.py holds the same
// function.
//
// A sample is below 2^48, an operation below 2^16 and an epoch below 2^32; bits
// above are ignored. Operations from 0xff00 on belong to this package.
type Draws struct {
	key     [2]uint32
	counter [4]uint32 // of the next block
	second  uint64    // the second draw of the last block
	half    bool      // second is the next draw
}

// Operations for which this package itself draws.
const (
	opShuffle = 0xff00 // Fisher-Yates
	opRounds  = 0xff01 // round keys of the Feistel network
)

// NewDraws returns the stream of one operation on one sample, at its first draw.
func NewDraws(seed, epoch, sample uint64, operation uint32) Draws {
	return Draws{
		key: [2]uint32{uint32(seed), uint32(seed >> 32)},
		counter: [4]uint32{
			uint32(sample),
			uint32(sample>>32)&0xffff | operation<<16,
			uint32(epoch),
			0,
		},
	}
}

// nextWord returns 64 random bits: one draw.
func (d *Draws) nextWord() uint64 {
	if d.half {
		d.half = false
		return d.second
	}
	block := philox(d.counter, d.key)
	d.counter[3]++
	d.second, d.half = uint64(block[3])<<32|uint64(block[2]), true
	return uint64(block[1])<<32 | uint64(block[0])
}

// Float64 returns a number in [0, 1) with 53 random bits: one draw.
func (d *Draws) Float64() float64 { return float64(d.nextWord()>>11) * 0x1p-53 }

// Below returns a whole number in [0, n), all equally likely, or 0 if n is below 1. It seldom
// takes more than one draw. The answer is the high half of draw * n. A draw is rejected if its
// low half is below 2^64 mod n, because those draws would make some answers likelier (Lemire,
// 2019).
func (d *Draws) Below(n int) int {
	if n < 1 {
		return 0
	}
	high, low := bits.Mul64(d.nextWord(), uint64(n))
	if low < uint64(n) { // the remainder below costs a division and is smaller than n
		for surplus := -uint64(n) % uint64(n); low < surplus; {
			high, low = bits.Mul64(d.nextWord(), uint64(n))
		}
	}
	return int(high)
}

// philox is the bijection Philox-4x32 with ten rounds; constants from the paper.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(c[0])*0xd2511f53, uint64(c[2])*0xcd9e8d57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k[0], uint32(b), uint32(a>>32) ^ c[3] ^ k[1], uint32(a)}
		k[0] += 0x9e3779b9
		k[1] += 0xbb67ae85
	}
	return c
}
