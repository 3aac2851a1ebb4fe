package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// stepsOf writes steps of 750 us of kernels, one of which the host holds up.
func stepsOf(n, slow int, held float64) *recording.Run {
	p := newTape(hopper, "9.0")
	at := 0.0
	for i := range n {
		length := 760.0
		if i == slow {
			p.host(op, at, at+held, "aten::topk")
			length += held
		}
		p.host(mark, at, at+length, fmt.Sprintf("ProfilerStep#%d", i))
		p.run.Steps = append(p.run.Steps, recording.Step{
			PID: 1, Loader: 1, N: i, Start: at / 1e6, Period: length / 1e6, Wait: math.NaN(), Idle: math.NaN(), DevicePeriod: math.NaN(), Phase: recording.Train,
		})
		p.burst(at+length-755, 74, 10, wgmma)
		at += length
	}
	return p.run
}

func warned(v diagnose.Verdict, part string) bool {
	return slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.Contains(w, part) })
}

// One step that takes longer than all others together is no evidence of a usual one.
func TestOneStepDecidesNothing(t *testing.T) {
	for _, slow := range []int{3, 6, 10} {
		v := judge.Judge(stepsOf(12, slow, 21_600))
		if !v.Class.Is(diagnose.GPUBound) || v.Costs.Step > 1e-3 {
			t.Errorf("step %d of 22 ms among eleven of 0.76 ms: %s, %.2f ms each", slow, v.Class, 1e3*v.Costs.Step)
		}
	}
	for _, held := range []float64{3000, 5000} { // a step that carries the verdict, and not all of the time
		if v := judge.Judge(stepsOf(12, 6, held)); !warned(v, "one step carries the verdict") {
			t.Errorf("held for %.0f us: %s, %q", held, v.Class, v.Warnings)
		}
	}
	if v := judge.Judge(stepsOf(12, -1, 0)); warned(v, "one step carries") {
		t.Errorf("%q", v.Warnings)
	}
}
