package operators

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/recording"
)

// Table is what the operators of a whole recording cost.
type Table struct {
	Rows    []Row // by Options.By, largest first
	Of      int   // rows before they were cut to Options.Top
	CPU     int64 // host time of all rows, each instant of a thread once; nanoseconds
	Device  int64 // device time of all work
	Outside int64 // of it, what no recorded operator launched
	Ranks   int   // processes whose calls are counted
	Torch   bool  // operators are PyTorch's
	By      By
	Shapes  bool
}

// Row is one operator. Nanoseconds.
type Row struct {
	Name       string
	Shapes     string // of the operands as recorded; "" unless asked for
	Calls      int
	CPU        int64  // on the host, the calls within included
	CPUSelf    int64  // without them
	Device     int64  // of the work that it or a call within launched
	DeviceSelf int64  // of the work that it launched itself
	Source     string // the user's line that most of its time comes from, "train.py(41): forward"; "" unknown
}

// By is the order of a table.
type By string

// The orders.
const (
	ByGPU  By = "gpu"  // time on the device, the calls within included
	ByCPU  By = "cpu"  // time on the host, the calls within included
	BySelf By = "self" // own time on the device; where no device was recorded, on the host
)

// Options say which table.
type Options struct {
	Top    int  // rows to keep; 0: all
	By     By   // "": BySelf
	Shapes bool // a row per operator and operand shapes
}

// ParseBy reads an order.
func ParseBy(s string) (By, error) {
	switch by := By(s); by {
	case ByGPU, ByCPU, BySelf:
		return by, nil
	case "":
		return BySelf, nil
	}
	return "", fmt.Errorf("unknown order %q: choose gpu (time on the device), cpu (time on the host) or "+
		"self (own time)", s)
}

// Share is a row's part of all device time by its own work; where no device was
// recorded, of all host time by its own. 0 to 1.
func (t *Table) Share(r Row) float64 {
	switch {
	case t.Device > 0:
		return float64(r.DeviceSelf) / float64(t.Device)
	case t.CPU > 0:
		return float64(r.CPUSelf) / float64(t.CPU)
	}
	return 0
}

// TabulateAndMeasure is Tabulate and Measure of one run, in less time than one after the other.
func TabulateAndMeasure(run *recording.Run, all *idle.Analysis, o Options) (*Table, *Roofline) {
	g := nestOf(run.Timeline)
	return tabulate(g, o), measureRoofline(run, all, g)
}

// Tabulate adds up the operators of a Timeline.
func Tabulate(t *recording.Timeline, o Options) *Table { return tabulate(nestOf(t), o) }

func tabulate(g *nest, o Options) *Table {
	t := g.t
	b := &builder{nest: g, options: o, of: make([]int32, len(t.Host.Start)), keys: map[groupKey]int32{}}
	b.host()
	out := &Table{
		By: o.By, Shapes: o.Shapes, Ranks: processes(t),
		Torch: slices.ContainsFunc(t.Names, recording.TorchSign),
	}
	if out.By == "" {
		out.By = BySelf
	}
	b.addDevices(out)
	for i := range b.rows {
		out.CPU += b.rows[i].CPUSelf
	}
	order := b.sorted(out)
	out.Of = len(order)
	if o.Top > 0 && o.Top < len(order) {
		order = order[:o.Top]
	}
	b.sources(order)
	for _, row := range order {
		out.Rows = append(out.Rows, b.rows[row])
	}
	return out
}

// processes is how many processes' calls a Timeline holds.
func processes(t *recording.Timeline) int {
	called := make([]bool, len(t.Threads))
	for i, thread := range t.Host.Thread {
		called[thread] = called[thread] || t.Host.Kind[i] == recording.Op
	}
	seen := map[[2]int]bool{}
	for i, th := range t.Threads {
		if called[i] {
			seen[[2]int{th.PID, th.Rank}] = true
		}
	}
	return len(seen)
}

type groupKey struct{ name, shapes int32 }

// builder makes a table.
type builder struct {
	*nest
	options Options
	of      []int32 // row of each call, -1 none
	keys    map[groupKey]int32
	names   []int32 // with one name for all steps; by index into Timeline.Names
	rows    []Row
}

// host adds up calls and their time on the host.
func (b *builder) host() {
	h := &b.t.Host
	b.names = oneStep(b.t.Names)
	for _, call := range b.order {
		if passedOver(b.t.Names[h.Name[call]]) {
			b.of[call] = -1
			continue
		}
		length := h.End[call] - h.Start[call]
		p := b.parent[call]
		if p >= 0 {
			b.rows[b.of[p]].CPUSelf -= length
		}
		if b.same[call] {
			b.of[call] = b.of[p]
			b.rows[b.of[p]].CPUSelf += length
			continue
		}
		b.of[call] = b.rowOf(call)
		r := &b.rows[b.of[call]]
		r.Calls++
		r.CPU += length
		r.CPUSelf += length
	}
}

func (b *builder) rowOf(call int32) int32 {
	k := groupKey{b.names[b.t.Host.Name[call]], -1}
	if b.options.Shapes {
		k.shapes = b.t.Host.Shapes[call]
	}
	at, found := b.keys[k]
	if !found {
		at = int32(len(b.rows))
		b.keys[k] = at
		r := Row{Name: b.t.Names[k.name]}
		if _, step := recording.StepSpan(r.Name); step {
			r.Name = "ProfilerStep*"
		}
		if k.shapes >= 0 {
			r.Shapes = b.t.Names[k.shapes]
		}
		b.rows = append(b.rows, r)
	}
	return at
}

// oneStep gives the marks of all steps the same name.
func oneStep(names []string) []int32 {
	out := make([]int32, len(names))
	step := int32(-1)
	for i, name := range names {
		out[i] = int32(i)
		if _, is := recording.StepSpan(name); is {
			if step < 0 {
				step = int32(i)
			}
			out[i] = step
		}
	}
	return out
}

// mostDeep bounds how far work is added to the calls around its launch, so that a
// file made for it cannot make this take for ever. Real ones nest some thirty deep.
const mostDeep = 1000

// addDevices hands the devices' work to the operators that launched it.
func (b *builder) addDevices(out *Table) {
	w := &b.t.Device
	for i := range w.Start {
		length := w.End[i] - w.Start[i]
		out.Device += length
		op := int32(-1)
		if w.Call[i] >= 0 {
			op = b.operator(w.Call[i])
		}
		if op < 0 || b.of[op] < 0 {
			out.Outside += length
			continue
		}
		b.rows[b.of[op]].DeviceSelf += length
		for depth := 0; op >= 0 && depth < mostDeep; op, depth = b.parent[op], depth+1 {
			if !b.same[op] {
				b.rows[b.of[op]].Device += length
			}
		}
	}
}

// sorted orders the rows; names settle ties, so that the same file gives the same
// table.
func (b *builder) sorted(out *Table) []int32 {
	order := make([]int32, len(b.rows))
	for i := range order {
		order[i] = int32(i)
	}
	value := func(r *Row) int64 {
		switch {
		case out.By == ByCPU:
			return r.CPU
		case out.By == ByGPU:
			return r.Device
		case out.Device > 0:
			return r.DeviceSelf
		}
		return r.CPUSelf
	}
	slices.SortFunc(order, func(x, y int32) int {
		a, c := &b.rows[x], &b.rows[y]
		return cmp.Or(cmp.Compare(value(c), value(a)), cmp.Compare(c.CPUSelf, a.CPUSelf), cmp.Compare(a.Name, c.Name),
			cmp.Compare(a.Shapes, c.Shapes))
	})
	return order
}
