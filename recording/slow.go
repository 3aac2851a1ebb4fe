package recording

import (
	"cmp"
	"slices"
)

// SlowItems holds the samples that the slowest fetches of a trainer have in common.
type SlowItems struct {
	Items   []int64 // numbers in the data set, in order; none if fetches share none
	Fetches int     // number of slow fetches
	With    int     // number of those that have the first of the items
	Seconds float64 // of the slowest
}

// A sample counts as the slow one of its batch if leastShared slow fetches have it, which cannot be
// chance. With a single slow fetch, it does so only if the batch has tellsOne samples.
const (
	leastShared = 2
	tellsOne    = 1
)

// FindSlowItems compares the slow fetches of a trainer: a sample that is slow in each epoch is in several.
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
