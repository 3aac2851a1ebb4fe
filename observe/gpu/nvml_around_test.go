//go:build linux && !nonvml

package gpu

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/recording"
)

// set writes fields of a device's record behind its clock, from the reasons on.
func (p *testPage) set(index int, at int64, v ...uint32) {
	for i, one := range v {
		p.put32(int64(recordsAt+recordBytes*index)+at+4*int64(i), one)
	}
}

// Places in a device's record.
const (
	reasonsAt  = 196
	strangerAt = 204
	migAt      = 212
	faultAt    = 216
)

// working is a probe of a device that computes 40 % of the time.
func working(t *testing.T) (*testPage, *Probe) {
	t.Helper()
	page, now := newPage(t), monotonic(t)
	page.device(0, now-2*time.Second)
	page.duty(0, now-2*time.Second, now+time.Minute)
	return page, openEmulated(t, page.path)
}

func TestCircumstances(t *testing.T) {
	page, p := working(t)
	page.set(0, strangerAt, 4711, 25)
	for n, now := 0, monotonic(t); n < 100; n++ {
		at := now + time.Duration(n)*100*time.Millisecond
		page.add(0, at, at+40*time.Millisecond, copied)
	}
	time.Sleep(time.Second)
	r := only(t, p)
	near(t, "SM activity", r.Active, 0.2, 0.03) // of half of them 40 % of the time
	near(t, "kernels", r.Kernels, 0.4, 0.06)
	near(t, "bytes of copies to the device, in GB/s", r.LinkIn/1e9, 0.4*8*2, 1) // 40 % of the time over 8 lanes of 2 GB/s
	near(t, "of copies from it", r.LinkOut, 0, 0)
	near(t, "PCIe generation", r.LinkGeneration, 4, 0)
	near(t, "PCIe width", r.LinkWidth, 8, 0)
	near(t, "the stranger's share", r.Shares[4711], 0.25, 0)
	if len(r.Shares) != 2 || !slices.Contains(r.Processes, 4711) || !r.SlowedKnown || r.Slowed != 0 {
		t.Errorf("%+v", r)
	}
	page.set(0, migAt, 1)
	if f := openEmulated(t, page.path).Facts().Devices[0]; !f.MIG {
		t.Error("the device is in instances, and that is not said")
	}
	if a := p.Absent(); len(a) != 0 {
		t.Errorf("absent: %q", a)
	}
}

func TestReasons(t *testing.T) {
	page, p := working(t)
	for bits, want := range map[uint32]recording.Slowed{
		0x01: 0, 0x02: 0, 0x10: 0, 0x04: recording.ByPower, 0x20: recording.ByHeat, 0x40: recording.ByHeat,
		0x48: recording.ByHeat, 0x08: recording.ByHardware, 0x88: recording.ByHardware, 0x24: recording.ByPower | recording.ByHeat,
	} {
		page.set(0, reasonsAt, bits)
		if r := only(t, p); !r.SlowedKnown || r.Slowed != want {
			t.Errorf("reasons %#x: %v, want %v", bits, r.Slowed, want)
		}
	}
}

// A device whose answers are errors, hold no value or come late, and that comes back.
func TestFaults(t *testing.T) {
	for name, fault := range map[string][]uint32{"errors": {1}, "no value": {2}, "late": {3, 5}} {
		t.Run(name, func(t *testing.T) {
			page, p := working(t)
			only(t, p)
			page.set(0, faultAt, fault...)
			p.Read(time.Now()) // what of it had been asked for before
			r := only(t, p)
			if name == "late" {
				near(t, "PCIe width", r.LinkWidth, 8, 0)
				near(t, "memory", r.MemoryUsedBytes, 7<<30, 0)
			} else {
				for what, v := range map[string]float64{"memory": r.MemoryUsedBytes, "power": r.PowerWatts, "clock": r.SMClockMHz, "generation": r.LinkGeneration, "width": r.LinkWidth, "activity": r.Active} {
					if !math.IsNaN(v) {
						t.Errorf("%s is %v", what, v)
					}
				}
				if len(r.Processes) != 0 || len(r.Shares) != 0 || r.SlowedKnown {
					t.Errorf("%+v", r)
				}
				if a := strings.Join(p.Absent(), "\n"); !strings.Contains(a, "memory") || !strings.Contains(a, "SM activity") {
					t.Errorf("absent: %s", a)
				}
			}
			page.set(0, faultAt, 0)
			p.Read(time.Now())
			time.Sleep(minEnergyTime)
			if r := only(t, p); math.IsNaN(r.PowerWatts) || math.IsNaN(r.Active) || len(r.Processes) == 0 {
				t.Errorf("when it is over: %+v; absent %q", r, p.Absent())
			}
			if a := p.Absent(); len(a) != 0 {
				t.Errorf("absent when it is over: %q", a)
			}
		})
	}
	// A device that is of no use from the start.
	page := newPage(t)
	page.device(0, monotonic(t))
	page.set(0, faultAt, 2)
	p := openEmulated(t, page.path)
	if d := p.Facts().Devices[0]; d.LinkGeneration != 0 || d.LinkWidth != 0 || d.MIG || d.Node != -1 || !math.IsNaN(d.MemoryBytes) {
		t.Errorf("a device without values: %+v", d)
	}
}

func TestNodeOf(t *testing.T) {
	for _, id := range []string{"", "\x00", "../../../../x", "00000000:3B:00.0\x00rest", "0000:3b:00.0", strings.Repeat("/", 16), strings.Repeat("\xff", 32)} {
		if n := nodeOf(id); n != -1 {
			t.Errorf("%q: node %d of no device here", id, n)
		}
	}
}
