package steps

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stoker-dev/stoker/recording"
)

// namedBeats are the steps that people and servers marked by named ranges: of the
// families of ranges the one that lasts longest, from begin to begin. One range is
// enough if it is a server's.
func (f *finder) namedBeats(pid int) ([]beat, string) {
	families := map[string][]beat{}
	total := map[string]int64{}
	known := map[int32]string{}
	h := &f.t.Host
	for k, kind := range h.Kind {
		if kind != recording.Annotation || f.processOf(int32(k)) != pid {
			continue
		}
		family, seen := known[h.Name[k]]
		if !seen {
			family, _, _ = recording.StepRange(f.t.Names[h.Name[k]])
			known[h.Name[k]] = family
		}
		if beats := families[family]; family != "" && (len(beats) == 0 || h.Start[k] >= beats[len(beats)-1].end) {
			families[family] = append(beats, beat{h.Start[k], h.End[k], f.rangeNumber(h.Name[k], beats)})
			total[family] += h.End[k] - h.Start[k]
		}
	}
	best := ""
	for family, beats := range families {
		if (len(beats) > 1 || recording.ServingRange(family)) &&
			(best == "" || cmp.Or(cmp.Compare(total[family], total[best]), cmp.Compare(best, family)) > 0) {
			best = family
		}
	}
	return joinBeats(wholeBeats(families[best])), best
}

// rangeNumber is the number in a range's name if it continues the count; else the next number.
func (f *finder) rangeNumber(name int32, before []beat) int {
	_, digits, _ := recording.StepRange(f.t.Names[name])
	n, err := strconv.Atoi(digits)
	switch last := len(before) - 1; {
	case last < 0 && err != nil:
		return 0
	case last >= 0 && (err != nil || n <= before[last].n):
		return before[last].n + 1
	}
	return n
}

// longPause is how many times the median range may pass until the next one for the
// time between them to be theirs: a server is also idle between requests. [J]
const longPause = 3

// joinBeats makes a step last until the next one begins.
func joinBeats(beats []beat) []beat {
	var lengths []int64
	for _, b := range beats {
		lengths = append(lengths, b.end-b.start)
	}
	slices.Sort(lengths)
	for i := 1; i < len(beats); i++ {
		if beats[i].start-beats[i-1].end <= longPause*lengths[len(lengths)/2] {
			beats[i-1].end = beats[i].start
		}
	}
	return beats
}
