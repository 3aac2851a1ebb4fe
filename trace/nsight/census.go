package nsight

import (
	"slices"
)

// histogram counts events over time, in bins of 2^shift ns that grow as needed.
type histogram struct {
	shift uint
	bins  map[int64]*[10]int32 // by place: events of each table

	recent int64 // the bin of the event before: mostly that of the next one
	bin    *[10]int32
}

// mostBins is fine enough: of an hour, bins of 0.1 s.
const mostBins = 1 << 16

func (h *histogram) addEvent(at int64, table int, n int32) {
	place := at >> h.shift
	if place == h.recent && h.bin != nil {
		h.bin[table] += n
		return
	}
	bin := h.bins[place]
	if bin == nil {
		if len(h.bins) >= mostBins {
			h.coarsen()
			h.addEvent(at, table, n)
			return
		}
		bin = &[10]int32{}
		h.bins[place] = bin
	}
	h.recent, h.bin = place, bin
	bin[table] += n
}

// coarsen doubles the bins.
func (h *histogram) coarsen() {
	old := h.bins
	h.bin = nil
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

// mostSampled is how many rows of a table stand for the others in the census of a
// file with more events than may be kept: the window is then right to 1/8192.
const mostSampled = 8192

// takeCensus counts all events and settles the window.
func (r *reader) takeCensus() error {
	total, err := r.countRows()
	if err != nil {
		return err
	}
	h := &histogram{shift: 24, bins: map[int64]*[10]int32{}}
	for i, table := range eventTables {
		take := r.countAll
		if total > int64(r.most) && r.rows[table] > mostSampled {
			take = r.countSome
		}
		if err := take(h, i); err != nil {
			return err
		}
	}
	r.chooseWindow(h)
	r.seen, r.done = 0, 0 // from here on rows are read for good
	return nil
}

// countRows counts the rows of each table of events, and ignores their content.
func (r *reader) countRows() (total int64, err error) {
	rows := map[string]int64{}
	for _, table := range eventTables {
		if t := r.db.tables[table]; t != nil && t.columnName("start") != "" {
			if rows[table], err = r.db.countRows(r.ctx, t); err != nil {
				return 0, err
			}
			total += rows[table]
		}
	}
	r.rows = rows
	return total, nil
}

// countAll reads every row of a table.
func (r *reader) countAll(h *histogram, i int) error {
	kinds := []string(nil)
	if eventTables[i] == "NVTX_EVENTS" {
		kinds = []string{"eventType"}
	}
	return r.scanColumns(eventTables[i], []string{"start"}, kinds, func(row *row) error {
		if at, ok := row.intAt(0); ok && at >= 0 && at < latest {
			h.addEvent(at, i, 1)
			r.out.Events++
			return nil
		}
		if kinds != nil {
			if kind, known := row.intAt(1); known && !r.labels.ranges[kind] {
				return nil // a library registers its NVTX domain before the recording begins
			}
		}
		r.dropped["with an impossible time"]++
		return nil
	})
}

// countSome reads some rows, which represent the whole table.
func (r *reader) countSome(h *histogram, i int) error {
	t := r.db.tables[eventTables[i]]
	var times []int64
	err := r.db.sampleRows(r.ctx, t, t.columnName("start"), mostSampled, func(row *row) {
		if at, ok := row.intAt(0); ok && at >= 0 && at < latest {
			times = append(times, at)
		}
	})
	all, n := r.rows[eventTables[i]], int64(len(times))
	for k, at := range times {
		h.addEvent(at, i, int32((int64(k)+1)*all/n-int64(k)*all/n)) // together all
	}
	r.out.Events += all
	return err
}

// chooseWindow chooses the part to read: everything, else as much as may be kept around the
// middle of the device's work, where a program that starts up and trains trains.
func (r *reader) chooseWindow(h *histogram) {
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
	lo, hi, total := middle, middle+1, h.allEvents(places[middle])
	for near(lo-1) || near(hi) {
		left := near(lo-1) && (!near(hi) || middle-lo < hi-1-middle)
		next := hi
		if left {
			next = lo - 1
		}
		if total += h.allEvents(places[next]); total > r.most {
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
	if r.narrow = lo > 0 || hi < len(places); !r.narrow {
		return
	}
	seconds := func(bin int64) float64 { return float64((bin-places[0])<<h.shift) / 1e9 }
	r.addWarning("The file holds %d events, and %d are kept in memory: of its %.1f s, those from %.1f to %.1f s "+
		"were read, around the middle of the device's work.",
		r.out.Events, r.most, seconds(places[len(places)-1]+1), seconds(places[lo]), seconds(places[hi-1]+1))
}

// outside counts what was not read.
func (r *reader) outside() {
	if r.narrow {
		r.dropped["outside of the part that was read"] += max(0, int(r.out.Events-r.seen))
	}
}

// middle is the place of the bin in which the device's work is half over; of all
// events where the device has none.
func (h *histogram) middle(places []int64) int {
	device, all := 0, 0
	for _, at := range places {
		device += h.deviceEvents(at)
		all += h.allEvents(at)
	}
	count := h.deviceEvents
	if device == 0 {
		device, count = all, h.allEvents
	}
	done := 0
	for i, at := range places {
		if done += count(at); 2*done >= device {
			return i
		}
	}
	return len(places) - 1
}

func (h *histogram) allEvents(at int64) (n int) {
	for _, c := range h.bins[at] {
		n += int(c)
	}
	return n
}

func (h *histogram) deviceEvents(at int64) (n int) {
	for _, c := range h.bins[at][:len(workTables)] {
		n += int(c)
	}
	return n
}
