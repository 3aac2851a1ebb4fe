package idle

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/predict/replay"
	"github.com/stoker-dev/stoker/recording"
)

// NameTotal is what all kernels of one name took in a window.
type NameTotal struct {
	Name    int32
	Family  Family
	Cores   CoreKind
	Count   int
	Time    int64
	Usual   int64 // of all but collectives, with strays as long as usual
	Small   int64 // of it, with less than a fifth of a block per SM
	Longest int32 // the work that took longest
}

// Kernels is what the kernels of a device's window amount to.
type Kernels struct {
	Totals   []NameTotal // by name, in order of appearance
	Count    int
	Time     int64 // sum over kernels, collectives left out
	Family   [Exchange + 1]int64
	Plain    int64 // matrix kernels known not to use Tensor Cores
	Tensor   int64 // matrix kernels known to use them
	Vector   int64 // products with a vector, on whichever cores
	Median   int64 // of a kernel's length
	SMs      float64
	Known    int64 // time of the kernels whose blocks per SM are known
	SmallFor int64 // of it, with less than half a block per SM
	Smallest int32 // the kernel with a small grid that took most time, -1 none
	Strays   []Stray

	Chains  int   // runs of two and more elementwise kernels on a stream
	Chained int64 // their time
	Fused   float64
	Longest int      // kernels in the longest chain
	Chain   [2]int32 // first and last work of the longest chain
	streams map[int32]*replay.Chain
}

// smallGrid is the number of blocks per SM below which a kernel leaves most of
// the device empty. (torch-tb-profiler counts min(blocks/SMs, 1) as efficiency;
// half is a start value. [J])
const smallGrid = 0.5

// commGrid is the number of blocks per SM below which long kernels look like an
// exchange between ranks, which needs few: about 20 blocks. [J]
const commGrid = 0.2

