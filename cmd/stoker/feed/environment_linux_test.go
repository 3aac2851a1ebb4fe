package feed

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/private/privatetest"
)

// The order of a set of strings comes from the seed, and is to be the same on other nodes.
func TestHashesOfACluster(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", privatetest.MakeFolder(t))
	for _, c := range []struct {
		own, ray string
		kept     bool
	}{{"", "", true}, {"7", "auto", true}, {"0", "auto", true}, {"", "auto", false}, {"random", "auto", false}} {
		t.Setenv("PYTHONHASHSEED", c.own)
		found, err := fedEnvironment([]string{"PYTHONHASHSEED=" + c.own}, feedFlags{ray: c.ray})
		if err != nil {
			t.Fatal(err)
		}
		seeds := slices.DeleteFunc(found, func(s string) bool { return !strings.HasPrefix(s, "PYTHONHASHSEED=") })
		if len(seeds) != 1 || (seeds[0] == "PYTHONHASHSEED="+c.own) != c.kept || (!c.kept && len(seeds[0]) < len("PYTHONHASHSEED=1")) {
			t.Errorf("%q, --ray %q: %v", c.own, c.ray, seeds)
		}
	}
}
