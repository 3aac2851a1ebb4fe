// Package columns is what the readers of traces share. It puts the columns of a Timeline
// in order and joins device work to the calls that launched it, for readers whose files are
// not in that order.
package columns

import (
	"cmp"
	"slices"
	"sort"
)

// MostDevices bounds a stranger's file, as each device is judged with all that the host did:
// eight GPUs of seven MIG devices each are 56. [J]
const MostDevices = 64

// TooManyDevices is why work beyond that is left out.
const TooManyDevices = "of more devices than any machine has"

// ByStart is the order of spans by start, the longer first where two start
// together, so that a caller comes before its callees; nil if they are in
// that order.
func ByStart(start, end []int64) []int32 {
	order := make([]int32, len(start))
	for i := range order {
		order[i] = int32(i)
	}
	compare := func(a, b int32) int {
		return cmp.Or(cmp.Compare(start[a], start[b]), cmp.Compare(end[b], end[a]), cmp.Compare(a, b))
	}
	if slices.IsSortedFunc(order, compare) {
		return nil
	}
	slices.SortFunc(order, compare)
	return order
}

// launchCall is a host call with the key of its process and correlation id.
type launchCall struct {
	key  uint64
	call int32
}

// LinkCalls finds the call that launched each piece of work: the one with its key, 0
// being none. Where a key was used more than once, in a file of several
// recordings, the last call before the work counts. Calls are in order of start.
// Work without a call gets -1.
func LinkCalls(callKeys []uint64, callStart []int64, workKeys []uint64, workStart []int64) []int32 {
	launches := launchesByKey(callKeys)
	out := make([]int32, len(workKeys))
	for i, key := range workKeys {
		out[i] = -1
		at, found := slices.BinarySearchFunc(launches, key,
			func(l launchCall, key uint64) int { return cmp.Compare(l.key, key) })
		if !found || key == 0 {
			continue
		}
		later := sort.Search(len(launches)-at-1, func(n int) bool {
			l := launches[at+1+n]
			return l.key != key || callStart[l.call] > workStart[i]
		})
		out[i] = launches[at+later].call
	}
	return out
}

// launchesByKey are the calls with a key, by key and then by time.
func launchesByKey(keys []uint64) []launchCall {
	n := 0
	for _, key := range keys {
		if key != 0 {
			n++
		}
	}
	out := make([]launchCall, 0, n)
	for i, key := range keys {
		if key != 0 {
			out = append(out, launchCall{key, int32(i)})
		}
	}
	slices.SortFunc(out,
		func(a, b launchCall) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.call, b.call)) })
	return out
}
