package idle

import "github.com/stoker-dev/stoker/recording"

// Exchanges are the collectives of a device's window.
type Exchanges struct {
	Kinds   []Collective // by name, in order of appearance
	Any     int64        // time in which some collective ran
	Exposed int64        // of it, with no kernel of computation and no copy at the same time
}

// Collective is what collectives of one name amount to. Nanoseconds.
type Collective struct {
	Name    int32
	Count   int
	Time    int64
	Bytes   int64 // of those whose size is recorded
	Sized   int64 // time of those
	Exposed int64 // no kernel of computation ran at the same time
}

// SumExchanges adds up a device's collectives in its window.
func (a *Analysis) SumExchanges(d *Device) *Exchanges {
	out := &Exchanges{Exposed: d.Communication}
	w := &a.t.Device
	place := map[int32]int{}
	computing := a.computing(d.Index)
	end := d.From
	for _, i := range a.works.members(d.Index) {
		if w.Start[i] >= d.To {
			break
		}
		if !a.IsCollective(i) || w.Start[i] < d.From {
			continue
		}
		at, known := place[w.Name[i]]
		if !known {
			at = len(out.Kinds)
			place[w.Name[i]] = at
			out.Kinds = append(out.Kinds, Collective{Name: w.Name[i]})
		}
		c, length := &out.Kinds[at], w.End[i]-w.Start[i]
		c.Count, c.Time, c.Exposed = c.Count+1, c.Time+length, c.Exposed+a.uncovered(computing, i)
		if w.Bytes[i] > 0 {
			c.Bytes, c.Sized = c.Bytes+w.Bytes[i], c.Sized+length
		}
		if to := min(w.End[i], d.To); to > end {
			out.Any += to - max(end, w.Start[i])
			end = to
		}
	}
	return out
}

// Ranks that make a communicator in their first collective take [J] this long, ns, and so
// many times as long as for later ones.
const (
	longJoin  = 50_000_000
	joinTimes = 10
)

// opening is how long a device's window is waiting for the first collective of the recording,
// with no other work, and how much of that makes the communicator. The only one of a file is not the first of several.
func (a *Analysis) opening(d *Device) (alone, joining int64) {
	w := &a.t.Device
	end, first, most := int64(-1), int64(0), int64(0)
	for _, i := range a.works.members(d.Index) {
		switch {
		case !a.IsCollective(i):
		case end < 0:
			end, first = min(w.End[i], d.To), w.End[i]-w.Start[i]
		default:
			most = max(most, w.End[i]-w.Start[i])
		}
	}
	if end <= d.From || most == 0 && first < longJoin {
		return 0, 0
	}
	var total [levels]int64
	before := *d
	before.To = end
	a.levels(&before, func(level int, from, to int64) { total[level] += to - from })
	_, _, _, alone = apart(total)
	for s := range a.Slices(d, d.From, end) {
		if s.Cause == Communication {
			alone += s.To - s.From
		}
	}
	if first >= longJoin && first >= joinTimes*most {
		joining = alone
	}
	return alone, joining
}

// computing is when some kernel of computation runs on a device.
func (a *Analysis) computing(device int32) *stretches {
	w := &a.t.Device
	s := &stretches{}
	for _, i := range a.works.members(device) {
		if w.Kind[i] == recording.Kernel && !a.IsCollective(i) {
			s.extend(w.Start[i], w.End[i])
		}
	}
	return s
}

// uncovered is the time of a collective or a copy in which no kernel of computation runs.
func (a *Analysis) uncovered(computing *stretches, work int32) int64 {
	from, to := a.t.Device.Start[work], a.t.Device.End[work]
	return to - from - (computing.until(to) - computing.until(from))
}
