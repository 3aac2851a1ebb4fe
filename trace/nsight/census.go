package nsight

import (
	"slices"

	"stoker/trace/nsight/sqlite"
)

// Tables of events: first those of the device, then those of the host.
var (
	workTables  = []string{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}
	callTables  = []string{"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER", "NVTX_EVENTS", "OSRT_API", "CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"}
	eventTables = slices.Concat(workTables, callTables)
)

// histogram counts events over time, in bins of 2^shift ns that grow as needed.
type histogram struct {
	shift uint
	bins  map[int64]*[10]int32 // by place: events of each table
}

// mostBins is fine enough: of an hour, bins of 0.1 s.
const mostBins = 1 << 16

func (h *histogram) add(at int64, table int) {
	bin := h.bins[at>>h.shift]
	if bin == nil {
		if len(h.bins) >= mostBins {
			h.coarsen()
			h.add(at, table)
			return
		}
		bin = &[10]int32{}
		h.bins[at>>h.shift] = bin
	}
	bin[table]++
}

// coarsen doubles the bins.
func (h *histogram) coarsen() {
	old := h.bins
	h.shift++
	h.bins = make(map[int64]*[10]int32, mostBins)
	for at, from := range old {
		if to := h.bins[at>>1]; to != nil {
			for i := range to {
				to[i] += from[i]
			}
			continue
		}
		h.bins[at>>1] = from
	}
}

// census counts all events and settles the window.
func (r *reader) census() error {
	h := &histogram{shift: 24, bins: map[int64]*[10]int32{}}
	for i, table := range eventTables {
		err := r.scan(table, []string{"start"}, nil, func(row *sqlite.Row) error {
			if at, ok := row.Int(0); ok && at >= 0 && at < latest {
				h.add(at, i)
				r.out.Events++
			} else {
				r.dropped["with an impossible time"]++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	r.window(h)
	return nil
}

// window chooses what is read: everything, else as much as may be kept around the
// middle of the device's work, where a program that starts up and trains trains.
func (r *reader) window(h *histogram) {
	var places []int64
	for at := range h.bins {
		places = append(places, at)
	}
	if len(places) == 0 {
		return
	}
	slices.Sort(places)
	middle := h.middle(places)
	far := int64(longestRun) >> h.shift
	near := func(i int) bool {
		return i >= 0 && i < len(places) && max(places[i]-places[middle], places[middle]-places[i]) <= far/2
	}
	lo, hi, total := middle, middle+1, h.sum(places[middle])
	for near(lo-1) || near(hi) {
		left := near(lo-1) && (!near(hi) || middle-lo < hi-1-middle)
		next := hi
		if left {
			next = lo - 1
		}
		if total += h.sum(places[next]); total > r.most {
			total -= h.sum(places[next])
			break
		}
		if left {
			lo--
		} else {
			hi++
		}
	}
	r.from, r.to = places[lo]<<h.shift, (places[hi-1]+1)<<h.shift
	r.counts = map[string]int{}
	for _, at := range places[lo:hi] {
		for i, n := range h.bins[at] {
			r.counts[eventTables[i]] += int(n)
		}
	}
	r.outside(h, places, lo, hi, total)
}

// outside says what was not read.
func (r *reader) outside(h *histogram, places []int64, lo, hi, total int) {
	if lo == 0 && hi == len(places) {
		return
	}
	seconds := func(bin int64) float64 { return float64((bin-places[0])<<h.shift) / 1e9 }
	r.dropped["outside of the part that was read"] += int(r.out.Events) - total
	r.warn("The file holds %d events, of which %d are kept in memory: of its %.1f s, those from %.1f to %.1f s were read, around the middle of the device's work.",
		r.out.Events, r.most, seconds(places[len(places)-1]+1), seconds(places[lo]), seconds(places[hi-1]+1))
}

// middle is the place of the bin in which the device's work is half over; of all
// events where the device has none.
func (h *histogram) middle(places []int64) int {
	device, all := 0, 0
	for _, at := range places {
		device += h.work(at)
		all += h.sum(at)
	}
	count := h.work
	if device == 0 {
		device, count = all, h.sum
	}
	done := 0
	for i, at := range places {
		if done += count(at); 2*done >= device {
			return i
		}
	}
	return len(places) - 1
}

func (h *histogram) sum(at int64) (n int) {
	for _, c := range h.bins[at] {
		n += int(c)
	}
	return n
}

func (h *histogram) work(at int64) (n int) {
	for _, c := range h.bins[at][:len(workTables)] {
		n += int(c)
	}
	return n
}
