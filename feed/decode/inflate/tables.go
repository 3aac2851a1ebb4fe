package inflate

import "math/bits"

// An entry of a table describes the next bits of a stream, and how many of them to consume:
//
//	bits 0 to 5     bits of the code, or of the codes
//	bits 6, 7       number of literals; 0: something else
//	bits 8 to 31    the literals in their order
//	bits 8 to 11    otherwise the number of bits after the code, or the index bits of a second table
//	bits 12, 13     the kind: a length or a distance, the end of the block, a longer code, no code
//	bits 16 to 31   the value to which those bits are added, or where the second table begins
type entry = uint32

const (
	literal  = 1 << 6
	literals = 3 << 6
	plain    = 0 << 12 // a length or a distance
	end      = 1 << 12
	longer   = 2 << 12
	none     = 3 << 12
	kinds    = 3 << 12
)

const (
	codeBits    = 15
	symbolBits  = 11 // of the first lookup of a literal or a length
	spaceBits   = 9  // of the first lookup of a distance
	mostSymbols = 286
	mostSpaces  = 30
	endOfBlock  = 256

	// The second tables, for longer codes, come after the first one. A second table of 2^n
	// entries has more than n codes, so there are fewer than 1024 entries for 288 symbols and
	// fewer than 512 for 32 distances. The sizes are powers of two, so that masked indices need
	// no check.
	symbolEntries = 2 << symbolBits
	spaceEntries  = 2 << spaceBits
)

// symbolMeaning and spaceMeaning are entries without the bits of a code. The last two of each
// are invalid.
var symbolMeaning, spaceMeaning = meanings()

func meanings() (symbols [288]entry, spaces [32]entry) {
	for i := range endOfBlock {
		symbols[i] = literal | entry(i)<<8
	}
	symbols[endOfBlock] = end
	base := entry(3)
	for i := range 28 {
		extra := entry(max(i-4, 0) / 4)
		symbols[257+i] = plain | extra<<8 | base<<16
		base += 1 << extra
	}
	symbols[285], symbols[286], symbols[287] = plain|258<<16, none, none
	base = 1
	for i := range mostSpaces {
		extra := entry(max(i-2, 0) / 2)
		spaces[i] = plain | extra<<8 | base<<16
		base += 1 << extra
	}
	spaces[30], spaces[31] = none, none
	return symbols, spaces
}

// sortSymbols counts codes by length, and lists the symbols that have a code by its length and then
// by number.
func sortSymbols(lengths []uint8, list *[288]uint16) (counts [codeBits + 1]int) {
	for _, l := range lengths {
		counts[l&codeBits]++
	}
	var next [codeBits + 2]int
	for l := 1; l <= codeBits; l++ {
		next[l+1] = next[l] + counts[l]
	}
	for symbol, l := range lengths {
		if l != 0 {
			list[next[l]] = uint16(symbol)
			next[l]++
		}
	}
	return counts
}

// complete reports whether zlib accepts codes of these lengths: every sequence of bits begins
// with one of them. If single is set, one code of one bit, or none, is accepted too.
func complete(counts *[codeBits + 1]int, single bool) bool {
	left, used := 1, 0
	for l := 1; l <= codeBits; l++ {
		if left = left<<1 - counts[l]; left < 0 {
			return false
		}
		used += counts[l]
	}
	return left == 0 || single && (used == 0 || used == 1 && counts[1] == 1)
}

// fill makes a table whose first lookup takes first bits. It returns false if the lengths are
// not those of a code.
func fill(table []entry, first uint, lengths []uint8, meaning []entry, single bool) bool {
	var list [288]uint16
	counts := sortSymbols(lengths, &list)
	if !complete(&counts, single) {
		return false
	}
	if counts[0] >= len(lengths)-1 { // one code or none
		for i := range table[:1<<first] {
			table[i] = none
		}
	}
	symbols, code := list[:], uint(0)
	for l := uint(1); l <= first; l++ {
		for range counts[l] {
			what := meaning[symbols[0]] | entry(l)
			for i := uint(bits.Reverse16(uint16(code)) >> (16 - l)); i < 1<<first; i += 1 << l {
				table[i] = what
			}
			symbols = symbols[1:]
			code++
		}
		code <<= 1
	}
	fillLonger(table, first, symbols, code, counts[:], meaning)
	return true
}

// fillLonger makes the second tables. code is the first code that is one bit longer than the
// first lookup.
func fillLonger(table []entry, first uint, symbols []uint16, code uint, counts []int, meaning []entry) {
	begin, size, at := uint(1)<<first, uint(0), ^uint(0)
	for l := first + 1; l <= codeBits; l++ {
		for left := counts[l]; left > 0; left-- {
			turned := uint(bits.Reverse16(uint16(code)) >> (16 - l))
			if root := turned & (1<<first - 1); root != at {
				at, begin = root, begin+size
				more := l - first
				for room := left; room < 1<<more && first+more < codeBits; {
					more++
					room = room<<1 + counts[first+more]
				}
				size = 1 << more
				table[root] = longer | entry(first) | entry(more)<<8 | entry(begin)<<16
			}
			what := meaning[symbols[0]] | entry(l-first)
			for i := turned >> first; i < size; i += 1 << (l - first) {
				table[begin+i] = what
			}
			symbols = symbols[1:]
			code++
		}
		code <<= 1
	}
}

// join makes entries with up to three literals, as far as their codes fit into one lookup. It
// goes from the last entry to the first, because the code after another one is an entry of a
// smaller number.
func join(table *[symbolEntries]entry) {
	for i := 1<<symbolBits - 1; i >= 0; i-- {
		e := table[i]
		if e&literal == 0 {
			continue
		}
		used := e & 63
		second := table[i>>used]
		bits := second & 63
		if second&literal == 0 || used+bits > symbolBits {
			continue
		}
		e, used = e&0xff00|second&0xff00<<8, used+bits
		third := table[i>>used]
		bits = third & 63
		if third&literal == 0 || used+bits > symbolBits {
			table[i] = e | used | 2*literal
			continue
		}
		table[i] = e | third&0xff00<<16 | used + bits | 3*literal
	}
}
