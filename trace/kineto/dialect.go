package kineto

import (
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// class is what an event is, told by its category.
type class uint8

const (
	unknownClass class = iota
	noCategory         // metadata and instants carry none
	opClass            // operators of the framework
	annotationClass
	runtimeClass // calls of a runtime or driver
	profilingClass
	frameClass // Python stacks
	kernelClass
	copyClass
	setClass
	commClass    // communication on a device
	linkClass    // flows from a call to its work
	shadowClass  // copies of host spans on device rows: no work
	syncClass    // synchronisation on device rows: no work
	instantClass // memory counters and the like
	spanClass    // the profiler's own span over the whole file
)

// isWork reports whether events of a class are work of a device.
func (c class) isWork() bool {
	return c == kernelClass || c == copyClass || c == setClass || c == commClass
}

// categories is the one table of dialects: every category that Kineto wrote
// since 2020, in lower case (libkineto/include/ActivityType.h; the first row of
// each group is the present name, "operator" to "memset" are of 2020 and 2021).
var categories = map[string]class{
	"cpu_op":   opClass,
	"operator": opClass,
	"hpu_op":   kernelClass,

	"user_annotation": annotationClass,

	"enqueue": opClass, // torch_npu's: the loop's thread hands an operator to the one that launches
	"dequeue": opClass,

	"cuda_runtime":        runtimeClass,
	"cuda_driver":         runtimeClass,
	"runtime":             runtimeClass,
	"hip_runtime":         runtimeClass,
	"mtia_runtime":        runtimeClass,
	"glow_runtime":        runtimeClass,
	"xpu_runtime":         runtimeClass,
	"xpu_driver":          runtimeClass,
	"privateuse1_runtime": runtimeClass,
	"privateuse1_driver":  runtimeClass,

	"overhead": profilingClass,

	"python_function": frameClass,

	"kernel":          kernelClass,
	"mtia_ccp_events": kernelClass,
	"gpu_memcpy":      copyClass,
	"memcpy":          copyClass,
	"gpu_memset":      setClass,
	"memset":          setClass,
	"collective_comm": commClass,

	"ac2g":                linkClass,
	"async":               linkClass,
	"async_cpu_to_gpu":    linkClass,
	"async_gpu":           linkClass,
	"hosttodevice":        linkClass, // Ascend's
	rocprofFlow:           linkClass,
	"fwdbwd":              spanClass,
	"forward_backward":    spanClass,
	"fwd_bwd":             spanClass,
	"gpu_user_annotation": shadowClass,
	"cuda_sync":           syncClass,
	"cuda_event":          syncClass,

	"cpu_instant_event":    instantClass,
	"hardware_counters":    instantClass,
	"mtia_counters":        instantClass,
	"mtia_insight":         instantClass,
	"mtia_workloadd":       instantClass,
	"cuda_profiler_range":  instantClass,
	"external_correlation": instantClass,

	"trace": spanClass,
	"":      noCategory,
}

// isCollective reports whether a name is a communication kernel's: of NCCL, RCCL, oneCCL,
// MSCCL, NVSHMEM, DeepEP and of those who write their own. It is asked of every name of
// every rank, and no regular expression for that.
func isCollective(name string) bool {
	lower := strings.ToLower(name)
	if recording.ContainsAny(lower, "nccl", "rccl", "oneccl", "msccl", "hccl", "nvshmem", "deep_ep", "dpsk::ep") {
		return true
	}
	if recording.ContainsAny(strings.ReplaceAll(lower, "_", ""), "allreduce", "allgather", "alltoall", "reducescatter",
		"sendrecv") {
		return true
	}
	_, after, moe := strings.Cut(lower, "moe")
	return moe && recording.ContainsAny(after, "dispatch", "combine")
}

// traits are what a name tells, found once per name.
type traits uint8

const (
	marked     traits = 1 << iota // a span that the old dialect files among the operators
	collecting                    // Python's garbage collector
	own                           // a frame in a file of the user
	exchanging                    // a communication kernel
	moving                        // a call that copies
	copying                       // a copy, on devices that file copies among the kernels
	waiting                       // an event of the device's own queue, on devices that file those among the kernels
)

func traitsOf(name string) traits {
	var t traits
	if strings.HasPrefix(name, "[") { // shapes and types
		return t
	}
	if _, step := recording.StepSpan(name); step || recording.LoaderSpan(name) ||
		strings.HasPrefix(name, "Optimizer.") || strings.HasPrefix(name, "ProfilerStep") {
		t |= marked
	}
	if strings.HasPrefix(name, "Python GC") {
		t |= collecting
	}
	if recording.OwnFrame(name) {
		t |= own
	}
	if isCollective(name) {
		t |= exchanging
	}
	if strings.Contains(name, "emcpy") {
		t |= moving
	}
	switch name { // MTIA's
	case "dma_request":
		t |= copying
	case "event_wait", "event_record":
		t |= waiting
	}
	return t
}

// widths are the bytes of an element, by the data type of a collective as
// PyTorch prints it, in lower case.
var widths = map[string]int64{
	"double": 8, "long": 8, "complexfloat": 8, "complexdouble": 16,
	"float": 4, "int": 4, "half": 2, "bfloat16": 2, "short": 2,
	"char": 1, "byte": 1, "bool": 1,
	"float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
}
