package traced

import (
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/idle"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/recording"
)

// Where the host itself waits while a device is idle, it is not its own work that takes the time: another device, or the
// runtime, does.
func TestAHostThatWaitsItself(t *testing.T) {
	for devices, waits := range map[int]bool{1: false, 2: true} {
		f := filler{all: &idle.Analysis{Devices: make([]idle.Device, devices)}}
		f.d = &f.all.Devices[0]
		f.d.To, f.parts.Long = 100, 0.9
		f.d.Causes[idle.Sync] = 80
		if said := f.describeHeldHost(); strings.Contains(said, "80 % inside calls that wait") != waits {
			t.Errorf("%d devices: %q", devices, said)
		}
		v := diagnose.Verdict{Class: diagnose.CPUBound, Grounds: diagnose.Grounds{HostWork: diagnose.HostWork{Waits: f.holdsHost()}}}
		if strings.Contains(v.Do(), "--timeline") != waits {
			t.Errorf("%d devices: %s", devices, v.Do())
		}
		if title, _, _ := rules.Describe(v); strings.Contains(title, "own work") == waits {
			t.Errorf("%d devices: %s", devices, title)
		}
	}
}

// Gaps of any length count where the host touches managed memory: they are not called long.
func TestGapsThatTouchMemory(t *testing.T) {
	for touched, want := range map[int64]string{0: "2 ms and more", 90: "touches managed memory"} {
		f := &filler{d: &idle.Device{Long: 100, Touched: touched}}
		if got := f.describeLongGaps(); !strings.Contains(got, want) {
			t.Errorf("%d of 100: %q", touched, got)
		}
	}
}

// Of two short and two long exchanges the median lies between them.
func TestMedianOfFewExchanges(t *testing.T) {
	if said := describeLengths([]int64{6_000, 14_000, 6_986_000, 9_000_000}, 4_001_500); strings.Contains(said, "each") {
		t.Error(said)
	}
	said := describeLengths([]int64{6_000, 14_000, 986_000, 9_000_000}, 2_501_500)
	if said != "500 µs in the median, 9 ms the longest" {
		t.Error(said)
	}
}

// Allocations that are freed one by one are of no caching allocator: a pool helps, and no setting of PyTorch's.
func TestAllocationsInPairs(t *testing.T) {
	for names, want := range map[string]string{
		"cudaMalloc_v3020 cudaFree_v3020":          "30 allocations and 30 frees, no pool",
		"cudaMalloc_v3020 cudaFree_v3020 aten::mm": "caching allocator",
		"cudaMalloc_v3020 cudaMalloc_v3020":        "caching allocator",
	} {
		f := filler{t: &recording.Timeline{Names: strings.Fields(names)}, all: &idle.Analysis{Devices: make([]idle.Device, 1)}}
		f.d, f.unmarked = &f.all.Devices[0], true
		f.d.To, f.d.Causes[idle.Allocator] = 100, 50
		h := &f.t.Host
		for i := range int32(60) {
			h.Name, h.Kind = append(h.Name, i%2), append(h.Kind, recording.Runtime)
			h.Start, h.End = append(h.Start, int64(i)), append(h.End, int64(i)+1)
		}
		finding, found := f.findAllocating()
		if !found || !strings.Contains(finding.Text, want) {
			t.Errorf("%s: %q", names, finding.Text)
		}
		if pool := strings.Contains(finding.Advice, "rmm."); pool != (len(finding.Settings) == 0) {
			t.Errorf("%s: %q, %v", names, finding.Advice, finding.Settings)
		}
	}
}
