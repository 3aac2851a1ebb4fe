package replay

import (
	"cmp"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker"
)

// Part is a use of time on the critical path.
type Part uint8

var partWords = [parts]string{
	"kernels", "copies", "exchanges", "loading", "host", "launch to start",
	"return from a wait", "device latency",
}

// String returns the part's word.
func (p Part) String() string {
	if int(p) < len(partWords) {
		return partWords[p]
	}
	return "unknown"
}

// CriticalTime is the time of the judged steps' critical path by part, in nanoseconds. A change
// that shortens none of it shortens no step.
type CriticalTime [parts]int64

// LongestParts returns those that take something, most first.
func (p CriticalTime) LongestParts() []Spent {
	var out []Spent
	for part, ns := range p {
		if ns > 0 {
			out = append(out, Spent{Part(part), -1, ns})
		}
	}
	slices.SortStableFunc(out, func(a, b Spent) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// total returns the length of the path.
func (p CriticalTime) total() int64 {
	sum := int64(0)
	for _, ns := range p {
		sum += ns
	}
	return sum
}

// HostShare returns the share of the path in which the host computes or launches.
func (p CriticalTime) HostShare() float64 {
	return float64(p[Host]+p[Launching]) / float64(max(1, p.total()))
}

// Shares of the path from which a resource is named as the limit. [J] With fewer kernels a device that is twice as fast
// makes steps at most 1.5 times as fast, and the waits between kernels are the program's.
const (
	deviceBinds = 2.0 / 3
	otherBinds  = 0.5
)

// binds returns the two resources with most of the path, "" for one that has too little of it to be the limit.
func (p CriticalTime) binds(several bool) (first, second stoker.Resource) {
	var order []stoker.Resource
	of := map[stoker.Resource]int64{}
	for part, ns := range p {
		r := Part(part).boundResource(several)
		if _, seen := of[r]; !seen {
			order = append(order, r)
		}
		of[r] += ns
	}
	sort.SliceStable(order, func(i, j int) bool { return of[order[i]] > of[order[j]] })
	if all := float64(p.total()); order[0] == stoker.GPU && float64(p[Kernels]) < deviceBinds*all ||
		float64(of[order[0]]) < otherBinds*all {
		return "", order[1]
	}
	return order[0], order[1]
}

// Network is what exchanges between ranks are bound by. The closed law has no such
// resource.
const Network stoker.Resource = "network"

// boundResource returns the resource that limits a part.
func (p Part) boundResource(several bool) stoker.Resource {
	switch p {
	case Kernels, Device:
		return stoker.GPU
	case Copies:
		return stoker.Link
	case Exchanges:
		return Network
	case Loading:
		if several {
			return stoker.Worker
		}
		return stoker.MainThread
	case Host, Launching, Returning, parts:
	}
	return stoker.MainThread
}

// Spent is the critical path's time under one name.
type Spent struct {
	Part Part
	Name int32 // index into Timeline.Names: of the work, of the innermost operator around what the host did; -1 none
	Time int64
}

// The parts of a step.
const (
	Kernels   Part = iota // a kernel ran
	Copies                // a copy ran
	Exchanges             // a collective ran
	Loading               // the loop waited for a batch
	Host                  // the launching thread thought or called
	Launching             // from a call to the start of its work
	Returning             // from the end of work to the return of the call that waited for it
	Device                // from one queued piece of work to the next
	parts
)
