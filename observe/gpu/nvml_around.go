//go:build linux && !nonvml

package gpu

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Reasons of a low clock, as in nvml.h. Not among ours are that the device is idle, and
// that somebody set its clock or keeps it in step with others.
const (
	reasonPower       = 0x04
	reasonHardware    = 0x08 // any of the board's: also a brake and heat, which have bits of their own
	reasonHeat        = 0x20
	reasonBoardHeat   = 0x40
	reasonPowerBrake  = 0x80
	mostLinkGen       = 16 // sentinels and nonsense lie above
	mostLinkWidth     = 32
	mostSharesSamples = 4096
)

// describePlace describes where a device sits.
func (n *nvml) describePlace(d *Device, h deviceHandle) {
	d.LinkGeneration = n.small("greatest PCIe generation", n.lib.maxLinkGen, h, mostLinkGen)
	d.LinkWidth = n.small("greatest PCIe width", n.lib.maxLinkWidth, h, mostLinkWidth)
	if n.lib.migMode != nil {
		var now, pending uint32
		d.MIG = n.lib.migMode(h, &now, &pending) == success && now == 1
	}
	if info, ok := optional(n, n.lib.pci, h); ok {
		d.Node = nodeOf(string(info.busID[:]))
	}
}

// nodeOf is the NUMA node of a PCI device; -1 where the kernel does not tell. NVML writes
// the domain with eight digits, the kernel with four.
func nodeOf(busID string) int {
	busID, _, _ = strings.Cut(strings.ToLower(busID), "\x00")
	if len(busID) != len("00000000:3b:00.0") || strings.ContainsAny(busID, "/") {
		return -1
	}
	text, err := os.ReadFile("/sys/bus/pci/devices/" + busID[4:] + "/numa_node")
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	return node
}

// small is a small number of a device; 0 where it is not known.
func (n *nvml) small(what string, ask func(deviceHandle, *uint32) code, h deviceHandle, most uint32) int {
	v, ok := optional(n, ask, h)
	if !ok || v == 0 || v > most {
		return 0
	}
	return int(v)
}

// optional asks for a value that many devices do not have by their kind: what lacks is no
// news (stoker doctor tells).
func optional[T any](n *nvml, ask func(deviceHandle, *T) code, h deviceHandle) (T, bool) {
	var value T
	if ask == nil {
		return value, false
	}
	return value, ask(h, &value) == success
}

// circumstances fills in what the device's work goes on under.
func (n *nvml) circumstances(r *Reading, d *nvmlDevice) {
	if reasons, ok := optional(n, n.lib.reasons, d.handle); ok && reasons < math.MaxUint32 {
		r.Slowed, r.SlowedKnown = slowedBy(reasons), true
	}
	if gen := n.small("PCIe generation", n.lib.linkGen, d.handle, mostLinkGen); gen > 0 {
		r.LinkGeneration = float64(gen)
	}
	if width := n.small("PCIe width", n.lib.linkWidth, d.handle, mostLinkWidth); width > 0 {
		r.LinkWidth = float64(width)
	}
	r.Shares = n.processShares(d)
	r.Active = n.activity(d)
}

func slowedBy(reasons uint64) (s recording.Slowed) {
	if reasons&reasonPower != 0 {
		s |= recording.ByPower
	}
	if reasons&(reasonHeat|reasonBoardHeat) != 0 {
		s |= recording.ByHeat
	}
	if reasons&reasonPowerBrake != 0 || reasons&reasonHardware != 0 && reasons&(reasonHeat|reasonBoardHeat) == 0 {
		s |= recording.ByHardware
	}
	return s
}

// processShares is the mean of each process's samples since the last call.
func (n *nvml) processShares(d *nvmlDevice) map[uint32]float64 {
	if n.lib.shares == nil {
		return nil
	}
	var count uint32
	if c := n.lib.shares(d.handle, nil, &count, d.lastShare); c == notFound || c == success && count == 0 {
		return map[uint32]float64{}
	} else if c != success && c != insufficientSize {
		return nil
	}
	list := make([]nvmlShare, min(count, mostSharesSamples)+1)
	count = uint32(len(list))
	switch c := n.lib.shares(d.handle, &list[0], &count, d.lastShare); c {
	case success:
	case notFound:
		return map[uint32]float64{}
	default:
		return nil
	}
	sums, counts := map[uint32]float64{}, map[uint32]float64{}
	newest := d.lastShare
	for _, s := range list[:min(int(count), len(list))] {
		if s.pid == 0 || s.pid == math.MaxUint32 || s.sm > 100 || s.stamp <= d.lastShare {
			continue
		}
		newest = max(newest, s.stamp)
		sums[s.pid], counts[s.pid] = sums[s.pid]+float64(s.sm)/100, counts[s.pid]+1
	}
	d.lastShare = newest
	for pid := range sums {
		sums[pid] /= counts[pid]
	}
	return sums
}

// openGPM makes room for two samples where the device has counters.
func (n *nvml) openGPM(d *nvmlDevice) {
	l := n.lib
	if l.gpmSupport == nil || l.gpmAlloc == nil || l.gpmFree == nil || l.gpmTake == nil || l.gpmMetrics == nil ||
		d.facts.MIG {
		return // of a device in instances each has counters of its own
	}
	support := gpmSupport{version: gpmVersion}
	if l.gpmSupport(d.handle, &support) != success || support.supported != 1 {
		return
	}
	for i := range d.gpm {
		if c := l.gpmAlloc(&d.gpm[i]); c != success || d.gpm[i] == 0 {
			n.absent.note("SM activity", uint64(d.handle), fmt.Sprintf("allocate a sample: %s", l.reason(c)))
			n.closeGPM(d)
			return
		}
	}
	d.gpmTaken = l.gpmTake(d.handle, d.gpm[0]) == success
}

func (n *nvml) closeGPM(d *nvmlDevice) {
	for i, sample := range d.gpm {
		if sample != 0 {
			_ = n.lib.gpmFree(sample)
		}
		d.gpm[i] = 0
	}
}

// activity is the share of multiprocessors that had work since the last call; NaN where it
// is not known. DCGM reads the same counters, and then a driver may answer 0.
func (n *nvml) activity(d *nvmlDevice) float64 {
	if d.gpm[0] == 0 {
		return math.NaN()
	}
	c := n.lib.gpmTake(d.handle, d.gpm[1])
	n.note("SM activity", d.handle, c)
	if c != success {
		return math.NaN()
	}
	before := d.gpmTaken
	d.gpm[0], d.gpm[1], d.gpmTaken = d.gpm[1], d.gpm[0], true
	if !before {
		return math.NaN()
	}
	ask := gpmMetrics{version: gpmVersion, count: 1, from: d.gpm[1], to: d.gpm[0]}
	ask.metrics[0].id = gpmActivity
	if c = n.lib.gpmMetrics(&ask); c == success {
		c = ask.metrics[0].code
	}
	if v := ask.metrics[0].value; c == success && v >= 0 && v <= 100 {
		return v / 100
	}
	if c == success {
		c = noValue
	}
	n.note("SM activity", d.handle, c)
	return math.NaN()
}
