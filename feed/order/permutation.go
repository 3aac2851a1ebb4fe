package order

import "math/bits"

// maxSamples bounds an epoch: Permutation, Draws and Substitute are made for it.
const maxSamples = 1 << 40

// tableSamples is the largest epoch for which Permutation uses an explicit table. Up to there
// the table is small (2 bytes a sample) and quick (about 1 ms), while a Feistel network on so
// few bits is visibly less than random.
const tableSamples = 1 << 16

// rounds of the Feistel network. Two fail the tests here by a wide margin, four pass them.
// Twelve are beyond every known distinguisher and take 50 ns.
const rounds = 12

// Permutation maps the positions of an epoch to its samples, both 0..n-1, each exactly once. It
// is safe for concurrent use.
type Permutation struct {
	samples int
	inOrder bool
	table   []uint16 // of a small epoch

	// Of a large epoch: a position is split into left and right bits, and each round xors a
	// keyed hash of one half into the other. That permutes 2^(left+right) numbers, fewer than
	// twice the samples. If the result is not a sample, it is permuted again (cycle walking), so
	// that the whole is still a permutation.
	left, right uint
	keys        [rounds]uint64
}

// NewPermutation returns the order of an epoch of the given number of samples, at most
// maxSamples. A small epoch builds its table here, in O(samples); a large one takes O(1).
func NewPermutation(seed, epoch uint64, samples int) *Permutation {
	if samples <= tableSamples {
		draws := NewDraws(seed, epoch, uint64(max(samples, 0)), opShuffle)
		return &Permutation{samples: samples, table: shuffledTable(draws, samples)}
	}
	return newNetwork(NewDraws(seed, epoch, uint64(samples), opRounds), samples)
}

// newNetwork returns a permutation by Feistel network.
func newNetwork(draws Draws, samples int) *Permutation {
	width := uint(bits.Len(uint(samples - 1)))
	p := &Permutation{samples: samples, left: width / 2, right: width - width/2}
	for i := range p.keys {
		p.keys[i] = draws.nextWord()
	}
	return p
}

// InOrder returns the identity, for an epoch that is not shuffled.
func InOrder(samples int) *Permutation { return &Permutation{samples: samples, inOrder: true} }

// At returns the sample at a position in 0..samples-1, in O(1).
func (p *Permutation) At(position int) int {
	switch {
	case p.inOrder:
		return position
	case p.table != nil:
		return int(p.table[position])
	}
	for {
		position = p.permute(position)
		if position < p.samples {
			return position
		}
	}
}

// permute applies the Feistel network to a number in 0..2^(left+right)-1.
func (p *Permutation) permute(x int) int {
	l, r := uint64(x)>>p.right, uint64(x)&(1<<p.right-1)
	for i := 0; i < rounds; i += 2 {
		l ^= mixBits(r^p.keys[i]) >> (64 - p.left)
		r ^= mixBits(l^p.keys[i+1]) >> (64 - p.right)
	}
	return int(l<<p.right | r)
}

// shuffledTable returns 0..n-1 in random order, by Fisher-Yates from the last place to the first.
func shuffledTable(draws Draws, n int) []uint16 {
	table := make([]uint16, max(n, 0))
	for i := range table {
		table[i] = uint16(i)
	}
	for i := n - 1; i > 0; i-- {
		j := draws.Below(i + 1)
		table[i], table[j] = table[j], table[i]
	}
	return table
}

// mixBits is a bijection of 64 bits in which every bit of x flips every bit of the result with
// a probability near one half: the finaliser of splitmix64 (Stafford's "Mix13").
func mixBits(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
