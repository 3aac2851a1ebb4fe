package xplane

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker/recording"
)

// statKey is what a stat of an event or a plane tells.
type statKey uint8

const (
	noKey statKey = iota
	correlation
	kernelDetails
	copyDetails
	setDetails
	stepNumber
	vendor
	deviceType
	cores
	memory
	capMajor
	capMinor
	profileStart
)

// keys are the names of stats that are read (xla/tsl/profiler/utils/xplane_schema.cc).
var keys = map[string]statKey{
	"correlation_id": correlation, "kernel_details": kernelDetails, "memcpy_details": copyDetails,
	"memset_details": setDetails, "step_num": stepNumber,
	"device_vendor": vendor, "device_type_string": deviceType, "core_count": cores, "memory_size": memory,
	"compute_cap_major": capMajor, "compute_cap_minor": capMinor, "profile_start_time": profileStart,
}

// role is what an event's name tells without its stats.
type role struct {
	frame   bool // of Python
	loader  bool
	mark    bool               // of a step, as XProf reads them
	api     bool               // a call of a runtime or driver
	noise   bool               // of the profiler or of thread pools, without length
	nested  bool               // an XLA operator that holds others
	infeed  bool               // a TPU is idle for want of input
	dispose recording.WorkKind // its kind on a device

	function bool // of the runtime, and no operator
}

// XProf takes for a step what begins with one of these words and has no slash
// (IsExplicitHostStepMarker); here a number at most may follow the word.
var stepWords = regexp.MustCompile(`^(train|test|TraceContext|ProfilerStep#)[ _]?(\d*)$`)

func roleOf(name string) role {
	r := role{
		frame: strings.HasPrefix(name, "$"), loader: recording.LoaderSpan(name), mark: stepWords.MatchString(name),
		noise: strings.HasPrefix(name, "ThreadpoolListener::"), dispose: kindOf(name),
		nested:   startsAny(name, "while", "conditional", "call.", "%while", "%conditional"),
		infeed:   startsAny(name, "infeed", "%infeed"),
		function: strings.Contains(name, "::") || name == "Build buffer allocations",
	}
	for _, maker := range []string{"cuda", "cu", "hip"} {
		if rest, ok := strings.CutPrefix(name, maker); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			r.api = true
		}
	}
	return r
}

// kindOf is what a device does under a name: those of XLA's profiler for copies,
// NCCL's and XLA's for exchanges.
func kindOf(name string) recording.WorkKind {
	lower := strings.TrimPrefix(strings.ToLower(name), "%")
	switch {
	case startsAny(lower, "memcpy", "copy-start", "copy-done"):
		return recording.Copy
	case startsAny(lower, "memset"):
		return recording.Set
	case strings.Contains(lower, "nccl"), strings.Contains(lower, "rccl"),
		startsAny(lower, "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute",
			"collective-broadcast"):
		return recording.Collective
	}
	return recording.Kernel
}

func startsAny(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// folders are where files of the libraries lie whose Python frames the profiler
// names without their folder, and which are not called like files of users.
var folders = map[string]string{
	"jax/_src/": `api.py pjit.py profiler.py array.py sharding_impls.py named_sharding.py tree_util.py
		traceback_util.py dispatch.py compiler.py compilation_cache.py mlir.py pxla.py partial_eval.py api_util.py
		linear_util.py source_info_util.py xla_bridge.py op_shardings.py sharding_specs.py custom_derivatives.py
		abstract_arrays.py basearray.py`,
	"tensorflow/python/data/ops/":   `iterator_ops.py dataset_ops.py`,
	"tensorflow/python/eager/":      `polymorphic_function.py tracing_compiler.py function_spec.py backprop.py`,
	"tensorflow/python/distribute/": `mirrored_strategy.py distribute_lib.py input_lib.py`,
	"tensorflow/python/util/":       `traceback_utils.py`,
	"tensorflow/python/profiler/":   `profiler_v2.py`,
}

var folderOf = func() map[string]string {
	m := map[string]string{}
	for folder, files := range folders {
		for _, f := range strings.Fields(files) {
			m[f] = folder
		}
	}
	return m
}()

// frameName writes "$api.py:3154 block_until_ready" as PyTorch's profiler does,
// "jax/_src/api.py(3154): block_until_ready".
func frameName(name string) string {
	text := strings.TrimPrefix(name, "$")
	place, function, ok := strings.Cut(text, " ")
	file, number, found := strings.Cut(place, ":")
	if !ok || !found {
		return text
	}
	if _, err := strconv.Atoi(number); err != nil {
		return text
	}
	return folderOf[file] + file + "(" + number + "): " + function
}

// details are what a stat tells of a kernel, a copy or a set: "regs:38 shm:0
// grid:160,1,1 block:1024,1,1", "kind_src:pageable kind_dst:device size:4 dest:0
// async:1". Fields are parted by spaces, in older files by line ends.
type details struct {
	blocks, threads int32
	occupancy       float32
	bytes           int64  // as in recording.Work
	from, to        string // kinds of memory
}

// nothing is known of some work.
func nothing() details { return details{bytes: -1, occupancy: float32(math.NaN())} }

func detailsOf(text string) details {
	d := nothing()
	for _, f := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\n' }) {
		name, value, _ := strings.Cut(f, ":")
		switch name {
		case "grid":
			d.blocks = product(value)
		case "block":
			d.threads = product(value)
		case "occ_pct":
			if v, err := strconv.ParseFloat(value, 32); err == nil && v > 0 && v <= 100 {
				d.occupancy = float32(v / 100)
			}
		case "size", "num_bytes":
			if v, err := strconv.ParseInt(value, 10, 64); err == nil && v >= 0 {
				d.bytes = v
			}
		case "kind_src":
			d.from = memoryKind(value)
		case "kind_dst":
			d.to = memoryKind(value)
		}
	}
	return d
}

