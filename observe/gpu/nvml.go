//go:build linux && !nonvml

package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// systemLibrary is the only name under which the real NVML is looked for, in
// the loader's own folders: Stoker adds no other place.
const systemLibrary = "libnvidia-ml.so.1"

// Limits on what the library may make us do. Real values are far below.
const (
	maxDevices   = 64
	maxSamples   = 4096
	maxProcesses = 4096
)

// minEnergyTime is the least time between two readings of the energy counter:
// it is refreshed in steps of some 20 to 100 ms, so a shorter one would mostly
// show the step.
const minEnergyTime = 200 * time.Millisecond

// nvml is the source of values that everyone should have.
type nvml struct {
	lib          *library
	emulated     bool
	absent       *absences
	driver, cuda string
	devices      []*nvmlDevice // in order of index
	opened       bool          // devices found from now on have appeared since Open
}

type nvmlDevice struct {
	handle   deviceHandle
	facts    Device
	lastSeen uint64 // stamp of the newest utilisation sample

	energyAt time.Time // zero: never read
	energyMJ uint64

	lastShare uint64       // stamp of the newest utilisation by process
	gpm       [2]gpmSample // the older one first; 0: the device has none
	gpmTaken  bool         // the older one holds something
}

func openNVML(o Options, l loadHooks, absent *absences) (source, error) {
	path := l.library
	if path == "" {
		path = systemLibrary
		if o.Emulate {
			self, err := os.Executable()
			if err != nil {
				return nil, fmt.Errorf("find our own binary: %w", err)
			}
			path = filepath.Join(filepath.Dir(self), systemLibrary)
			if err := checkOwners(path, self); err != nil {
				return nil, err
			}
		}
	}
	lib, err := loadLibrary(path, o.Emulate, l.without, absent)
	if err != nil {
		return nil, err
	}
	if o.Emulate {
		if c := lib.emulatedPage(o.Page); c != success {
			return nil, fmt.Errorf("open page %q: %s", o.Page, lib.reason(c))
		}
	}
	n := &nvml{lib: lib, emulated: o.Emulate, absent: absent}
	return n, n.start()
}

// start initialises NVML and takes stock; it undoes the first when the second fails.
func (n *nvml) start() error {
	if c := n.lib.init(); c != success {
		return fmt.Errorf("initialise %s: %s", n.lib.name, n.lib.reason(c))
	}
	n.versions()
	if err := n.refresh(); err != nil {
		return errors.Join(err, n.close())
	}
	if len(n.devices) == 0 && !n.emulated {
		return errors.Join(errNoDevice, n.close())
	}
	for _, d := range n.devices {
		n.samples(d, time.Time{}) // what the driver kept from before we came is not ours
	}
	n.opened = true
	return nil
}

