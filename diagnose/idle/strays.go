package idle

import (
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/recording"
)

// Stray is a kernel that takes far longer than at the same place of the other steps: something else held the device, or
// its time is wrong. It is no measure of the program's kernels.
type Stray struct {
	Work  int32
	Usual int64 // of its kind at the same place of the other steps, the median
}

// What a stray is. [J] Kernels of one name and grid differ by their data, but not so much from one step to the next.
// What is less than a hundredth of the kernels' time moves no share.
const (
	strayTimes = 50
	strayShare = 0.01
	fewToStray = 3 // steps with the same kernel, from which a median tells what is usual
)

// findStrays finds a device's strays in its judged steps, in order of time. all is the time of all its kernels there.
func (a *Analysis) findStrays(d *Device, totals []NameTotal, place []int32, all int64) (out []Stray) {
	if len(d.Steps) < fewToStray {
		return nil
	}
	w, works := &a.t.Device, a.works.members(d.Index)
	steps := make([][]int32, len(d.Steps))
	for i, s := range d.Steps {
		from := sort.Search(len(works), func(i int) bool { return w.Start[works[i]] >= s.From })
		to := sort.Search(len(works), func(i int) bool { return w.Start[works[i]] >= s.To })
		steps[i] = works[from:max(from, to)]
	}
	for _, step := range steps {
		for _, i := range step {
			length := w.End[i] - w.Start[i]
			if float64(length) < strayShare*float64(all) || !isKernel(w.Kind[i]) || place[w.Name[i]] < 0 {
				continue
			}
			total := totals[place[w.Name[i]]]
			if total.Family == Exchange || length*int64(total.Count) < 2*total.Time {
				continue
			}
			lengths := a.sameInOthers(steps, step, i)
			if len(lengths) < fewToStray {
				continue
			}
			if usual := lengths[(len(lengths)-1)/2]; usual > 0 && length >= strayTimes*usual {
				out = append(out, Stray{i, usual})
			}
		}
	}
	return out
}

func isKernel(kind recording.WorkKind) bool { return kind != recording.Copy && kind != recording.Set }

// sameInOthers is how long a kernel takes in each step that has it with the same grid at the same place, sorted: the
// n-th of its name. The step that it is of counts as well.
func (a *Analysis) sameInOthers(steps [][]int32, own []int32, work int32) (lengths []int64) {
	w, nth := &a.t.Device, 0
	for _, i := range own {
		if i == work {
			break
		}
		if w.Name[i] == w.Name[work] {
			nth++
		}
	}
	for _, step := range steps {
		n := 0
		for _, i := range step {
			if w.Name[i] != w.Name[work] {
				continue
			}
			if n == nth {
				if w.Blocks[i] == w.Blocks[work] && isKernel(w.Kind[i]) {
					lengths = append(lengths, w.End[i]-w.Start[i])
				}
				break
			}
			n++
		}
	}
	slices.Sort(lengths)
	return lengths
}
