package advise

import (
	"testing"

	"github.com/stoker-dev/stoker"
)

// A plan says which DataLoader it is about: where it is made, or where the program iterates
// one that a library makes.
func TestWhichLoaderIsMeant(t *testing.T) {
	for _, c := range []struct{ call, where, want string }{
		{"/work/main.py:37", "/work/main.py:60", "/work/main.py:37"},
		{"/env/lib/python3.11/site-packages/timm/data/loader.py:136", "/work/train.py:60", "/work/train.py:60"},
		{"", "/work/train.py:60", "/work/train.py:60"},
	} {
		run := liveRun(t)
		run.Facts.Loaders[0].Call, run.Facts.Loaders[0].Where = c.call, c.where
		if fix := fixOf(t, run, stoker.NumWorkers); fix.Where != c.want {
			t.Errorf("%q: %q, want %q", c.call, fix.Where, c.want)
		}
	}
}
