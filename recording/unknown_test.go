package recording

import (
	"math"
	"strings"
	"testing"
)

// What a recording does not say is unknown: also in one that an older version wrote, which
// left 0 out.
func TestMissingFieldsAreUnknown(t *testing.T) {
	text := `{"kind":"header","format":1}
{"kind":"facts","facts":{"machine":{"cpus":2,"locked_bytes":-1},"gpus":[{"index":0,"name":"H","memory_bytes":8e10}]}}
{"kind":"step","t":1,"pid":7,"rank":0,"device":0,"loader":0,"n":0,"period":0.5,"phase":"train"}
{"kind":"step","t":2,"pid":7,"rank":0,"device":0,"loader":0,"n":1,"period":0.5,"samples":16,"phase":"train"}
`
	run, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if s := run.Steps; len(s) != 2 || !math.IsNaN(s[0].Samples) || s[1].Samples != 16 {
		t.Errorf("steps %+v, want samples NaN and 16", s)
	}
	if m := run.Facts.Machine; m.ShmBytes != nil || m.MemoryBytes != nil || m.LockedBytes == nil || *m.LockedBytes != -1 {
		t.Errorf("machine %+v, want nothing but the lock's limit", m)
	}
	if g := run.Facts.GPUs; len(g) != 1 || g[0].PowerLimit != nil || g[0].MemoryBytes == nil || *g[0].MemoryBytes != 8e10 {
		t.Errorf("GPUs %+v, want a memory and no power limit", g)
	}
	w := Window{Steps: run.Steps}
	if n := w.Samples(); !math.IsNaN(n) {
		t.Errorf("%v samples a step, want unknown: one step does not tell", n)
	}
}

// A counter that is reset or wraps grows by the known part, over that time.
func TestGrowthOfAFallingCounter(t *testing.T) {
	for name, c := range map[string]struct {
		v        []float64
		by, rate float64
	}{
		"grows":          {[]float64{1, 3, 5, 7}, 6, 2},
		"wraps":          {[]float64{4294967290, 4294967292, 2, 4}, 4, 2},
		"falls twice":    {[]float64{5, 1, 3, 0}, 2, 2},
		"falls and ends": {[]float64{5, 1}, 0, math.NaN()},
		"stands":         {[]float64{3, 3, 3}, 0, 0},
	} {
		s := Series{V: c.v}
		for i := range c.v {
			s.T = append(s.T, float64(i))
		}
		by, _ := s.Growth(0, 10)
		if rate := s.Rate(0, 10); by != c.by || rate != c.rate && !(math.IsNaN(rate) && math.IsNaN(c.rate)) {
			t.Errorf("%s: %v at %v/s, want %v at %v/s", name, by, rate, c.by, c.rate)
		}
	}
}
