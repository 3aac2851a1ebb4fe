package tutorial_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stoker-dev/stoker/predict/tutorial"
	"github.com/stoker-dev/stoker/quantity"
)

func ExampleTransformationModel_Solve() {
	sample, _ := quantity.ParseBytes("500 KB")
	cpu, _ := quantity.ParseRate("2 GB/s")
	step, _ := quantity.ParseSeconds("11.74 ms")
	t, err := tutorial.TransformationModel{}.Solve(256, sample, cpu, step)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("transform", t.TransformTime, "step", t.StepTime)
	fmt.Printf("bottleneck %v, utilisation %.1f %%, slowdown %.2fx\n", t.IsBottleneck, 100*t.AcceleratorUtilization,
		t.SlowdownFactor)

	_, err = tutorial.TransformationModel{}.Solve(0, sample, cpu, step)
	fmt.Println(err)
	// Output:
	// transform 64 ms step 64 ms
	// bottleneck true, utilisation 18.3 %, slowdown 5.45x
	// batch size is 0: expected more than 0 and finite
}

func TestTransformationRefuses(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for i, want := range []string{"batch size", "sample size", "CPU throughput", "accelerator step time"} {
			in := [4]float64{256, 500e3, 2e9, 0.01174}
			in[i] = bad
			got, err := solve4(in)
			if err == nil || !strings.HasPrefix(err.Error(), want+" is ") || got != (tutorial.Transformation{}) {
				t.Errorf("%v: %+v, error %v, want one that begins with %q", in, got, err, want)
			}
		}
	}
	for _, apart := range [][4]float64{{1e300, 1e300, 1, 1}, {1, 1, 1, 1e-323}, {math.MaxFloat64, 1, 1e-300, 1}} {
		if got, err := solve4(apart); err == nil {
			t.Errorf("%v: %+v without an error", apart, got)
		}
	}
}

func solve4(in [4]float64) (tutorial.Transformation, error) {
	return tutorial.TransformationModel{}.Solve(quantity.Count(in[0]), quantity.Bytes(in[1]), quantity.Rate(in[2]),
		quantity.Seconds(in[3]))
}

// TestTransformationProperties: a faster CPU never makes the step longer, shares
// are shares, and nothing is infinite, whatever the inputs.
func TestTransformationProperties(t *testing.T) {
	holds := func(batch uint16, sample, cpu, faster uint32, step uint16) bool {
		in := [4]float64{float64(batch) + 1, float64(sample) + 1, float64(cpu) + 1, (float64(step) + 1) / 1e4}
		slow, err := solve4(in)
		in[2] += float64(faster)
		fast, err2 := solve4(in)
		return err == nil && err2 == nil && fast.StepTime <= slow.StepTime &&
			fast.AcceleratorUtilization >= slow.AcceleratorUtilization &&
			sound(slow) && sound(fast)
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
	wild := func(in [4]float64) bool {
		got, err := solve4([4]float64{math.Abs(in[0]), math.Abs(in[1]), math.Abs(in[2]), math.Abs(in[3])})
		return err != nil || sound(got)
	}
	if err := quick.Check(wild, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func sound(t tutorial.Transformation) bool {
	finite := !math.IsInf(float64(t.StepTime), 0) && !math.IsInf(t.SlowdownFactor, 0)
	return finite && t.AcceleratorUtilization >= 0 && t.AcceleratorUtilization <= 1 && t.SlowdownFactor >= 1 &&
		t.StepTime >= t.TransformTime && t.StepTime >= t.AcceleratorStepTime &&
		t.IsBottleneck == (t.TransformTime > t.AcceleratorStepTime)
}