// SumKernels adds up a device's kernels in its window. Strays are as long as usual in all but the totals by name.
func (a *Analysis) SumKernels(d *Device) *Kernels {
	k := &Kernels{Smallest: -1, Chain: [2]int32{-1, -1}, SMs: math.NaN(), streams: map[int32]*replay.Chain{}}
	place := recording.NoPlaces(len(a.t.Names))
	w := &a.t.Device
	weighted := 0.0
	small := map[int32]int64{}
	var lengths histogram
	ends := func(works []int32) { k.addChain(w, works) }
	var computes []int32
	for _, i := range a.works.members(d.Index) {
		if !isKernel(w.Kind[i]) || w.Start[i] < d.From || w.Start[i] >= d.To {
			continue
		}
		if total := k.total(a, place, i); total.add(w, i) != Exchange {
			computes = append(computes, i)
			k.Time += w.End[i] - w.Start[i]
		} else {
			k.Family[Exchange] += w.End[i] - w.Start[i]
		}
	}
	k.Strays = a.findStrays(d, k.Totals, place, k.Time)
	k.Count, k.Time = len(computes), 0
	for _, i := range computes {
		total, length := &k.Totals[place[w.Name[i]]], k.length(w, i)
		total.Usual += length
		k.Family[total.Family] += length
		k.Time += length
		lengths.addLength(length)
		scales := ScalesChannels(a.t.Names[w.Name[i]])
		k.streamOf(w.Stream[i]).Follow(i, w.Blocks[i], total.Family == Elementwise, scales, ends)
		if per := float64(w.PerSM[i]); !math.IsNaN(per) && per > 0 {
			k.Known += length
			weighted += min(per, 1) * float64(length)
			if per < commGrid {
				total.Small += length
			}
			if per < smallGrid {
				k.SmallFor += length
				small[total.Name] += length
				if k.Smallest < 0 || small[total.Name] > small[w.Name[k.Smallest]] {
					k.Smallest = total.Longest
				}
			}
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(k.streams)) {
		k.streams[stream].End(ends)
	}
	if k.Known > 0 {
		k.SMs = weighted / float64(k.Known)
	}
	k.Median = lengths.median()
	k.matrix(a.t.Names)
	return k
}

// length is how long a kernel takes, of a stray as long as usual.
func (k *Kernels) length(w *recording.Work, work int32) int64 {
	order := func(s Stray, work int32) int { return cmp.Compare(s.Work, work) }
	if at, found := slices.BinarySearchFunc(k.Strays, work, order); found {
		return k.Strays[at].Usual
	}
	return w.End[work] - w.Start[work]
}

// add counts a piece of work, and returns its family.
func (t *NameTotal) add(w *recording.Work, work int32) Family {
	length := w.End[work] - w.Start[work]
	t.Count++
	t.Time += length
	if t.Longest < 0 || length > w.End[t.Longest]-w.Start[t.Longest] {
		t.Longest = work
	}
	return t.Family
}

func (k *Kernels) total(a *Analysis, place []int32, work int32) *NameTotal {
	name := a.t.Device.Name[work]
	if place[name] < 0 {
		t := NameTotal{Name: name, Longest: -1, Family: Exchange}
		if !a.IsCollective(work) {
			t.Family, t.Cores = FamilyOf(a.t.Names[name]), CoresOf(a.t.Names[name])
		}
		place[name] = int32(len(k.Totals))
		k.Totals = append(k.Totals, t)
	}
	return &k.Totals[place[name]]
}

func (k *Kernels) matrix(names []string) {
	for _, t := range k.Totals {
		if t.Family != Matmul && t.Family != Convolution {
			continue
		}
		if MultipliesVector(names[t.Name]) {
			k.Vector += t.Usual
			continue
		}
		switch t.Cores {
		case TensorCores:
			k.Tensor += t.Usual
		case PlainCores:
			k.Plain += t.Usual
		case UnknownCores:
		}
	}
}

// ScalesChannels reports whether a kernel is a library's batch norm of inference, which scales and shifts each value.
func ScalesChannels(name string) bool { return strings.Contains(name, "bn_fw_inf") }

func (k *Kernels) streamOf(stream int32) *replay.Chain {
	if k.streams[stream] == nil {
		k.streams[stream] = &replay.Chain{}
	}
	return k.streams[stream]
}

// addChain counts a chain of two or more kernels.
func (k *Kernels) addChain(w *recording.Work, works []int32) {
	n := len(works)
	if n < 2 {
		return
	}
	if k.Chain[0] < 0 || n > k.Longest {
		k.Chain = [2]int32{works[0], works[n-1]}
	}
	time := int64(0)
	for _, work := range works {
		time += k.length(w, work)
	}
	k.Chains++
	k.Chained += time
	k.Fused += float64(time) * replay.FusedBytes(n)
	k.Longest = max(k.Longest, n)
}

// histogram counts lengths in steps of an eighth, for a median without sorting all of them.
type histogram struct {
	counts  [64 * stepsOfDouble]int
	lengths []int64
}

// stepsOfDouble is how many steps lie between a length and its double.
const stepsOfDouble = 8

func (h *histogram) addLength(length int64) {
	h.counts[findBucket(length)]++
	h.lengths = append(h.lengths, length)
}

func findBucket(v int64) int {
	if v < stepsOfDouble {
		return int(max(0, v))
	}
	top := 0
	for x := v; x >= 2*stepsOfDouble; x >>= 1 {
		top++
	}
	return stepsOfDouble*(top+1) + int(v>>top) - stepsOfDouble
}

// median is the mean of the two in the middle.
func (h *histogram) median() int64 {
	n := len(h.lengths)
	return (h.at((n-1)/2) + h.at(n/2)) / 2
}

// at returns the length at a place in their order: only the step that holds it is sorted.
func (h *histogram) at(place int) int64 {
	before := 0
	for b, n := range h.counts {
		if before+n <= place {
			before += n
			continue
		}
		var within []int64
		for _, length := range h.lengths {
			if findBucket(length) == b {
				within = append(within, length)
			}
		}
		slices.Sort(within)
		return within[place-before]
	}
	return 0
}
