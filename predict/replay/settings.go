package replay

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"stoker"
	"stoker/hardware"
)

// Changes reads changes as a person writes them: "num_workers=4,pin_memory=true".
// A number with an x behind it is a multiple of what was recorded:
// "batch_size=2x". The error says which part is wrong and what is expected.
func Changes(text string) ([]stoker.Change, error) {
	var changes []stoker.Change
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" || value == "" {
			return nil, fmt.Errorf("%q is no change: write setting=value, for example num_workers=4,pin_memory=true", strings.TrimSpace(part))
		}
		c := stoker.Change{Setting: stoker.Setting(name), To: parsed(value)}
		if _, _, err := editOf(c); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func parsed(value string) any {
	if n, err := strconv.Atoi(value); err == nil {
		return n
	}
	if v, err := strconv.ParseFloat(value, 64); err == nil {
		return v
	}
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	return value
}

// EditOf is what changes of settings do to a trace. Settings of which a replay has
// no model are returned by name, and left out.
func EditOf(changes []stoker.Change) (edit Edit, unknown []stoker.Setting) {
	for _, c := range changes {
		one, modelled, err := editOf(c)
		if !modelled || err != nil {
			unknown = append(unknown, c.Setting)
			continue
		}
		edit = edit.with(one)
	}
	return edit, unknown
}

// with is two edits together.
func (e Edit) with(o Edit) Edit {
	e.NoLoading = e.NoLoading || o.NoLoading
	e.Workers, e.Times, e.Prefetch = max(e.Workers, o.Workers), max(e.Times, o.Times), max(e.Prefetch, o.Prefetch)
	e.Cores = max(e.Cores, o.Cores)
	e.PinMemory, e.NonBlocking = e.PinMemory || o.PinMemory, e.NonBlocking || o.NonBlocking
	e.SideStream, e.MergeCopies = e.SideStream || o.SideStream, e.MergeCopies || o.MergeCopies
	e.SyncEvery = max(e.SyncEvery, o.SyncEvery)
	e.Graphs, e.Fused = e.Graphs || o.Graphs, e.Fused || o.Fused
	e.TF32, e.Half = e.TF32 || o.TF32, e.Half || o.Half
	e.Batch = max(e.Batch, o.Batch)
	e.Accumulate = max(e.Accumulate, o.Accumulate)
	e.NoAllocator, e.NoCollector = e.NoAllocator || o.NoAllocator, e.NoCollector || o.NoCollector
	if o.GPU != nil {
		e.GPU = o.GPU
	}
	return e
}

// reading turns the value of one setting into an edit.
type reading struct {
	expects string
	edit    func(value any) (Edit, bool)
}

// readings are the settings of which a replay has a model.
var readings = map[stoker.Setting]reading{
	stoker.NumWorkers: {"a number of workers from 1, or a multiple such as 2x", func(v any) (Edit, bool) {
		if n, ok := times(v); ok && n == float64(int(n)) {
			return Edit{Times: int(n)}, n >= 1
		}
		n, ok := whole(v)
		return Edit{Workers: n}, ok && n >= 1
	}},
	stoker.PrefetchFactor:    {"a number of batches from 1", func(v any) (Edit, bool) { n, ok := whole(v); return Edit{Prefetch: n}, ok && n >= 1 }},
	stoker.Cores:             {"a number of cores", func(v any) (Edit, bool) { n, ok := number(v); return Edit{Cores: n}, ok && n > 0 }},
	stoker.PinMemory:         {"true", yes(Edit{PinMemory: true})},
	stoker.NonBlocking:       {"true", yes(Edit{NonBlocking: true, PinMemory: true})},
	stoker.SideStream:        {"true", yes(Edit{SideStream: true})},
	stoker.MergeCopies:       {"true", yes(Edit{MergeCopies: true})},
	stoker.CUDAGraphs:        {"true", yes(Edit{Graphs: true})},
	stoker.TF32:              {"true", yes(Edit{TF32: true})},
	stoker.PersistentWorkers: {"true", yes(Edit{})},
	stoker.SyncEvery: {"a number of steps, 0 for never", func(v any) (Edit, bool) {
		n, ok := whole(v)
		if n == 0 {
			n = Never
		}
		return Edit{SyncEvery: n}, ok && n > 0
	}},
	stoker.Accumulation: {"a number of steps from 1", func(v any) (Edit, bool) {
		n, ok := whole(v)
		return Edit{Accumulate: n}, ok && n >= 1 && n < Never
	}},
	stoker.BatchSize: {"a multiple such as 2x: a trace does not tell the batch size", func(v any) (Edit, bool) {
		n, ok := times(v)
		return Edit{Batch: n}, ok && n > 0 && n <= 1024
	}},
	stoker.Precision: {"bf16 or fp16", func(v any) (Edit, bool) {
		return Edit{Half: true}, v == "bf16" || v == "fp16" || v == "half"
	}},
	stoker.Compile: {"default, reduce-overhead or max-autotune", func(v any) (Edit, bool) {
		return Edit{Fused: true, Graphs: v != "default"}, v == "default" || v == "reduce-overhead" || v == "max-autotune"
	}},
	stoker.Allocator: {"a value of PYTORCH_CUDA_ALLOC_CONF", func(v any) (Edit, bool) { return Edit{NoAllocator: true}, v != "" }},
	stoker.ManualGC:  {"a number of steps", func(any) (Edit, bool) { return Edit{NoCollector: true}, true }},
	stoker.Device: {"a device of stoker predict --list gpus", func(v any) (Edit, bool) {
		name, _ := v.(string)
		gpu, known := hardware.FindGPU(name)
		return Edit{GPU: &gpu}, known
	}},
}

func editOf(c stoker.Change) (edit Edit, modelled bool, err error) {
	r, modelled := readings[c.Setting]
	if !modelled {
		return Edit{}, false, fmt.Errorf("a replay has no model of %q: it knows %s", c.Setting, strings.Join(modelledNames(), ", "))
	}
	edit, ok := r.edit(c.To)
	if !ok {
		return Edit{}, true, fmt.Errorf("%s=%v: expected %s", c.Setting, c.To, r.expects)
	}
	return edit, true, nil
}

func modelledNames() []string {
	var names []string
	for name := range readings {
		names = append(names, string(name))
	}
	sort.Strings(names)
	return names
}

func yes(e Edit) func(any) (Edit, bool) {
	return func(v any) (Edit, bool) { return e, v == true }
}

func whole(v any) (int, bool) { return stoker.Settings{"v": v}.Int("v") }

func number(v any) (float64, bool) { return stoker.Settings{"v": v}.Float("v") }

// times reads a multiple: "2x".
func times(v any) (float64, bool) {
	text, _ := v.(string)
	digits, found := strings.CutSuffix(text, "x")
	n, err := strconv.ParseFloat(digits, 64)
	return n, found && err == nil
}
