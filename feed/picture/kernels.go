package picture

import "github.com/stoker-dev/stoker/feed/kernels"

// Which kernels run here. Without them plain Go gives the same bytes.
var (
	canMix     = kernels.Run(kernels.Mix)
	canEnhance = kernels.Run(kernels.Enhance)
)

// lookUp replaces each value of a band by another one.
type lookUp [256]uint8

// blur is one direction of a box blur. radius pixels on both sides count in full, the next ones
// in part. shares are the weights, in units of 2**-24.
type blur struct {
	radius int
	shares [2]uint32
	idle   bool
}
