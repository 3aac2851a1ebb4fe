package measure

import (
	"math"
	"testing"
)

// The queueing of a launching thread that computes the model is not that of fetching:
// a part cannot be more than the whole.
func TestHelpersSpinInFetchingOnly(t *testing.T) {
	for queue, want := range map[float64]bool{0: false, 0.05: false, 0.5: true, 1: true, 189: false} {
		c := Costs{Fetch: 1, FetchCPU: 0.4, HelperCPU: 1, FetchQueue: queue}
		if c.HelpersSpin() != want {
			t.Errorf("%v s of queueing in 1 s of fetching: spins %t", queue, !want)
		}
	}
}

func TestFromStorage(t *testing.T) {
	for _, c := range []struct {
		costs Costs
		want  string
	}{
		{
			Costs{Remote: 0.9},
			"hardly anything is read from files: what is waited for comes over a network connection",
		},
		{
			Costs{OnDisk: 0.9, Remote: math.NaN(), ReadRate: 2e3},
			"hardly any bytes come from storage: requests are waited for, such as opening and looking up files",
		},
		{
			Costs{OnDisk: 0.9, ReadRate: 11.4e6, DiskRate: 11.4e6},
			"11.4 MB/s come from storage, which is all that is read",
		},
		{
			Costs{OnDisk: 0.9, ReadRate: 20e6, DiskRate: 2e6},
			"2 MB/s come from storage, of 20 MB/s read: the rest is in the page cache",
		},
		{
			Costs{Remote: 0.9, OnDisk: 0, ReadRate: 20e6},
			"20 MB/s are read, and 0 B/s come from local disks: the rest comes over the network or " +
				"from a program, or lies in the page cache",
		},
		{Costs{OnDisk: 0.9, ReadRate: 20e6, DiskRate: math.NaN()}, "how much comes from storage is not known"},
	} {
		if got := c.costs.FromStorage(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.costs, got, c.want)
		}
	}
}
