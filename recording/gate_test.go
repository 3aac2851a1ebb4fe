package recording

import (
	"math"
	"strings"
	"testing"
)

// One number that cannot be is unknown, and the rest of the run stays.
func TestAbsurdNumbersAreUnknown(t *testing.T) {
	run, err := Read(strings.NewReader(`{"kind":"header","format":1,"version":"x"}
{"kind":"facts","facts":{"machine":{"cpus":8,"memory_bytes":1e300},"gpus":[{"index":0,"name":"g","power_limit_w":-1e308}]}}
{"kind":"step","t":1,"pid":1,"n":0,"period":0.1,"wait":1e308,"samples":1e300}
{"kind":"clock","pid":1,"n":0,"idle":-1e300,"device_period":4.9e-324}
{"kind":"step","t":1e300,"pid":1,"n":1,"period":0.1,"wait":0.1}
{"kind":"sample","t":1,"signal":"gpu.utilisation","subject":"gpu/0","value":-1e300}
{"kind":"sample","t":2,"signal":"gpu.utilisation","subject":"gpu/0","value":0.5}
`))
	if err != nil || len(run.Steps) != 1 {
		t.Fatalf("%v, %d steps", err, len(run.Steps))
	}
	s := run.Steps[0]
	for name, v := range map[string]float64{"wait": s.Wait, "samples": s.Samples, "idle": s.Idle, "device period": s.DevicePeriod} {
		if !math.IsNaN(v) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if s.Period != 0.1 || *run.Facts.Machine.MemoryBytes == *run.Facts.Machine.MemoryBytes {
		t.Errorf("period %v, memory %v", s.Period, *run.Facts.Machine.MemoryBytes)
	}
	if mean := run.Find("gpu.utilisation", "gpu/0").Mean(0, 3); mean != 0.5 {
		t.Errorf("the mean of a sample that cannot be and one of 0.5 is %v", mean)
	}
}

// A share of busy time is between 0 and 1, for any content of a file.
func TestSharesAreShares(t *testing.T) {
	text := header
	for _, line := range []string{"gpu.kernels 5", "gpu.kernels -1", "gpu.kernels 0.25", "gpu.utilisation 1.5", "gpu.power -1"} {
		signal, value, _ := strings.Cut(line, " ")
		text += `{"kind":"sample","t":1,"signal":"` + signal + `","subject":"gpu/0","value":` + value + "}\n"
	}
	run, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Find(GPUKernels, "gpu/0"); got == nil || len(got.V) != 1 || got.V[0] != 0.25 {
		t.Errorf("kernels: %+v", got)
	}
	if run.Find(GPUUtilisation, "gpu/0") != nil || run.Find(GPUPower, "gpu/0") == nil {
		t.Error("only shares are bounded, and one that is none is left out")
	}
}
