package stoker

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Setting names one thing that a person can set. The names are PyTorch's where
// PyTorch has one.
type Setting string

// The settings that Stoker reads and advises on.
const (
	NumWorkers        Setting = "num_workers"        // worker processes of a DataLoader; 0 loads in the launching thread
	PrefetchFactor    Setting = "prefetch_factor"    // batches that each worker prepares ahead
	PinMemory         Setting = "pin_memory"         // batches arrive in page-locked memory
	NonBlocking       Setting = "non_blocking"       // .to(device, non_blocking=True)
	PersistentWorkers Setting = "persistent_workers" // workers outlive an epoch
	InOrder           Setting = "in_order"           // batches are delivered in the sampler's order
	BatchSize         Setting = "batch_size"         // samples per step and rank
	Precision         Setting = "precision"          // data type that the model computes in
	TF32              Setting = "tf32"               // matmuls of float32 run on Tensor Cores
	StorageKind       Setting = "storage"            // where the data set lies: "as found" or "page cache"
	Cores             Setting = "cores"              // CPU cores that the job may use
	ComputeOn         Setting = "device"             // what the model computes on: "cpu" or "cuda"
	Compile           Setting = "compile"            // mode of torch.compile; "" is not compiled
	CUDAGraphs        Setting = "cuda_graphs"        // the step is captured once and launched as one
	FusedOptimizer    Setting = "fused"              // the optimizer updates all parameters in one kernel
	BucketMB          Setting = "bucket_cap_mb"      // gradients that DistributedDataParallel sends at once, MiB
	Allocator         Setting = "alloc_conf"         // PYTORCH_CUDA_ALLOC_CONF
	ManualGC          Setting = "manual_gc"          // garbage is collected every n steps, not in the midst of one
	SideStream        Setting = "side_stream"        // batches are copied on a stream of their own, one step ahead
	MergeCopies       Setting = "merge_copies"       // small tensors go to the device in one copy
	SyncEvery         Setting = "sync_every"         // the loop reads a value of the device every n steps; 0: never
	Accumulation      Setting = "accumulation"       // steps whose gradients are added up before the optimizer runs
	Device            Setting = "gpu"                // key of the device in the hardware table
	LoaderKind        Setting = "loader"             // what prepares batches: StokerLoader; unknown is PyTorch's
	FastPixels        Setting = "fast"               // of stoker.DataLoader: pixels with a bounded error, not Pillow's

	// OnDevice is of stoker.DataLoader: uint8 goes to the device and is normalised there.
	OnDevice Setting = "normalize_on_device"
)

// StokerLoader is the LoaderKind of stoker.DataLoader, whose num_workers are the
// threads of stoker feed.
const StokerLoader = "stoker"

// order is the order in which settings are printed.
var order = []Setting{
	BatchSize, NumWorkers, PrefetchFactor, PinMemory, NonBlocking, PersistentWorkers,
	InOrder, Precision, TF32, StorageKind, Cores, ComputeOn,
	Compile, CUDAGraphs, FusedOptimizer, BucketMB, Allocator, ManualGC,
	SideStream, MergeCopies, SyncEvery, Accumulation, Device,
	LoaderKind, FastPixels, OnDevice,
}

// Settings are the settings of one loader and of the job around it, as found.
// A setting that is not in the map is unknown, which is not the same as its
// default. Values are int, float64, bool or string.
type Settings map[Setting]any

// Change is one step of advice: set Setting from From to To. From is nil where
// the present value is unknown.
type Change struct {
	Setting Setting `json:"setting"`
	From    any     `json:"from"`
	To      any     `json:"to"`
}

// String prints a change as "num_workers 0 -> 6".
func (c Change) String() string {
	from := "unknown"
	if c.From != nil {
		from = fmt.Sprint(c.From)
	}
	return fmt.Sprintf("%s %s -> %v", c.Setting, from, c.To)
}

// Int returns an integer setting, and whether it is known.
func (s Settings) Int(name Setting) (int, bool) {
	switch v := s[name].(type) {
	case int:
		return v, true
	case float64:
		return int(v), v == math.Trunc(v)
	}
	return 0, false
}

// Float returns a numeric setting, and whether it is known.
func (s Settings) Float(name Setting) (float64, bool) {
	switch v := s[name].(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Bool returns a boolean setting, and whether it is known.
func (s Settings) Bool(name Setting) (value, known bool) {
	value, known = s[name].(bool)
	return value, known
}

// Text returns a textual setting, "" where it is unknown.
func (s Settings) Text(name Setting) string {
	text, _ := s[name].(string)
	return text
}

// With returns the settings after the changes; s itself stays as it is.
func (s Settings) With(changes ...Change) Settings {
	after := make(Settings, len(s)+len(changes))
	for name, value := range s {
		after[name] = value
	}
	for _, c := range changes {
		after[c.Setting] = c.To
	}
	return after
}

// Diff returns the changes that lead from s to after, in printing order. A
// setting that is unknown on either side is not a change.
func (s Settings) Diff(after Settings) []Change {
	var changes []Change
	for _, name := range s.Names() {
		to, known := after[name]
		if known && !sameValue(s[name], to) {
			changes = append(changes, Change{Setting: name, From: s[name], To: to})
		}
	}
	return changes
}

// Names returns the known settings in printing order, strangers last and by
// name.
func (s Settings) Names() []Setting {
	names := make([]Setting, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := rank(names[i]), rank(names[j])
		if a != b {
			return a < b
		}
		return names[i] < names[j]
	})
	return names
}

// String prints settings as keyword arguments: "num_workers=4, pin_memory=true".
func (s Settings) String() string {
	parts := make([]string, 0, len(s))
	for _, name := range s.Names() {
		parts = append(parts, fmt.Sprintf("%s=%v", name, s[name]))
	}
	return strings.Join(parts, ", ")
}

// UnmarshalJSON reads settings and turns whole numbers into int, so that a
// recording that was read equals the one that was written.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var raw map[Setting]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*s = make(Settings, len(raw))
	for name, text := range raw {
		if n, err := strconv.Atoi(string(text)); err == nil {
			(*s)[name] = n
			continue
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		switch value.(type) {
		case float64, bool, string:
			(*s)[name] = value
		} // null, lists and objects are no values of ours: unknown
	}
	return nil
}

func rank(name Setting) int {
	for i, known := range order {
		if known == name {
			return i
		}
	}
	return len(order)
}

func sameValue(a, b any) bool {
	x, xok := Settings{"v": a}.Float("v")
	y, yok := Settings{"v": b}.Float("v")
	if xok && yok {
		return x == y
	}
	return a == b
}
