//go:build linux && !nonvml

package gpu

import (
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// code is what every NVML function returns; 0 is success.
type code = int32

// The codes that we act on, numbered as in nvml.h.
const (
	success          code = 0
	notSupported     code = 3
	notFound         code = 6
	insufficientSize code = 7
	notReady         code = 27
	noValue          code = 999
)

// Constants and structures as in nvml.h.
const (
	gpuUtilizationSamples = 1
	clockSM               = 1
)

type nvmlUtilization struct{ gpu, _ uint32 } // percent; the other is memory, which we do not use

type nvmlMemory struct{ total, _, used uint64 } // bytes; between them free

type nvmlSample struct {
	stamp uint64  // microseconds
	value [8]byte // a union, see sampleValue
}

type nvmlProcess struct {
	pid  uint32
	_    uint32 // padding
	held uint64 // bytes of device memory; all ones if the driver does not tell
	_    uint32 // GPU instance, of MIG
	_    uint32 // compute instance
}

type nvmlPCI struct {
	_     [16]byte  // the bus's number in an older form
	_     [5]uint32 // domain, bus, device and numbers of the kind
	busID [32]byte  // "00000000:3B:00.0"
}

type nvmlShare struct {
	pid   uint32
	_     uint32    // padding
	stamp uint64    // microseconds
	sm    uint32    // percent
	_     [3]uint32 // of memory, encoder, decoder
}

// GPM (GPU performance monitoring), of Hopper and later: what happened between two
// samples, which live in the library.
type (
	gpmSample  = uintptr
	gpmSupport struct{ version, supported uint32 }
	gpmMetric  struct {
		id    uint32
		code  code
		value float64
		_     [3]uintptr // texts
	}
	gpmMetrics struct {
		version, count uint32
		from, to       gpmSample
		metrics        [512]gpmMetric // some are asked for; drivers have room for some 100 to 333
	}
)

const (
	gpmVersion  = 1
	gpmKernels  = 1  // share of time in which the compute engine had work, percent: copies are left out
	gpmActivity = 2  // share of multiprocessors that had work, percent
	gpmLinkOut  = 20 // from the device over PCIe, MiB/s
	gpmLinkIn   = 21 // to the device
)

// deviceHandle is an nvmlDevice_t. It points into the library and is only handed back.
type deviceHandle = uintptr

// library holds NVML's functions. A function that the driver lacks is nil, except those that are
// required.
type library struct {
	name string

	init          func() code
	shutdown      func() code
	errorString   func(code) string
	driverVersion func(*byte, uint32) code
	cudaVersion   func(*int32) code
	count         func(*uint32) code
	byIndex       func(uint32, *deviceHandle) code

	deviceName   func(deviceHandle, *byte, uint32) code
	uuid         func(deviceHandle, *byte, uint32) code
	utilisation  func(deviceHandle, *nvmlUtilization) code
	samples      func(deviceHandle, int32, uint64, *int32, *uint32, *nvmlSample) code
	memory       func(deviceHandle, *nvmlMemory) code
	power        func(deviceHandle, *uint32) code
	powerLimit   func(deviceHandle, *uint32) code
	energy       func(deviceHandle, *uint64) code
	clock        func(deviceHandle, int32, *uint32) code
	maxClock     func(deviceHandle, int32, *uint32) code
	processes    func(deviceHandle, *uint32, *nvmlProcess) code
	reasons      func(deviceHandle, *uint64) code
	linkGen      func(deviceHandle, *uint32) code
	linkWidth    func(deviceHandle, *uint32) code
	maxLinkGen   func(deviceHandle, *uint32) code
	maxLinkWidth func(deviceHandle, *uint32) code
	migMode      func(deviceHandle, *uint32, *uint32) code
	pci          func(deviceHandle, *nvmlPCI) code
	shares       func(deviceHandle, *nvmlShare, *uint32, uint64) code
	gpmSupport   func(deviceHandle, *gpmSupport) code
	gpmAlloc     func(*gpmSample) code
	gpmFree      func(gpmSample) code
	gpmTake      func(deviceHandle, gpmSample) code
	gpmMetrics   func(*gpmMetrics) code
	emulatedPage func(string) code
}

// librarySymbol ties a function of the library to the value that is lost without it.
type librarySymbol struct {
	name     string
	function any
	gives    string // "" is needed: without it nothing can be read
}

func (l *library) symbols(emulate bool) []librarySymbol {
	table := []librarySymbol{
		{"nvmlInit_v2", &l.init, ""},
		{"nvmlDeviceGetCount_v2", &l.count, ""},
		{"nvmlDeviceGetHandleByIndex_v2", &l.byIndex, ""},
		{"nvmlShutdown", &l.shutdown, "shutdown of NVML"},
		{"nvmlErrorString", &l.errorString, "texts of NVML's errors"},
		{"nvmlSystemGetDriverVersion", &l.driverVersion, "driver version"},
		{"nvmlSystemGetCudaDriverVersion_v2", &l.cudaVersion, "CUDA version"},
		{"nvmlDeviceGetName", &l.deviceName, "name"},
		{"nvmlDeviceGetUUID", &l.uuid, "UUID"},
		{"nvmlDeviceGetUtilizationRates", &l.utilisation, "utilisation"},
		{"nvmlDeviceGetSamples", &l.samples, "utilisation samples"},
		{"nvmlDeviceGetMemoryInfo", &l.memory, "memory"},
		{"nvmlDeviceGetPowerUsage", &l.power, "current power"},
		{"nvmlDeviceGetEnforcedPowerLimit", &l.powerLimit, "power limit"},
		{"nvmlDeviceGetTotalEnergyConsumption", &l.energy, "energy counter"},
		{"nvmlDeviceGetClockInfo", &l.clock, "SM clock"},
		{"nvmlDeviceGetMaxClockInfo", &l.maxClock, "greatest SM clock"},
		{"nvmlDeviceGetComputeRunningProcesses_v3", &l.processes, "processes"},
		{"nvmlDeviceGetCurrentClocksThrottleReasons", &l.reasons, "reasons of a low clock"},
		{"nvmlDeviceGetCurrPcieLinkGeneration", &l.linkGen, "PCIe generation"},
		{"nvmlDeviceGetCurrPcieLinkWidth", &l.linkWidth, "PCIe width"},
		{"nvmlDeviceGetMaxPcieLinkGeneration", &l.maxLinkGen, "greatest PCIe generation"},
		{"nvmlDeviceGetMaxPcieLinkWidth", &l.maxLinkWidth, "greatest PCIe width"},
		{"nvmlDeviceGetMigMode", &l.migMode, "MIG mode"},
		{"nvmlDeviceGetPciInfo_v3", &l.pci, "place on the PCI bus"},
		{"nvmlDeviceGetProcessUtilization", &l.shares, "utilisation by process"},
		{"nvmlGpmQueryDeviceSupport", &l.gpmSupport, "SM activity"},
		{"nvmlGpmSampleAlloc", &l.gpmAlloc, "SM activity"},
		{"nvmlGpmSampleFree", &l.gpmFree, "SM activity"},
		{"nvmlGpmSampleGet", &l.gpmTake, "SM activity"},
		{"nvmlGpmMetricsGet", &l.gpmMetrics, "SM activity"},
	}
	if emulate {
		table = append(table, librarySymbol{"stokerEmulatedOpen", &l.emulatedPage, ""})
	}
	return table
}

// loadLibrary loads NVML from a path or, by a bare name, from where the system keeps it. It is
// never unloaded: that would gain nothing, and handles point into it.
func loadLibrary(name string, emulate bool, without map[string]bool, absent *absences) (*library, error) {
	opened, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		// The loader's text names the library first, often twice.
		return nil, fmt.Errorf("load %s: %s", name, strings.TrimPrefix(err.Error(), name+": "))
	}
	l := &library{name: name}
	for _, s := range l.symbols(emulate) {
		address, err := purego.Dlsym(opened, s.name)
		if err == nil && !without[s.name] {
			purego.RegisterFunc(s.function, address)
			continue
		}
		if s.gives == "" {
			return nil, fmt.Errorf("load %s: it has no %s: the driver is too old or is not NVIDIA's", name, s.name)
		}
		absent.addMissing(s.gives, "this driver has no "+s.name)
	}
	return l, nil
}

// reason puts a code into NVML's words.
func (l *library) reason(c code) string {
	if l.errorString == nil {
		return fmt.Sprintf("NVML error %d", c)
	}
	return strings.ToLower(l.errorString(c))
}

// askText asks for a text of NVML, which is at most 96 bytes.
func askText(ask func(*byte, uint32) code) (string, code) {
	buffer := make([]byte, 96)
	if c := ask(&buffer[0], uint32(len(buffer))); c != success {
		return "", c
	}
	found, _, _ := strings.Cut(string(buffer), "\x00")
	return found, success
}