// product is the size of a grid, "160,1,1"; 0 if it is unknown or absurd.
func product(text string) int32 {
	n := int64(1)
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || v < 1 || v > 1<<31-1 || n*v > 1<<31-1 {
			return 0
		}
		n *= v
	}
	return int32(n)
}

func memoryKind(word string) string {
	switch word {
	case "pageable", "pinned", "device", "array", "managed":
		return strings.ToUpper(word[:1]) + word[1:]
	case "device_static":
		return "Device"
	case "managed_static":
		return "Managed"
	}
	return ""
}

// ways are copies by what XLA's profiler calls them.
var ways = []struct{ part, way, from, to, call string }{
	{"H2D", "HtoD", "Host", "Device", "cuMemcpyHtoDAsync"},
	{"HtoD", "HtoD", "Host", "Device", "cuMemcpyHtoDAsync"},
	{"D2H", "DtoH", "Device", "Host", "cuMemcpyDtoHAsync"},
	{"DtoH", "DtoH", "Device", "Host", "cuMemcpyDtoHAsync"},
	{"D2D", "DtoD", "Device", "Device", "cuMemcpyDtoDAsync"},
	{"DtoD", "DtoD", "Device", "Device", "cuMemcpyDtoDAsync"},
	{"P2P", "PtoP", "Device", "Device", "cuMemcpyPeerAsync"},
	{"PtoP", "PtoP", "Device", "Device", "cuMemcpyPeerAsync"},
	{"H2H", "HtoH", "Host", "Host", "cuMemcpyAsync"},
}

// copyName is a copy in the words of PyTorch's profiler: "Memcpy HtoD (Pageable ->
// Device)".
func copyName(name string, d details) string {
	for _, w := range ways {
		if !strings.Contains(name, w.part) {
			continue
		}
		from, to := w.from, w.to
		if d.from != "" {
			from = d.from
		}
		if d.to != "" {
			to = d.to
		}
		return "Memcpy " + w.way + " (" + from + " -> " + to + ")"
	}
	return name
}

// callName is the driver's call behind a host event with a correlation id.
// TensorFlow's profiler of before 2021 named the call after the kernel that it launched.
func callName(name string, k statKey) string {
	switch {
	case k == copyDetails || strings.HasPrefix(name, "Memcpy"):
		for _, w := range ways {
			if strings.Contains(name, w.part) {
				return w.call
			}
		}
		return "cuMemcpyAsync"
	case k == setDetails || strings.HasPrefix(name, "Memset"):
		return "cuMemsetAsync"
	}
	return "cuLaunchKernel"
}

// IsStart reports whether data begin as an XSpace does: with a plane that begins
// with its number, its name or a line. start is the first few hundred bytes.
func IsStart(start []byte) bool {
	s := newStream(bytes.NewReader(start))
	f, err := s.nextField(forever)
	if err != nil || !isKnownField(f) || f.number > 4 || f.length < 2 {
		return false
	}
	if f.number != 1 {
		return bytes.Contains(start, []byte("/host:")) || bytes.Contains(start, []byte("/device:"))
	}
	for range 2 {
		f, err = s.nextField(s.at + f.length)
		switch {
		case err != nil:
			return false
		case f.number == 1 && f.kind == 0:
			continue
		case f.number == 2 && f.kind == 2:
			name, _ := s.r.Peek(int(min(f.length, 64)))
			return startsAny(string(name), "/host:", "/device:", "Task Environment", "/", "#Chip")
		}
		return false
	}
	return false
}
