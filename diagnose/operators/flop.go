package operators

import "strings"

// matrixProduct is the matrix work of one call: FLOP, two per multiply-add, and how
// many elements it must read and write at least.
type matrixProduct struct {
	flop, elements float64
	operand        int // whose type is the type of all
}

// formula gives the work of an operator from the shapes of its operands. out is
// the shape of a convolution's result, nil if it is not known.
type formula func(in []Dims, out Dims) (matrixProduct, bool)

// formulas of operators that multiply matrices, in the order of their arguments
// in PyTorch's native_functions.yaml. Where one of them calls another, the inner
// one counts: it has the types that were computed in.
var formulas = map[string]formula{
	"aten::mm":      matmul(0, 1),
	"aten::addmm":   matmul(1, 2),
	"aten::bmm":     matmul(0, 1),
	"aten::baddbmm": matmul(1, 2),
	"aten::linear":  linear,

	"aten::conv1d":                     convolution(0, 1),
	"aten::conv2d":                     convolution(0, 1),
	"aten::conv3d":                     convolution(0, 1),
	"aten::convolution":                convolution(0, 1),
	"aten::_convolution":               convolution(0, 1),
	"aten::cudnn_convolution":          convolution(0, 1),
	"aten::miopen_convolution":         convolution(0, 1),
	"aten::mkldnn_convolution":         convolution(0, 1),
	"aten::convolution_overrideable":   convolution(0, 1),
	"aten::conv_transpose2d":           transposed,
	"aten::convolution_backward":       gradients(1, 2, 0),
	"aten::cudnn_convolution_backward": gradients(0, 2, 1),

	"aten::scaled_dot_product_attention":                     attention(0, 1, 2, 1),
	"aten::_scaled_dot_product_flash_attention":              attention(0, 1, 2, 1),
	"aten::_scaled_dot_product_efficient_attention":          attention(0, 1, 2, 1),
	"aten::_scaled_dot_product_cudnn_attention":              attention(0, 1, 2, 1),
	"aten::_scaled_dot_product_flash_attention_backward":     attention(1, 2, 3, backwardAttention),
	"aten::_scaled_dot_product_efficient_attention_backward": attention(1, 2, 3, backwardAttention),
	"aten::_scaled_dot_product_cudnn_attention_backward":     attention(1, 2, 3, backwardAttention),
}

// backwardAttention is the work of the backward pass of fused attention over that
// of the forward pass: five products instead of two, as the scores are computed
// again (FlashAttention, arXiv:2205.14135, appendix B; PyTorch's flop_counter.py
// counts the same).
const backwardAttention = 2.5

// operand is the n-th shape, of at least rank axes; nil if it is not there.
func operand(in []Dims, n, rank int) Dims {
	if n >= len(in) || len(in[n]) < rank {
		return nil
	}
	return in[n]
}

// matmul is [..., m, k] x [..., k, n].
func matmul(a, b int) formula {
	return func(in []Dims, _ Dims) (matrixProduct, bool) {
		x, y := operand(in, a, 2), operand(in, b, 2)
		if x == nil || y == nil || len(x) != len(y) || x[len(x)-1] != y[len(y)-2] {
			return matrixProduct{}, false
		}
		n := float64(y[len(y)-1])
		result := x.size() / max(1, float64(x[len(x)-1])) * n
		return matrixProduct{2 * x.size() * n, x.size() + y.size() + result, a}, true
	}
}

// linear is [..., k] x [n, k] transposed.
func linear(in []Dims, _ Dims) (matrixProduct, bool) {
	x, w := operand(in, 0, 1), operand(in, 1, 2)
	if x == nil || w == nil || x[len(x)-1] != w[1] {
		return matrixProduct{}, false
	}
	n := float64(w[0])
	return matrixProduct{2 * x.size() * n, x.size() + w.size() + x.size()/max(1, float64(w[1]))*n, 0}, true
}

// convolution needs the shape of the result: strides are no operand shapes.
func convolution(input, weight int) formula {
	return func(in []Dims, out Dims) (matrixProduct, bool) {
		x, w := operand(in, input, 3), operand(in, weight, 3)
		if x == nil || w == nil || out == nil || len(out) != len(w) || out[1] != w[0] {
			return matrixProduct{}, false
		}
		return matrixProduct{
			2 * out.size() * w.size() / max(1, float64(w[0])), x.size() + w.size() + out.size(),
			input,
		}, true
	}
}

// transposed is a convolution from the result's side: each input element meets
// each weight of its channel.
func transposed(in []Dims, out Dims) (matrixProduct, bool) {
	x, w := operand(in, 0, 4), operand(in, 1, 4)
	if x == nil || w == nil || x[1] != w[0] {
		return matrixProduct{}, false
	}
	return matrixProduct{2 * x.size() * w.size() / max(1, float64(w[0])), x.size() + w.size() + out.sizeOr(x), 0}, true
}

func (d Dims) sizeOr(other Dims) float64 {
	if d == nil {
		return other.size()
	}
	return d.size()
}

// gradients of a convolution: one product for the input's and one for the
// weight's. (A network's first layer needs only the latter; the mask that says so
// is no operand shape, so its work is counted double.)
func gradients(input, weight, result int) formula {
	return func(in []Dims, _ Dims) (matrixProduct, bool) {
		x, w, g := operand(in, input, 3), operand(in, weight, 3), operand(in, result, 3)
		if x == nil || w == nil || g == nil || len(g) != len(w) || g[1] != w[0] {
			return matrixProduct{}, false
		}
		return matrixProduct{
			4 * g.size() * w.size() / max(1, float64(w[0])), 2 * (x.size() + w.size() + g.size()),
			input,
		}, true
	}
}

// attention over [batch, heads, length, width]; all of the scores, as nothing in
// the shapes tells that half of them are masked.
func attention(q, k, v int, times float64) formula {
	return func(in []Dims, _ Dims) (matrixProduct, bool) {
		x, y, z := operand(in, q, 4), operand(in, k, 4), operand(in, v, 4)
		if x == nil || y == nil || z == nil || x[3] != y[3] || y[2] != z[2] {
			return matrixProduct{}, false
		}
		scores := float64(x[0]) * float64(x[1]) * float64(x[2]) * float64(y[2])
		result := x.size() / max(1, float64(x[3])) * float64(z[3])
		moved := x.size() + y.size() + z.size() + result
		if times > 1 {
			moved *= 2
		}
		return matrixProduct{2 * scores * float64(x[3]+z[3]) * times, moved, q}, true
	}
}

// convolves reports whether an operator is a convolution whose result's shape is
// to be found out, and where its operands stand.
func convolves(name string) bool {
	return strings.Contains(name, "conv") && !strings.Contains(name, "backward") &&
		!strings.Contains(name, "transpose")
}
