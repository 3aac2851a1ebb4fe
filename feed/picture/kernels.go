package picture

import (
	"encoding/binary"
	"math"

	"github.com/stoker-dev/stoker/feed/kernels"
)

// Which kernels of OpenCV's arithmetic run here. Without them plain Go makes the same bytes.
var (
	canInterpolate = kernels.Run(kernels.Interpolate)
	canWarp        = kernels.Run(kernels.Warp)
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
