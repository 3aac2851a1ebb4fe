// Package gpu is the probe for GPUs: which there are, and what each one did since
// the last look: utilisation, memory, power, clock and what keeps it down, the host
// link, processes. AMD's are read from the kernel's files, with less in them.
//
// It reads and keeps nothing: the caller polls (about once a second) and
// records. It judges nothing either; in particular utilisation says only that
// some kernel was running, which is the weakest evidence that package diagnose
// accepts. The values come from NVML, loaded without cgo, or where that cannot
// be loaded (or is left out by the build tag nonvml) from the nvidia-smi
// program. With Options.Emulate they come from our stand-in for NVML
// (emulated/nvml.c), which reports what the emulated devices of the Python
// client did; the binding is the same.
//
// A value that could not be read is NaN, "" or nil, never 0; Probe.Absent says
// the missing things with their reasons, while they last.
package gpu

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/recording"
)

// Options say where to search. The zero value finds real GPUs.
type Options struct {
	// Emulate reads emulated devices, and nothing else. Refused in a
	// process with more rights than its user (setuid, file capabilities).
	Emulate bool
	// Page is the file that emulated devices write (STOKER_EMULATED_PAGE in
	// their environment). It need not be there yet.
	Page string
}

// Facts are what does not change while GPUs are watched, except that devices
// can be added.
type Facts struct {
	Source  string   // "nvml", "nvidia-smi" or "amdgpu"
	Driver  string   // version of the driver, "" if unknown
	CUDA    string   // newest CUDA version that the driver serves, "" if unknown
	Devices []Device // in order of Index
}

// Device is one GPU. Its numbers are NaN and its texts empty where unknown.
type Device struct {
	Index           int // as the driver counts, which need not be as CUDA counts
	Name            string
	UUID            string
	MemoryBytes     float64
	PowerLimitWatts float64
	MaxSMClockMHz   float64
	Emulated        bool
	LinkGeneration  int  // of PCIe, the most that device and slot can; 0 unknown
	LinkWidth       int  // lanes, likewise
	Node            int  // NUMA node that it hangs on, -1 if unknown
	MIG             bool // cut into instances
}

// Reading is what one device did since the reading before. Numbers are NaN
// where unknown. The caller owns the slices.
type Reading struct {
	Index int // of the Device
	// Utilisation holds one sample per sampling period of the driver (1/6 s to
	// 1 s), oldest first, so that nothing between two polls is lost. Where the
	// driver keeps no samples it is a single current value. Empty if there is
	// nothing new or nothing known.
	Utilisation     []UtilSample
	MemoryUsedBytes float64
	PowerWatts      float64 // mean since the last reading where the device has an energy counter, else current
	SMClockMHz      float64
	Slowed          recording.Slowed // what keeps the clock down, meaningful where SlowedKnown
	SlowedKnown     bool
	LinkGeneration  float64 // as the link runs now
	LinkWidth       float64
	// What counters tell of the time since the last reading, on Hopper and later.
	Active  float64 // share of multiprocessors with work
	Kernels float64 // share of time in which kernels ran: utilisation counts copies as well
	LinkIn  float64 // bytes/s that came over PCIe
	LinkOut float64
	// Shares are the driver's figures for the share of the device's time that each process's
	// kernels took; nil is unknown.
	Shares map[uint32]float64
	// Processes that have a compute context on the device, ascending: nil is unknown, and empty
	// means none. Their numbers are those of the driver's PID namespace, which inside a
	// container may differ from ours.
	Processes []uint32
	// Held are the bytes of device memory of Processes, if the driver says.
	Held map[uint32]float64
}

// UtilSample is the share of the sampling period before At in which a kernel ran or a copy engine worked.
type UtilSample struct {
	At    time.Time
	Ratio float64
}

// Probe watches the GPUs of this machine. Its methods may be called from
// several goroutines; emulated probes of one process share a page.
type Probe struct {
	mu     sync.Mutex // guards source and absent
	source source
	absent *absences
}

// source is where values come from: nvml, nvidiaSMI or amd.
type source interface {
	facts() Facts
	read(now time.Time) []Reading
	close() error
}

