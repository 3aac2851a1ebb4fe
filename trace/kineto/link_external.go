package kineto

import (
	"github.com/stoker-dev/stoker/recording"
)

// linkByExternalIDs links what neither a correlation id nor a flow does: profilers of ROCm of
// before PyTorch 2.5 write the number of the operator with its calls and its work, and nothing
// else. An operator's first piece of work belongs to its first launch, and so on. Launches that carry no
// number are those within the operator. If none was recorded, the operator itself counts as the call.
func (b *builder) linkByExternalIDs() {
	works := map[int32][]int32{} // by external id, in order of start
	for k, i := range b.work {
		if w := b.store.work.at(int(i)); b.call[k] < 0 && w.ext > 0 {
			works[w.ext] = append(works[w.ext], int32(k))
		}
	}
	if len(works) == 0 {
		return
	}
	launches, operators := map[int32][]int32{}, map[int32]int32{}
	for k, i := range b.host {
		h := b.store.host.at(int(i))
		if h.corr >= 0 {
			continue
		}
		ext := number32(-h.corr)
		if works[ext] == nil {
			continue
		}
		switch {
		case h.kind != recording.Runtime:
			operators[ext] = int32(k)
		case startsWork(b.t.Names[h.name]):
			launches[ext] = append(launches[ext], int32(k))
		}
	}
	for ext, of := range works {
		calls := launches[ext]
		if op, found := operators[ext]; len(calls) == 0 && found {
			calls = b.launchesWithin(op)
		}
		for n, k := range of {
			if len(calls) > 0 {
				b.call[k] = b.callBefore(calls, n, b.store.work.at(int(b.work[k])).start)
			}
		}
	}
}

// launchesWithin are the launches that begin within an operator on its thread; without any, the operator.
func (b *builder) launchesWithin(op int32) (calls []int32) {
	h := &b.t.Host
	for k := op + 1; int(k) < len(h.Start) && h.Start[k] < h.End[op]; k++ {
		if h.Thread[k] == h.Thread[op] && h.Kind[k] == recording.Runtime && startsWork(b.t.Names[h.Name[k]]) {
			calls = append(calls, k)
		}
	}
	if len(calls) == 0 {
		return []int32{op}
	}
	return calls
}

// callBefore is the n-th of some calls, or an earlier one that had begun when its work did.
func (b *builder) callBefore(calls []int32, n int, start int64) int32 {
	n = min(n, len(calls)-1)
	for n > 0 && b.t.Host.Start[calls[n]]+b.base > start {
		n--
	}
	return calls[n]
}

// startsWork reports whether a call of a runtime puts work on a device.
func startsWork(name string) bool {
	return recording.LaunchesWork(name) || recording.ContainsAny(name, "emcpy", "emset")
}
