package recording

import (
	"cmp"
	"slices"
)

// SlowItems are samples that the slowest fetches of a trainer have in common.
type SlowItems struct {
	Items   []int64 // numbers in the data set, in order; none where fetches share none
	Fetches int     // slow fetches that were seen
	With    int     // those of them that have the first of the items
	Seconds float64 // of the slowest
}

// A sample is the slow one of its batch if that many slow fetches have it, which is no chance. Of a
// single fetch that is told only where its batch is small.
const (
	leastShared = 2
	tellsOne    = 1
)

// FindSlowItems compares the slow fetches of a trainer: what takes long in each epoch is in several.
func (r *Run) FindSlowItems(trainer int) (found SlowItems) {
	in := map[int64]int{}
	for _, f := range r.Facts.Slow {
		if f.PID != trainer {
			continue
		}
		found.Fetches++
		found.Seconds = max(found.Seconds, f.Seconds)
		for _, item := range f.Items {
			if in[item]++; len(f.Items) == tellsOne {
				in[item] = max(in[item], leastShared)
			}
		}
	}
	for item, n := range in {
		if n >= leastShared {
			found.Items = append(found.Items, item)
		}
	}
	slices.SortFunc(found.Items, func(a, b int64) int { return cmp.Or(cmp.Compare(in[b], in[a]), cmp.Compare(a, b)) })
	if len(found.Items) > 0 {
		found.With = min(found.Fetches, in[found.Items[0]])
		most := in[found.Items[0]]
		found.Items = slices.DeleteFunc(found.Items, func(item int64) bool { return in[item] < most })
		slices.Sort(found.Items)
	}
	return found
}
