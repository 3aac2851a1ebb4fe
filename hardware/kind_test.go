package hardware

import (
	"slices"
	"testing"
)

// The name of a GPU alone is one of its kinds, and never a kind of another GPU.
func TestFindKind(t *testing.T) {
	for name, want := range map[string]string{
		"a100": "a100-80gb-sxm", "A100": "a100-80gb-sxm", "NVIDIA A100": "a100-80gb-sxm", "a100-40gb": "a100-40gb-sxm", "a100 sxm": "a100-80gb-sxm",
		"h100": "h100-sxm", "v100": "v100-sxm-16gb", "v100-32gb": "v100-sxm-32gb", "gh200": "gh200-96gb",
		"sxm": "", "80gb": "", "a": "", "": "", "tpu": "", "rtx": "", "a100-pcie": "", "a1000": "", "h1": "",
	} {
		gpu, kinds, known := Known.FindKind(name)
		if gpu.Name != want || known != (want != "") || known && !slices.Contains(kinds, want) {
			t.Errorf("%q: %s of %v, want %q", name, gpu.Name, kinds, want)
		}
	}
	for _, key := range usualKinds {
		if _, found := FindGPU(key); !found {
			t.Errorf("%s is no row", key)
		}
	}
}
