package picture

import "github.com/stoker-dev/stoker/feed/kernels"

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
