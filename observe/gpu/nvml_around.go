//go:build linux && !nonvml

package gpu

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// Reasons of a low clock, as in nvml.h. Not among ours are that the device is idle, and
// that somebody set its clock or keeps it in step with others.
const (
	reasonPower       = 0x04
	reasonHardware    = 0x08 // any of the board's: also a brake and heat, which have separate bits
	reasonHeat        = 0x20
	reasonBoardHeat   = 0x40
	reasonPowerBrake  = 0x80
	mostLinkGen       = 16 // sentinels and nonsense lie above
	mostLinkWidth     = 32
	mostSharesSamples = 4096
)

// describePlace describes where a device sits.
func (n *nvml) describePlace(d *Device, h deviceHandle) {
	d.LinkGeneration = n.readSmall("greatest PCIe generation", n.lib.maxLinkGen, h, mostLinkGen)
	d.LinkWidth = n.readSmall("greatest PCIe width", n.lib.maxLinkWidth, h, mostLinkWidth)
	if n.lib.migMode != nil {
		var now, pending uint32
		d.MIG = n.lib.migMode(h, &now, &pending) == success && now == 1
	}
	if info, ok := optional(n, n.lib.pci, h); ok {
		d.Node = nodeOf(string(info.busID[:]))
	}
}

// nodeOf returns the NUMA node of a PCI device; -1 if the kernel does not say. NVML writes the
// domain with eight digits, the kernel with four.
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

// readSmall returns a small number of a device; 0 if it is not known.
func (n *nvml) readSmall(what string, ask func(deviceHandle, *uint32) code, h deviceHandle, most uint32) int {
	v, ok := optional(n, ask, h)
	if !ok || v == 0 || v > most {
		return 0
	}
	return int(v)
}

// optional asks for a value that many kinds of devices do not have. A missing one is not
// reported during a run (stoker doctor does).
func optional[T any](n *nvml, ask func(deviceHandle, *T) code, h deviceHandle) (T, bool) {
	var value T
	if ask == nil {
		return value, false
	}
	return value, ask(h, &value) == success
}

// circumstances fills in the conditions of the device's work.
func (n *nvml) circumstances(r *Reading, d *nvmlDevice) {
	if reasons, ok := optional(n, n.lib.reasons, d.handle); ok && reasons < math.MaxUint32 {
		r.Slowed, r.SlowedKnown = slowedBy(reasons), true
	}
	if gen := n.readSmall("PCIe generation", n.lib.linkGen, d.handle, mostLinkGen); gen > 0 {
		r.LinkGeneration = float64(gen)
	}
	if width := n.readSmall("PCIe width", n.lib.linkWidth, d.handle, mostLinkWidth); width > 0 {
		r.LinkWidth = float64(width)
	}
	r.Shares = n.processShares(d)
	n.readCounters(r, d)
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

// processShares returns the mean of each process's samples since the last call.
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

// openGPM allocates two samples if the device has counters.
func (n *nvml) openGPM(d *nvmlDevice) {
	l := n.lib
	if l.gpmSupport == nil || l.gpmAlloc == nil || l.gpmFree == nil || l.gpmTake == nil || l.gpmMetrics == nil ||
		d.facts.MIG {
		return // of a device in instances each has its own counters
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

// readCounters fills in the device's counters since the last call. DCGM reads the same counters,
// and a driver may then answer 0.
func (n *nvml) readCounters(r *Reading, d *nvmlDevice) {
	if d.gpm[0] == 0 {
		return
	}
	c := n.lib.gpmTake(d.handle, d.gpm[1])
	n.note("SM activity", d.handle, c)
	if c != success {
		return
	}
	before := d.gpmTaken
	d.gpm[0], d.gpm[1], d.gpmTaken = d.gpm[1], d.gpm[0], true
	if !before {
		return
	}
	counters := []struct {
		id         uint32
		unit, most float64
		to         *float64
	}{
		{gpmActivity, 0.01, 1, &r.Active},
		{gpmKernels, 0.01, 1, &r.Kernels},
		{gpmLinkIn, 1 << 20, mostLinkRate, &r.LinkIn},
		{gpmLinkOut, 1 << 20, mostLinkRate, &r.LinkOut},
	}
	ask := gpmMetrics{version: gpmVersion, count: uint32(len(counters)), from: d.gpm[1], to: d.gpm[0]}
	for i := range counters {
		ask.metrics[i].id = counters[i].id
	}
	c = n.lib.gpmMetrics(&ask)
	for i, counter := range counters {
		metric := ask.metrics[i]
		if v := counter.unit * metric.value; c == success && metric.code == success && v >= 0 && v <= counter.most {
			*counter.to = v
		}
	}
	if r.Kernels == 0 && slices.ContainsFunc(r.Utilisation, func(u UtilSample) bool { return u.Ratio > 0 }) {
		r.Kernels = math.NaN()
	}
	if c == success && math.IsNaN(r.Active) {
		c = cmp.Or(ask.metrics[0].code, noValue)
	}
	n.note("SM activity", d.handle, c)
}

// mostLinkRate is above what any host link carries, bytes/s: NVLink-C2C has 450 GB/s.
const mostLinkRate = 1e12
