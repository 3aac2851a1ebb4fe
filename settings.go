package stoker

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Setting names something that a user can set. Names are PyTorch's if PyTorch has one.
type Setting string

// The settings that Stoker reads and advises on.
const (
	// worker processes of a DataLoader; 0 loads in the launching thread
	NumWorkers        Setting = "num_workers"
	PrefetchFactor    Setting = "prefetch_factor"    // batches that each worker prepares ahead
	PinMemory         Setting = "pin_memory"         // batches arrive in page-locked memory
	NonBlocking       Setting = "non_blocking"       // .to(device, non_blocking=True)
	PersistentWorkers Setting = "persistent_workers" // workers outlive an epoch
	InOrder           Setting = "in_order"           // batches are delivered in the sampler's order
	BatchSize         Setting = "batch_size"         // samples per step and rank
	Precision         Setting = "precision"          // data type that the model computes in
	TF32              Setting = "tf32"               // matmuls of float32 run on Tensor Cores
	StorageKind       Setting = "storage"            // location of the data set: "as found" or "page cache"
	// how the data set distributes samples to workers: a recording.Split
	Split Setting = "split"
	// parts into which the data set is divided for workers: further workers get none
	Shards         Setting = "shards"
	Cores          Setting = "cores"         // CPU cores that the job may use
	ComputeOn      Setting = "device"        // what the model computes on: "cpu" or "cuda"
	Compile        Setting = "compile"       // mode of torch.compile; "" for not compiled
	CUDAGraphs     Setting = "cuda_graphs"   // the step is captured once and launched as one
	FusedOptimizer Setting = "fused"         // the optimizer updates all parameters in one kernel
	BucketMB       Setting = "bucket_cap_mb" // gradients that DistributedDataParallel sends at once, MiB
	Allocator      Setting = "alloc_conf"    // PYTORCH_CUDA_ALLOC_CONF
	ManualGC       Setting = "manual_gc"     // garbage is collected every n steps, not within a step
	SideStream     Setting = "side_stream"   // batches are copied on a separate stream, one step ahead
	MergeCopies    Setting = "merge_copies"  // small tensors go to the device in one copy
	SyncEvery      Setting = "sync_every"    // the loop reads a value of the device every n steps; 0: never
	Accumulation   Setting = "accumulation"  // steps whose gradients are added up before the optimizer runs
	Device         Setting = "gpu"           // key of the device in the hardware table
	// what prepares batches: StokerLoader, or unknown for PyTorch's loader
	LoaderKind Setting = "loader"

	// OnDevice is a setting of stoker.DataLoader: it sends uint8 to the device and normalises
	// there.
	OnDevice Setting = "normalize_on_device"
)

// StokerLoader is the LoaderKind of stoker.DataLoader. Its num_workers is the number of threads
// of stoker feed.
const StokerLoader = "stoker"

// MostInCluster is the largest NumWorkers of a loader whose workers run in a Ray cluster. [J]
const MostInCluster = 4096

// settingFacts describes a setting. Its effect on a forecast is defined in predict and
// predict/replay, its form in a program in advise/emit.
type settingFacts struct {
	name           Setting
	title, expects string
	valid          func(value any) bool
}

// table lists every setting in printing order.
var table = []settingFacts{
	{BatchSize, "samples per step and rank", "a number from 1", from(1)},
	{NumWorkers, "worker processes of a DataLoader", "a number of workers from 0", from(0)},
	{PrefetchFactor, "batches that each worker prepares ahead", "a number of batches from 1", from(1)},
	{PinMemory, "batches arrive in page-locked memory", "true or false", isTruth},
	{NonBlocking, "batches are copied without blocking", "true or false", isTruth},
	{PersistentWorkers, "workers outlive an epoch", "true or false", isTruth},
	{InOrder, "batches are delivered in the sampler's order", "true or false", isTruth},
	{Precision, "data type that the model computes in", "bf16, fp16 or another", isWord()},
	{TF32, "matmuls of float32 run on Tensor Cores", "true or false", isTruth},
	{StorageKind, "the place of the data set", "page cache, or as found", isWord(PageCache, "as found")},
	{Split, "the way in which the data set gives its samples to workers", "worker-info, or a library that splits", isWord()},
	{Shards, "parts that the data set gives to workers", "a number of shards from 1", from(1)},
	{Cores, "CPU cores that the job may use", "a number of cores", above(0)},
	{ComputeOn, "what the model computes on", "cpu or cuda", isWord("cpu", "cuda")},
	{
		Compile, "mode of torch.compile", "default, reduce-overhead or max-autotune",
		isWord("", "default", "reduce-overhead", "max-autotune"),
	},
	{CUDAGraphs, "the step is captured once and launched as one", "true or false", isTruth},
	{FusedOptimizer, "the optimizer updates all parameters in one kernel", "true or false", isTruth},
	{BucketMB, "gradients that DistributedDataParallel sends at once, MiB", "a number above 0", above(0)},
	{Allocator, "PYTORCH_CUDA_ALLOC_CONF", "a value of PYTORCH_CUDA_ALLOC_CONF", isWord()},
	{ManualGC, "steps from one garbage collection to the next, between steps", "a number of steps", above(0)},
	{SideStream, "batches are copied on a separate stream, one step ahead", "true or false", isTruth},
	{MergeCopies, "small tensors go to the device in one copy", "true or false", isTruth},
	{
		SyncEvery, "steps between two values of the device that the loop reads", "a number of steps, 0 for never",
		from(0),
	},
	{Accumulation, "steps whose gradients are added up before the optimizer runs", "a number of steps from 1", from(1)},
	{Device, "device in the hardware table", "a device of stoker predict --list gpus", isWord()},
	{LoaderKind, "what prepares batches, unknown is PyTorch's", StokerLoader, isWord(StokerLoader)},
	{OnDevice, "stoker.DataLoader sends uint8, the device normalises it", "true or false", isTruth},
}