// loadHooks is what only tests change.
type loadHooks struct {
	library string          // NVML's path; "" is the system's, or the stand-in next to our binary
	without map[string]bool // symbols to treat as missing
	smi     string          // path of nvidia-smi; "" is where the system has it
	sys     string          // where the kernel's files on AMD's devices lie; "" is /sys
	secure  func() bool     // nil is secureProcess
}

var errNoDevice = errors.New("the driver reports no GPU")

// Open finds out how GPUs can be seen here. Its error is a sentence that says
// why none can and what to do. Close the probe when done.
func Open(o Options) (*Probe, error) { return open(o, loadHooks{}) }

func open(o Options, l loadHooks) (*Probe, error) {
	if l.secure == nil {
		l.secure = secureProcess
	}
	absent := &absences{}
	if o.Emulate {
		if l.secure() {
			return nil, errors.New("open emulated GPUs: " +
				"not in a setuid process or one with file capabilities: run stoker as an ordinary user")
		}
		s, err := openNVML(o, l, absent)
		if err != nil {
			return nil, fmt.Errorf("open emulated GPUs: %w, "+
				"`make emulate` builds the stand-in into bin/, beside bin/stoker", err)
		}
		return &Probe{source: s, absent: absent}, nil
	}
	s, nvmlErr := openNVML(o, l, absent)
	if nvmlErr == nil {
		return &Probe{source: s, absent: absent}, nil
	}
	absent = &absences{}
	s, smiErr := openSMI(l, absent)
	if smiErr == nil {
		absent.addMissing("NVML", nvmlErr.Error())
		return &Probe{source: s, absent: absent}, nil
	}
	absent = &absences{}
	if s, err := openAMD(l, absent); err == nil {
		return &Probe{source: s, absent: absent}, nil
	}
	if errors.Is(nvmlErr, errNoDevice) {
		return nil, fmt.Errorf("no GPU can be seen: %w. In a container, start it with --gpus all", nvmlErr)
	}
	return nil, fmt.Errorf("no GPU can be seen: %w, %w: "+
		"install NVIDIA's driver or, in a container, start it with --gpus all", nvmlErr, smiErr)
}

// Facts returns the present devices.
func (p *Probe) Facts() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.source.facts()
}

// Read returns one reading per device for the time since the last call (the
// first call: since Open, or since the device appeared). The argument is the
// time of the call. A driver that hangs makes it hang, so call it from a
// separate goroutine.
func (p *Probe) Read(now time.Time) []Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.source.read(now)
}

// Absent says what cannot be read, each once with the first reason, in the order
// in which it was missed first. If it can be read later, it is removed.
func (p *Probe) Absent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.absent.list()
}

// Close releases the driver. The probe must not be used afterwards.
func (p *Probe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.source.close()
}

// absences collects missing things, each once per device.
type absences struct{ all []absence }

type absence struct {
	what   string
	device uint64 // any number that tells devices apart; 0 if it is of none
	reason string // "" since it is there
}

// addMissing notes a thing that stays missing.
func (a *absences) addMissing(what, reason string) { a.note(what, 0, reason) }

// note says that a device lacks something; without a reason it is there after all.
func (a *absences) note(what string, device uint64, reason string) {
	for i := range a.all {
		if one := &a.all[i]; one.what == what && one.device == device {
			if one.reason == "" || reason == "" {
				one.reason = reason
			}
			return
		}
	}
	if reason != "" {
		a.all = append(a.all, absence{what, device, reason})
	}
}

func (a *absences) list() []string {
	found, told := []string{}, map[string]bool{}
	for _, one := range a.all {
		if one.reason != "" && !told[one.what] {
			told[one.what] = true
			found = append(found, one.what+": "+one.reason)
		}
	}
	return found
}

// unknownDevice and unknownReading are the values to fill in.
func unknownDevice(index int) Device {
	nan := math.NaN()
	return Device{Index: index, MemoryBytes: nan, PowerLimitWatts: nan, MaxSMClockMHz: nan, Node: -1}
}

func unknownReading(index int) Reading {
	nan := math.NaN()
	return Reading{
		Index: index, MemoryUsedBytes: nan, PowerWatts: nan, SMClockMHz: nan, LinkGeneration: nan,
		LinkWidth: nan, Active: nan, Kernels: nan, LinkIn: nan, LinkOut: nan,
	}
}
