package diagnose

import (
	"testing"

	"github.com/stoker-dev/stoker"
)

// A program that is compiled, and a server, capture graphs: to compile them is done, or not theirs to do.
func TestWhatLaunchesLess(t *testing.T) {
	for name, c := range map[string]struct {
		grounds Grounds
		want    stoker.Setting
	}{
		"a model":  {Grounds{}, stoker.Compile},
		"compiled": {Grounds{Made: Made{Fused: true}}, stoker.CUDAGraphs},
		"a server": {Grounds{Serves: true}, stoker.CUDAGraphs},
	} {
		if got := c.grounds.LaunchChange().Setting; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
