package columns

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// stream writes pieces of work on one stream, each by a call of its own unless it names one.
type piece struct {
	from, to int64
	call     int32 // 0: the call of its place
}

func timelineOf(pieces []piece, waits ...[2]int64) *recording.Timeline {
	t := &recording.Timeline{
		Names: []string{"cudaLaunchKernel", "kernel", "cudaDeviceSynchronize"}, Threads: []recording.Thread{{PID: 1}},
		Devices: []recording.Device{{PID: 1}},
	}
	for i, p := range pieces {
		t.Host.Append(recording.CallRow{Start: int64(i), End: int64(i) + 1, Kind: recording.Runtime, Shapes: -1, Types: -1})
		call := int32(i)
		if p.call > 0 {
			call = p.call
		}
		t.Device.Append(recording.WorkRow{
			Start: p.from, End: p.to, Name: 1, Stream: 7, Call: call, Bytes: -1, Group: -1,
			PerSM: float32(math.NaN()), Occupancy: float32(math.NaN()),
		})
		t.End = max(t.End, p.to)
	}
	for _, w := range waits { // a negative end: for the stream alone
		if w[1] < 0 {
			t.Names[2], w[1] = "cudaStreamSynchronize", -w[1]
		}
		t.Host.Append(recording.CallRow{Start: w[0], End: w[1], Name: 2, Kind: recording.Runtime, Shapes: -1, Types: -1})
	}
	return t
}

// A length that no stream allows is cut where the next piece starts, or where the wait for the
// device returned. What streams do allow stays.
func TestClipOverlaps(t *testing.T) {
	row := func(n int) (out []piece) {
		for i := range n {
			out = append(out, piece{from: 1000 * int64(i+1), to: 1000*int64(i+1) + 900})
		}
		return out
	}
	longer := func(at int, to int64, pieces []piece) []piece {
		pieces[at].to = to
		return pieces
	}
	const ms = 1_000_000
	for name, c := range map[string]struct {
		pieces []piece
		waits  [][2]int64
		want   map[int]int64 // ends that are cut
	}{
		"as it should be":                        {row(20), nil, nil},
		"over all that follow":                   {longer(3, 60*ms, row(20)), nil, map[int]int64{3: 5000}},
		"two of them":                            {longer(9, 70*ms, longer(3, 60*ms, row(30))), nil, map[int]int64{3: 5000, 9: 11_000}},
		"over one: it began early":               {longer(3, 5950, row(20)), nil, nil},
		"into the next one":                      {longer(3, 5500, row(20)), nil, nil},
		"the last, behind a wait":                {longer(19, 60*ms, row(20)), [][2]int64{{500, 21_000}}, map[int]int64{19: 21_000}},
		"the last, behind a wait for its stream": {longer(19, 60*ms, row(20)), [][2]int64{{500, -21_000}}, map[int]int64{19: 21_000}},
		"the last, no wait tells":                {longer(19, 60*ms, row(20)), nil, nil},
		"the last, clocks differ":                {longer(19, 2*ms, row(20)), [][2]int64{{500, 21_000}}, nil},
		"rows that nest everywhere":              {[]piece{{from: 0, to: 900}, {from: 1, to: 100}, {from: 200, to: 300}, {from: 1000, to: 1900}, {from: 1001, to: 1100}, {from: 1200, to: 1300}}, nil, nil},
		"pieces of one graph": {[]piece{
			{from: 1000, to: 9000, call: 2}, {from: 1100, to: 1200, call: 2}, {from: 1300, to: 1400, call: 2}, {from: 9100, to: 9200},
		}, nil, nil},
	} {
		tl := timelineOf(c.pieces, c.waits...)
		clipped := ClipOverlaps(tl)
		ends := slices.Clone(tl.Device.End)
		for i, p := range c.pieces {
			want, cut := c.want[i]
			if !cut {
				want = p.to
			}
			if ends[i] != want {
				t.Errorf("%s: piece %d ends at %d, want %d", name, i, ends[i], want)
			}
		}
		if clipped != len(c.want) {
			t.Errorf("%s: %d were cut, want %d", name, clipped, len(c.want))
		}
		if clipped > 0 && tl.End != max(slices.Max(tl.Host.End), slices.Max(ends)) {
			t.Errorf("%s: the recording ends at %d", name, tl.End)
		}
	}
}