func (n *nvml) versions() {
	if n.lib.driverVersion != nil {
		var c code
		n.driver, c = askText(n.lib.driverVersion)
		n.note("driver version", 0, c)
	}
	if n.lib.cudaVersion != nil {
		var v int32
		c := n.lib.cudaVersion(&v)
		n.note("CUDA version", 0, c)
		if c == success {
			n.cuda = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
	}
}

// refresh finds devices that are not known yet: emulated ones appear when
// the trainer makes them.
func (n *nvml) refresh() error {
	var count uint32
	c := n.lib.count(&count)
	n.note("number of devices", 0, c)
	if c != success {
		return fmt.Errorf("count devices: %s", n.lib.reason(c))
	}
	for i := range min(int(count), maxDevices) {
		at, known := slices.BinarySearchFunc(n.devices, i, func(d *nvmlDevice, i int) int { return d.facts.Index - i })
		if known {
			continue
		}
		var h deviceHandle
		c := n.lib.byIndex(uint32(i), &h)
		if c == notReady { // a rank that has not made its device yet
			continue
		}
		n.note(fmt.Sprintf("device %d", i), 0, c)
		if c != success {
			continue
		}
		d := &nvmlDevice{handle: h, facts: n.describe(i, h)}
		n.openGPM(d)
		n.devices = slices.Insert(n.devices, at, d)
	}
	return nil
}

func (n *nvml) describe(index int, h deviceHandle) Device {
	d := unknownDevice(index)
	d.Emulated = n.emulated
	texts := []struct {
		what string
		ask  func(deviceHandle, *byte, uint32) code
		to   *string
	}{{"name", n.lib.deviceName, &d.Name}, {"UUID", n.lib.uuid, &d.UUID}}
	for _, t := range texts {
		if t.ask == nil {
			continue
		}
		found, c := askText(func(b *byte, size uint32) code { return t.ask(h, b, size) })
		n.note(t.what, h, c)
		*t.to = found
	}
	if memory, ok := query(n, "memory", n.lib.memory, h); ok {
		d.MemoryBytes = n.readNumber("memory size", h, memory.total)
	}
	if limit, ok := query(n, "power limit", n.lib.powerLimit, h); ok {
		d.PowerLimitWatts = n.readNumber("power limit", h, limit) / 1000
	}
	d.MaxSMClockMHz = n.readClock("greatest SM clock", n.lib.maxClock, h)
	n.describePlace(&d, h)
	return d
}

func (n *nvml) facts() Facts {
	_ = n.refresh() // named in absent; what we know stays true
	f := Facts{Source: "nvml", Driver: n.driver, CUDA: n.cuda}
	for _, d := range n.devices {
		f.Devices = append(f.Devices, d.facts)
	}
	return f
}

func (n *nvml) read(now time.Time) []Reading {
	_ = n.refresh() // as in facts
	readings := make([]Reading, 0, len(n.devices))
	for _, d := range n.devices {
		r := unknownReading(d.facts.Index)
		r.Utilisation = n.utilisation(d, now)
		if memory, ok := query(n, "memory", n.lib.memory, d.handle); ok {
			r.MemoryUsedBytes = n.readNumber("memory used", d.handle, memory.used)
		}
		r.PowerWatts = n.power(d, now)
		r.SMClockMHz = n.readClock("SM clock", n.lib.clock, d.handle)
		r.Processes, r.Held = n.processes(d)
		n.circumstances(&r, d)
		readings = append(readings, r)
	}
	return readings
}

func (n *nvml) close() error {
	for _, d := range n.devices {
		n.closeGPM(d)
	}
	if n.lib.shutdown == nil {
		return nil
	}
	if c := n.lib.shutdown(); c != success {
		return fmt.Errorf("shut %s down: %s", n.lib.name, n.lib.reason(c))
	}
	return nil
}

// utilisation prefers the samples that the driver keeps; a single current value
// misses what happened between two polls.
func (n *nvml) utilisation(d *nvmlDevice, now time.Time) []UtilSample {
	if found, ok := n.samples(d, now); ok {
		n.note("utilisation", d.handle, success) // it is not asked for any more
		return found
	}
	rates, ok := query(n, "utilisation", n.lib.utilisation, d.handle)
	if !ok {
		return nil
	}
	if ratio := n.ratio(float64(rates.gpu)); !math.IsNaN(ratio) {
		return []UtilSample{{now, ratio}}
	}
	return nil
}

// samples returns the samples since the last call; false if the driver keeps none.
func (n *nvml) samples(d *nvmlDevice, now time.Time) ([]UtilSample, bool) {
	if n.lib.samples == nil {
		return nil, false
	}
	var kind int32
	var room uint32
	c := n.lib.samples(d.handle, gpuUtilizationSamples, d.lastSeen, &kind, &room, nil)
	if c == notFound || c == success && room == 0 {
		return nil, true
	}
	if c != success {
		n.note("utilisation samples", d.handle, c)
		return nil, false
	}
	buffer := make([]nvmlSample, min(room, maxSamples))
	got := uint32(len(buffer))
	c = n.lib.samples(d.handle, gpuUtilizationSamples, d.lastSeen, &kind, &got, &buffer[0])
	if c == notFound {
		return nil, true
	}
	n.note("utilisation samples", d.handle, c)
	if c != success {
		return nil, false
	}
	fresh := buffer[:min(int(got), len(buffer))]
	fresh = slices.DeleteFunc(fresh, func(s nvmlSample) bool { return s.stamp <= d.lastSeen })
	return n.newSamples(d, fresh, kind, now), true
}

func (n *nvml) newSamples(d *nvmlDevice, fresh []nvmlSample, kind int32, now time.Time) []UtilSample {
	if len(fresh) == 0 {
		return nil
	}
	slices.SortFunc(fresh, func(a, b nvmlSample) int { return int(int64(a.stamp - b.stamp)) })
	d.lastSeen = fresh[len(fresh)-1].stamp
	newest := sampleTime(d.lastSeen, now)
	var found []UtilSample
	for _, s := range fresh {
		if ratio := n.ratio(sampleValue(kind, s.value)); !math.IsNaN(ratio) {
			age := time.Duration(d.lastSeen-s.stamp) * time.Microsecond
			found = append(found, UtilSample{newest.Add(-age), ratio})
		}
	}
	return found
}

// sampleTime reads a stamp as microseconds since 1970, which is what drivers
// give although NVML says only "CPU timestamp"; one that is far from now has
// another origin and, as the newest, is taken to be from now.
func sampleTime(stamp uint64, now time.Time) time.Time {
	at := time.UnixMicro(int64(stamp))
	if age := now.Sub(at); age < -time.Minute || age > 5*time.Minute {
		return now
	}
	return at
}

// sampleValue reads the union that nvmlDeviceGetSamples fills, by its type
// (nvmlValueType_t); NaN if we do not know the type.
func sampleValue(kind int32, b [8]byte) float64 {
	order := binary.NativeEndian
	whole := order.Uint64(b[:])
	switch kind {
	case 0: // double
		return math.Float64frombits(whole)
	case 1: // unsigned int
		return float64(order.Uint32(b[:]))
	case 2, 3: // unsigned long, which has 64 bits on Linux, and unsigned long long
		return float64(whole)
	case 4: // signed long long
		return float64(int64(whole))
	case 5: // signed int
		return float64(int32(order.Uint32(b[:])))
	case 6: // unsigned short
		return float64(order.Uint16(b[:]))
	}
	return math.NaN()
}

// ratio makes a share of percent; NaN outside 0 to 100.
func (n *nvml) ratio(percent float64) float64 {
	if percent >= 0 && percent <= 100 {
		return percent / 100
	}
	n.absent.addMissing("some utilisation values", fmt.Sprintf("NVML answered %v %%", percent))
	return math.NaN()
}

// power returns the mean since the last call from the energy counter, which sees
// what happened between the polls, or else the current draw.
func (n *nvml) power(d *nvmlDevice, now time.Time) float64 {
	if mj, ok := query(n, "energy counter", n.lib.energy, d.handle); ok &&
		!math.IsNaN(n.readNumber("energy counter", d.handle, mj)) {
		before, since := d.energyMJ, now.Sub(d.energyAt)
		first := d.energyAt.IsZero()
		if first || since >= minEnergyTime || since < 0 || mj < before {
			d.energyAt, d.energyMJ = now, mj
		}
		if !first && since >= minEnergyTime && mj >= before {
			return float64(mj-before) / 1000 / since.Seconds()
		}
	}
	mw, ok := query(n, "current power", n.lib.power, d.handle)
	if !ok {
		return math.NaN()
	}
	return n.readNumber("current power", d.handle, mw) / 1000
}

func (n *nvml) readClock(what string, ask func(deviceHandle, int32, *uint32) code, h deviceHandle) float64 {
	if ask == nil {
		return math.NaN()
	}
	mhz, ok := query(n, what, func(h deviceHandle, out *uint32) code { return ask(h, clockSM, out) }, h)
	if !ok {
		return math.NaN()
	}
	return n.readNumber(what, h, mhz)
}

// processes returns the processes on a device, and the bytes that each holds if the driver tells.
func (n *nvml) processes(d *nvmlDevice) (pids []uint32, held map[uint32]float64) {
	if n.lib.processes == nil {
		return nil, nil
	}
	count := uint32(64)
	for range 3 { // processes may be added while we ask
		list := make([]nvmlProcess, count)
		c := n.lib.processes(d.handle, &count, &list[0])
		if c == insufficientSize && count < maxProcesses {
			count += 16
			continue
		}
		n.note("processes", d.handle, c)
		if c != success {
			return nil, nil
		}
		pids, held = []uint32{}, map[uint32]float64{}
		for _, p := range list[:min(int(count), len(list))] {
			if p.pid == 0 || p.pid == math.MaxUint32 {
				continue
			}
			pids = append(pids, p.pid)
			if p.held != math.MaxUint64 {
				held[p.pid] += float64(p.held)
			}
		}
		slices.Sort(pids)
		return slices.Compact(pids), held
	}
	n.note("processes", d.handle, insufficientSize)
	return nil, nil
}

// query asks for one value of a device. A function that is not there has been
// named when the library was loaded.
func query[T any](n *nvml, what string, ask func(deviceHandle, *T) code, h deviceHandle) (T, bool) {
	var value T
	if ask == nil {
		return value, false
	}
	c := ask(h, &value)
	n.note(what, h, c)
	return value, c == success
}

// readNumber sorts out the values by which NVML says that it does not know: all
// ones, in 32 or 64 bits, and in places 2^63-14 and the like.
func (n *nvml) readNumber(what string, h deviceHandle, value any) float64 {
	known := math.NaN()
	switch v := value.(type) {
	case uint32:
		if v != math.MaxUint32 {
			known = float64(v)
		}
	case uint64:
		if v < 1<<62 {
			known = float64(v)
		}
	}
	reason := ""
	if math.IsNaN(known) {
		reason = "NVML answered without a value"
	}
	n.absent.note(what, uint64(h), reason)
	return known
}

// note records what an answer lacks, for one device or for none (0). An answer that lacks
// nothing withdraws it.
func (n *nvml) note(what string, h deviceHandle, c code) {
	reason := ""
	if c != success {
		reason = n.lib.reason(c)
	}
	n.absent.note(what, uint64(h), reason)
}
