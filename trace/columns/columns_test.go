package columns

import (
	"slices"
	"testing"

	"github.com/stoker-dev/stoker/recording"
)

// A caller comes before what it calls, and columns follow.
func TestByStart(t *testing.T) {
	start, end := []int64{5, 1, 1}, []int64{6, 2, 9}
	order := ByStart(start, end)
	if !slices.Equal(order, []int32{2, 1, 0}) {
		t.Fatalf("order %v", order)
	}
	recording.Reorder(order, start, end)
	if !slices.Equal(start, []int64{1, 1, 5}) || !slices.Equal(end, []int64{9, 2, 6}) {
		t.Errorf("start %v, end %v", start, end)
	}
	if ByStart(start, end) != nil {
		t.Error("what is in order was put in order again")
	}
}

// A key that was used again means the last call before the work; a key of nobody
// and no key mean none.
func TestLink(t *testing.T) {
	got := LinkCalls([]uint64{7, 0, 7, 9}, []int64{10, 20, 30, 40}, []uint64{7, 7, 9, 8, 0}, []int64{15, 35, 41, 50, 60})
	if want := []int32{0, 2, 3, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("links %v, want %v", got, want)
	}
}
