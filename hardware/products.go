package hardware

import "strings"

// matmulBench is the source of timed products of large matrices: the best of many shapes in
// PyTorch.
const matmulBench = "github.com/stas00/ml-engineering compute/accelerator/README.md at 744d01e, maximum achievable " +
	"matmul FLOPS"

// products holds the share of the dense peak that products of large matrices reach, by the
// first word of a GPU's key: in 16 bits, and in FP8. An H800 has the chip of an H100.
var products = map[string][2]float64{
	"a100": {0.869}, "h100": {0.803, 0.709}, "h800": {0.803, 0.709}, "h200": {0.803, 0.734}, "gh200": {0.838, 0.776},
	"b200": {0.776, 0.763}, "gb200": {0.729, 0.723}, "mi300x": {0.514}, "mi355x": {0.626},
}

// likelyProducts is for chips without such a measurement: the median of the others.
const likelyProducts = 0.77

// ProductShare returns the share of the data sheet's peak that products of large matrices reach
// in a precision. For TPUs it is unknown; their programs are fitted as a whole.
func (g GPU) ProductShare(p Precision) Figure {
	name, _, _ := strings.Cut(g.Name, "-")
	shares, timed := products[name]
	switch {
	case timed && p == FP8 && shares[1] > 0:
		return Figure{shares[1], matmulBench}
	case timed && p != FP8:
		return Figure{shares[0], matmulBench}
	case timed:
		return Figure{shares[0], "assumption: as in 16 bits; " + matmulBench}
	}
	return Figure{likelyProducts, "assumption: the median of chips that were timed; " + matmulBench}
}
