package picture

import (
	"encoding/binary"
	"math"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// Which kernels run here, of OpenCV's arithmetic and of Pillow's. Without them plain Go makes the same bytes.
var (
	canInterpolate = kernels.Run(kernels.Interpolate)
	canWarp        = kernels.Run(kernels.Warp)
	canFilter      = kernels.Run(kernels.Filter)
	canMix         = kernels.Run(kernels.Mix)
	canEnhance     = kernels.Run(kernels.Enhance)
)

// acrossGroup outputs are made at once, of 16 pixels for each four of them.
const acrossGroup = 16

// acrossTable is what the kernel is told of the columns: where each four begin, and for two times four of a group
// which of their 16 pixels they take, then the weights.
type acrossTable struct {
	origins []int32
	cells   []byte
}

// newAcrossTable is nil where the kernel does not run, or four outputs do not lie within 16 pixels.
func newAcrossTable(columns []between, from int) *acrossTable {
	const pixels, none = 16, 0x80
	if !canInterpolate || from < pixels {
		return nil
	}
	groups := (len(columns) + acrossGroup - 1) / acrossGroup
	t := &acrossTable{make([]int32, 4*groups), make([]byte, 128*groups)}
	for four := range t.origins {
		group, half, lane := four/4, four/2%2, four%2
		cells := t.cells[128*group+64*half+16*lane:]
		first := acrossGroup*group + 8*lane + 4*half
		origin := min(columns[min(first, len(columns)-1)].first, from-pixels)
		t.origins[four] = int32(origin)
		for i := range 4 {
			c := &columns[min(first+i, len(columns)-1)]
			if c.second-origin >= pixels {
				return nil
			}
			copy(cells[4*i:], []byte{byte(c.first - origin), none, byte(c.second - origin), none})
			copy(cells[32+4*i:], []byte{byte(c.weight), byte(c.weight >> 8), byte(c.weight2), byte(c.weight2 >> 8)})
		}
	}
	return t
}

// areaGroup outputs are summed at once.
const areaGroup = 8

// areaTable is what the kernel is told of the columns: for each step of each group where 8 pixels lie, how many bits
// behind that place, and their shares.
type areaTable struct {
	cells         []byte
	steps, groups int
}

// newAreaTable is nil where the kernel does not run. It reads four pixels for each.
func newAreaTable(columns []covered, from, to int) *areaTable {
	const pixels = 4
	if !canInterpolate || from < pixels {
		return nil
	}
	counts := make([]int, to)
	t := &areaTable{groups: (to + areaGroup - 1) / areaGroup}
	for _, c := range columns {
		counts[c.to]++
		t.steps = max(t.steps, counts[c.to])
	}
	clear(counts)
	t.cells = make([]byte, 96*t.steps*t.groups)
	for _, c := range columns {
		cell := t.cells[96*(c.to/areaGroup*t.steps+counts[c.to])+4*(c.to%areaGroup):]
		counts[c.to]++
		at := min(c.from, from-pixels)
		binary.LittleEndian.PutUint32(cell, uint32(at))
		binary.LittleEndian.PutUint32(cell[32:], uint32(8*(c.from-at)))
		binary.LittleEndian.PutUint32(cell[64:], math.Float32bits(c.share))
	}
	return t
}

// cubicGroup outputs are made at once, of four pixels each.
const cubicGroup = 8

// cubicTable is what a kernel is told of the columns. Where the pixels of each four lie within 16: for each group which
// those are, in what order they are taken, and their weights. Else: where the pixels of each lie, and their weights.
type cubicTable struct {
	cells  []byte
	groups int
	apart  bool // they do not lie within 16
}

// newCubicTable is nil where the kernels do not run, or there is nothing to do. All pixels lie within the row.
func newCubicTable(columns []cubicPlace, from int) *cubicTable {
	if !canFilter || len(columns) == 0 {
		return nil
	}
	t := &cubicTable{groups: (len(columns) + cubicGroup - 1) / cubicGroup}
	t.apart = !t.sortColumns(columns, from)
	if t.apart {
		t.findColumns(columns)
	}
	return t
}

// sortColumns says whether it could.
func (t *cubicTable) sortColumns(columns []cubicPlace, from int) bool {
	const pixels, none, size, half = 16, 0x80, 8*4*cubicGroup + 8, cubicGroup / 2
	if from < pixels {
		return false
	}
	t.cells = make([]byte, size*t.groups)
	origin := 0
	for x := range t.groups * cubicGroup {
		c, cell := &columns[min(x, len(columns)-1)], t.cells[size*(x/cubicGroup):]
		if x%half == 0 {
			origin = min(c.at[0], from-pixels)
			binary.LittleEndian.PutUint32(cell[size-8+4*(x/half%2):], uint32(origin))
		}
		if c.at[3]-origin >= pixels {
			return false
		}
		cell = cell[4*(x%cubicGroup):]
		for i, weight := range c.weights {
			copy(cell[4*cubicGroup*i:], []byte{byte(c.at[i] - origin), none, none, none})
			binary.LittleEndian.PutUint32(cell[4*cubicGroup*(i+4):], math.Float32bits(weight))
		}
	}
	return true
}

func (t *cubicTable) findColumns(columns []cubicPlace) {
	const size = 5 * 4 * cubicGroup
	t.cells = make([]byte, size*t.groups)
	for x := range t.groups * cubicGroup {
		c := &columns[min(x, len(columns)-1)]
		cell := t.cells[size*(x/cubicGroup)+4*(x%cubicGroup):]
		binary.LittleEndian.PutUint32(cell, uint32(c.at[0]))
		for i, weight := range c.weights {
			binary.LittleEndian.PutUint32(cell[4*cubicGroup*(i+1):], math.Float32bits(weight))
		}
	}
}
