package replay

// Chain is a run of elementwise kernels on a stream: each may write what the next one reads, which one kernel could
// keep in registers. Kernels with other grids work on other arrays: an optimizer's are no chain, however long.
type Chain struct {
	works  []int32
	blocks int32
}

// anyBlocks is the grid of a chain so far that only scales channels: a library's kernel has another one for the same
// array.
const anyBlocks = -2

// longestChain bounds the length of one chain. [J] A GELU by hand has eight
// operators; longer runs repeat.
const longestChain = 8

// Follow takes a stream's next work, and gives what it ends to end.
func (c *Chain) Follow(work, blocks int32, elementwise, scales bool, end func(works []int32)) {
	if scales {
		blocks = anyBlocks
	}
	other := blocks != c.blocks && blocks != anyBlocks && c.blocks != anyBlocks
	if !elementwise || other || len(c.works) == longestChain {
		c.End(end)
	}
	if !elementwise {
		return
	}
	if len(c.works) == 0 || c.blocks == anyBlocks {
		c.blocks = blocks
	}
	c.works = append(c.works, work)
}

// End gives the chain so far to end.
func (c *Chain) End(end func(works []int32)) {
	if len(c.works) > 0 {
		end(c.works)
	}
	c.works = c.works[:0]
}

// FusedBytes is the share of memory traffic that is left when a chain of m
// elementwise kernels becomes one: 2/(m+1). d = a + b + c moves six arrays as two
// kernels (read a, b, write t; read t, c, write d) and four as one: 2/3.
func FusedBytes(m int) float64 { return 2 / float64(m+1) }
