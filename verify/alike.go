package verify

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/recording"
)

// alike returns the share of the device's time that both sides spend alike, 0 to 1: in kernels
// of the same name or, because another precision or device renames kernels, under operators of
// the same name. How often an operator is called proves nothing, because aten::t and
// aten::empty are in every program. If only one side is compiled, which fuses operators, matrix
// operators alone are compared, too.
func alike(was, now traceSide) float64 {
	most := inBoth(was.kernelTime(), now.kernelTime())
	a, b := was.operatorTime(nil), now.operatorTime(nil)
	most = max(most, inBoth(a, b))
	if was.isCompiled() != now.isCompiled() {
		most = max(most, inBoth(was.operatorTime(isMatrix), now.operatorTime(isMatrix)))
	}
	return most
}

// inBoth normalises two distributions of time over names and returns the sum of the smaller
// share of each name.
func inBoth(a, b map[string]float64) float64 {
	sum := func(m map[string]float64) (all float64) {
		for _, v := range m {
			all += v
		}
		return all
	}
	x, y, both := sum(a), sum(b), 0.0
	if x <= 0 || y <= 0 {
		return 0
	}
	for name, v := range a {
		both += min(v/x, b[name]/y)
	}
	return both
}

// kernelTime returns the time of each kernel by name.
func (s traceSide) kernelTime() map[string]float64 {
	out := map[string]float64{}
	for _, n := range s.works {
		if n.Kind == recording.Kernel {
			out[s.workName(n)] += float64(total(n.Time))
		}
	}
	return out
}

// operatorTime returns the device's time by the operator that launched it, for operators that
// fit; nil takes all.
func (s traceSide) operatorTime(fits func(name string) bool) map[string]float64 {
	out := map[string]float64{}
	for _, r := range operators.Tabulate(s.Run.Timeline, operators.Options{}).Rows {
		if r.DeviceSelf > 0 && (fits == nil || fits(r.Name)) {
			out[r.Name] += float64(r.DeviceSelf)
		}
	}
	return out
}

// isMatrix reports whether an operator multiplies matrices, convolves, or computes attention.
func isMatrix(name string) bool {
	family := idle.FamilyOf(strings.TrimPrefix(name, "aten::"))
	return family == idle.Matmul || family == idle.Convolution || family == idle.Attention || name == "aten::mm" ||
		name == "aten::addmm" || name == "aten::bmm"
}

// isCompiled reports whether torch.compile made some of a side's kernels.
func (s traceSide) isCompiled() bool {
	return slices.ContainsFunc(s.Run.Timeline.Names, func(name string) bool {
		return strings.HasPrefix(name, "triton_") || strings.HasPrefix(name, "Torch-Compiled Region") ||
			strings.HasPrefix(name, "CompiledFunction")
	})
}
