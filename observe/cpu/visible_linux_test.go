package cpu

import "testing"

func TestWhichValuesHideAllGPUs(t *testing.T) {
	for value, none := range map[string]bool{
		"": true, " ": true, "-1": true, "-1,0": true, "NoDevFiles": true, ",1": true,
		"0": false, "1,-1": false, "GPU-8932f937": false, "MIG-GPU-8932f937/1/2": false,
	} {
		if namesNone(value) != none {
			t.Errorf("%q: %v", value, !none)
		}
	}
}
