package verify

import (
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/operators"
	"github.com/stoker-dev/stoker/recording"
)

// alike is how much of the device's time both sides spend alike: under kernels of one name,
// or, where another precision or device renamed these, under operators of one name. How
// often an operator is called proves nothing: aten::t and aten::empty are in all programs.
// Where one side alone is compiled, which fuses operators, its matrix work tells.
func alike(was, now traceSide) float64 {
	most := inBoth(was.kernelTime(), now.kernelTime())
	a, b := was.operatorTime(nil), now.operatorTime(nil)
	most = max(most, inBoth(a, b))
	if was.compiled() != now.compiled() {
		most = max(most, inBoth(was.operatorTime(isMatrix), now.operatorTime(isMatrix)))
	}
	return most
}

// inBoth is the part of two sums that is the same under the same name: of each name the
// smaller share.
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

func (s traceSide) kernelTime() map[string]float64 {
	out := map[string]float64{}
	for _, n := range s.works {
		if n.Kind == recording.Kernel {
			out[s.name(n)] += float64(total(n.Time))
		}
	}
	return out
}

// operatorTime is the device's time by the operator that launched it, of those that fit;
// nil: of all.
func (s traceSide) operatorTime(fits func(name string) bool) map[string]float64 {
	out := map[string]float64{}
	for _, r := range operators.Tabulate(s.Run.Timeline, operators.Options{}).Rows {
		if r.DeviceSelf > 0 && (fits == nil || fits(r.Name)) {
			out[r.Name] += float64(r.DeviceSelf)
		}
	}
	return out
}

func isMatrix(name string) bool {
	family := idle.FamilyOf(strings.TrimPrefix(name, "aten::"))
	return family == idle.Matmul || family == idle.Convolution || family == idle.Attention || name == "aten::mm" ||
		name == "aten::addmm" || name == "aten::bmm"
}

// compiled reports whether torch.compile made some of a side's kernels.
func (s traceSide) compiled() bool {
	return slices.ContainsFunc(s.Run.Timeline.Names, func(name string) bool {
		return strings.HasPrefix(name, "triton_") || strings.HasPrefix(name, "Torch-Compiled Region") ||
			strings.HasPrefix(name, "CompiledFunction")
	})
}
