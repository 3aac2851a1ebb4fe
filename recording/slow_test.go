package recording

import (
	"slices"
	"testing"
)

// A sample that is slow in each epoch is in several slow fetches, whoever made them.
func TestFindSlowItems(t *testing.T) {
	fetch := func(trainer, by int, items ...int64) SlowFetch {
		return SlowFetch{PID: trainer, By: by, Seconds: 4, Items: items}
	}
	for what, c := range map[string]struct {
		slow  []SlowFetch
		items []int64
		with  int
	}{
		"none":            {nil, nil, 0},
		"one in common":   {[]SlowFetch{fetch(7, 8, 1, 312, 5), fetch(7, 9, 312, 6), fetch(7, 8, 2, 312)}, []int64{312}, 3},
		"nothing shared":  {[]SlowFetch{fetch(7, 8, 1, 2), fetch(7, 9, 3, 4)}, nil, 0},
		"other trainer's": {[]SlowFetch{fetch(6, 8, 1, 312), fetch(6, 9, 312, 6)}, nil, 0},
		"a batch of one":  {[]SlowFetch{fetch(7, 8, 41)}, []int64{41}, 1},
		"two alike":       {[]SlowFetch{fetch(7, 8, 3, 4), fetch(7, 9, 4, 3)}, []int64{3, 4}, 2},
		"most often":      {[]SlowFetch{fetch(7, 8, 3, 4), fetch(7, 9, 4, 3), fetch(7, 9, 4, 9)}, []int64{4}, 3},
	} {
		run := &Run{Facts: Facts{Slow: c.slow}}
		if got := run.FindSlowItems(7); !slices.Equal(got.Items, c.items) || got.With != c.with {
			t.Errorf("%s: %+v, want %v in %d fetches", what, got, c.items, c.with)
		}
	}
}