// PageCache is the StorageKind of a data set in memory.
const PageCache = "page cache"

// AllSettings returns the settings that Stoker knows, in printing order.
func AllSettings() []Setting {
	names := make([]Setting, len(table))
	for i, k := range table {
		names[i] = k.name
	}
	return names
}

// Title describes the setting in words; "" if Stoker does not know it.
func (s Setting) Title() string { return s.known().title }

// Expects describes the values of the setting; "" if Stoker does not know it.
func (s Setting) Expects() string { return s.known().expects }

// known returns the row of the setting in the table.
func (s Setting) known() settingFacts {
	if i := rank(s); i < len(table) {
		return table[i]
	}
	return settingFacts{}
}

// CheckValue returns an error if a setting cannot have a value. A numeric value may be a
// multiple of the present one, such as "2x".
func (s Setting) CheckValue(value any) error {
	k := s.known()
	if k.name == "" {
		return fmt.Errorf("%s is not a setting that Stoker knows", s)
	}
	if !k.valid(value) {
		return fmt.Errorf("%s=%v: expected %s", s, value, k.expects)
	}
	return nil
}

// Multiple parses a value that is a multiple of the present one: "2x".
func Multiple(value any) (float64, bool) {
	text, _ := value.(string)
	digits, found := strings.CutSuffix(text, "x")
	n, err := strconv.ParseFloat(digits, 64)
	return n, found && err == nil && n > 0 && n <= math.MaxInt32
}

// from accepts whole numbers from least on, and multiples.
func from(least float64) func(any) bool {
	return func(v any) bool {
		if _, times := Multiple(v); times {
			return true
		}
		n, known := Settings{"v": v}.Float("v")
		return known && n >= least && n == math.Trunc(n) && n <= math.MaxInt32
	}
}

// above accepts numbers greater than least.
func above(least float64) func(any) bool {
	return func(v any) bool {
		n, known := Settings{"v": v}.Float("v")
		return known && n > least && n <= math.MaxInt32
	}
}

// isTruth accepts booleans.
func isTruth(v any) bool { _, known := v.(bool); return known }

// isWord accepts one of some texts, or any text if there are none given.
func isWord(some ...string) func(any) bool {
	return func(v any) bool {
		text, known := v.(string)
		return known && (len(some) == 0 && text != "" || slices.Contains(some, text))
	}
}

// Settings are the settings of one loader and of the job around it. A setting that is not in
// the map is unknown, which is not the same as its default. Values are int, float64, bool or
// string.
type Settings map[Setting]any

// Change is one step of advice: set Setting from From to To. From is nil if the present value
// is unknown.
type Change struct {
	Setting Setting `json:"setting"`
	From    any     `json:"from"`
	To      any     `json:"to"`
}

// String prints a change as "num_workers 0 -> 6".
func (c Change) String() string {
	return fmt.Sprintf("%s %s -> %s", c.Setting, knownOr(c.From), knownOr(c.To))
}

// knownOr returns a setting's value as text.
func knownOr(value any) string {
	if value == nil {
		return "unknown"
	}
	return fmt.Sprint(value)
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

// Text returns a textual setting; "" if unknown.
func (s Settings) Text(name Setting) string {
	text, _ := s[name].(string)
	return text
}

// With returns the settings after the changes; it does not change s.
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

// Settle fills in From of each change if the present value is known, and leaves out changes to
// the present value.
func (s Settings) Settle(changes []Change) []Change {
	var left []Change
	for _, c := range changes {
		now, known := s[c.Setting]
		if known && sameValue(now, c.To) {
			continue
		}
		if known && c.From == nil {
			c.From = now
		}
		left = append(left, c)
	}
	return left
}

// Diff returns the changes that lead from s to after, in printing order. A setting that is
// unknown on either side is not a change.
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

// Names returns the known settings in printing order, followed by those not in the table in
// alphabetical order.
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

// UnmarshalJSON reads settings and converts whole numbers to int, so that a recording is the
// same after writing and reading it.
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
		} // null, lists and objects count as unknown
	}
	return nil
}

// rank returns a setting's index in the table, or the table's length if it is not listed.
func rank(name Setting) int {
	if i := slices.IndexFunc(table, func(k settingFacts) bool { return k.name == name }); i >= 0 {
		return i
	}
	return len(table)
}

// sameValue reports whether two values are equal, comparing numbers by value.
func sameValue(a, b any) bool {
	x, xok := Settings{"v": a}.Float("v")
	y, yok := Settings{"v": b}.Float("v")
	if xok && yok {
		return x == y
	}
	return a == b
}
