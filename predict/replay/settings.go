package replay

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/hardware"
)

// Changes reads changes as a person writes them: "num_workers=4,pin_memory=true".
// A number with an x behind it is a multiple of what was recorded:
// "batch_size=2x". The error says which part is wrong and the expected form.
func Changes(text string) ([]stoker.Change, error) {
	var changes []stoker.Change
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" || value == "" {
			return nil, fmt.Errorf("%q is not a change: write setting=value, for example num_workers=4,pin_memory=true",
				strings.TrimSpace(part))
		}
		c := stoker.Change{Setting: stoker.Setting(name), To: parseValue(value)}
		if _, _, err := editOf(c); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func parseValue(value string) any {
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

// EditOf turns changes of settings into an edit of a trace. It returns the names of settings
// that a replay has no model of, and leaves them out.
func EditOf(changes []stoker.Change) (edit Edit, unknown []stoker.Setting) {
	for _, c := range changes {
		one, modelled, err := editOf(c)
		if !modelled || err != nil {
			unknown = append(unknown, c.Setting)
			continue
		}
		edit = edit.joinedWith(one)
	}
	return edit, unknown
}

// joinedWith is two edits together.
func (e Edit) joinedWith(o Edit) Edit {
	e.NoLoading = e.NoLoading || o.NoLoading
	e.Workers, e.Times, e.Prefetch = max(e.Workers, o.Workers), max(e.Times, o.Times), max(e.Prefetch, o.Prefetch)
	e.Cores = max(e.Cores, o.Cores)
	e.PinMemory, e.NonBlocking = e.PinMemory || o.PinMemory, e.NonBlocking || o.NonBlocking
	e.SideStream, e.MergeCopies = e.SideStream || o.SideStream, e.MergeCopies || o.MergeCopies
	e.SyncEvery = max(e.SyncEvery, o.SyncEvery)
	e.Graphs, e.Fused, e.Model = e.Graphs || o.Graphs, e.Fused || o.Fused, e.Model || o.Model
	e.TF32, e.Half = e.TF32 || o.TF32, e.Half || o.Half
	e.Batch = max(e.Batch, o.Batch)
	e.Accumulate = max(e.Accumulate, o.Accumulate)
	e.NoAllocator, e.NoCollector = e.NoAllocator || o.NoAllocator, e.NoCollector || o.NoCollector
	if o.GPU != nil {
		e.GPU = o.GPU
	}
	return e
}

// editReader turns a value of a setting into an edit; false if a replay cannot follow it.
type editReader struct {
	edit func(value any) (Edit, bool)
	only string // the values that a replay can follow, where they are not all
}

// readings are the settings that a replay has a model of.
var readings = map[stoker.Setting]editReader{
	stoker.NumWorkers: {func(v any) (Edit, bool) {
		if n, ok := stoker.Multiple(v); ok && n == float64(int(n)) {
			return Edit{Times: int(n)}, n >= 1
		}
		n, ok := whole(v)
		return Edit{Workers: n}, ok && n >= 1
	}, "a number of workers from 1, or a multiple such as 2x"},
	stoker.PrefetchFactor:    {func(v any) (Edit, bool) { n, ok := whole(v); return Edit{Prefetch: n}, ok }, ""},
	stoker.Cores:             {func(v any) (Edit, bool) { n, ok := toNumber(v); return Edit{Cores: n}, ok }, ""},
	stoker.PinMemory:         yes(Edit{PinMemory: true}),
	stoker.NonBlocking:       yes(Edit{NonBlocking: true, PinMemory: true}),
	stoker.SideStream:        yes(Edit{SideStream: true}),
	stoker.MergeCopies:       yes(Edit{MergeCopies: true}),
	stoker.CUDAGraphs:        yes(Edit{Graphs: true}),
	stoker.TF32:              yes(Edit{TF32: true}),
	stoker.PersistentWorkers: yes(Edit{}),
	stoker.SyncEvery: {func(v any) (Edit, bool) {
		n, ok := whole(v)
		if n == 0 {
			n = Never
		}
		return Edit{SyncEvery: n}, ok
	}, ""},
	stoker.Accumulation: {
		func(v any) (Edit, bool) { n, ok := whole(v); return Edit{Accumulate: n}, ok && n < Never },
		"",
	},
	stoker.BatchSize: {func(v any) (Edit, bool) {
		n, ok := stoker.Multiple(v)
		return Edit{Batch: n}, ok && n <= 1024
	}, "a multiple such as 2x: a trace does not tell the batch size"},
	stoker.Precision: {func(v any) (Edit, bool) {
		return Edit{Half: true}, v == "bf16" || v == "fp16" || v == "half"
	}, "bf16 or fp16"},
	stoker.Compile: {func(v any) (Edit, bool) {
		return Edit{Fused: true, Graphs: v != "default", Model: true}, v != ""
	}, ""},
	stoker.Allocator: {func(any) (Edit, bool) { return Edit{NoAllocator: true}, true }, ""},
	stoker.ManualGC:  {func(any) (Edit, bool) { return Edit{NoCollector: true}, true }, ""},
	stoker.Device: {func(v any) (Edit, bool) {
		name, _ := v.(string)
		gpu, known := hardware.FindGPU(name)
		return Edit{GPU: &gpu}, known
	}, ""},
}

func editOf(c stoker.Change) (edit Edit, modelled bool, err error) {
	r, modelled := readings[c.Setting]
	if !modelled {
		return Edit{}, false, fmt.Errorf("a replay has no model of %q: it knows %s", c.Setting,
			strings.Join(modelledNames(), ", "))
	}
	expects := r.only
	if expects == "" {
		expects = c.Setting.Expects()
	}
	if edit, ok := r.edit(c.To); ok && c.Setting.CheckValue(c.To) == nil {
		return edit, true, nil
	}
	return Edit{}, true, fmt.Errorf("%s=%v: expected %s", c.Setting, c.To, expects)
}

// Models reports whether a replay has a model of a setting.
func Models(s stoker.Setting) bool { _, modelled := readings[s]; return modelled }

func modelledNames() []string {
	var names []string
	for name := range readings {
		names = append(names, string(name))
	}
	sort.Strings(names)
	return names
}

// yes is of a setting that a replay can turn on and not off.
func yes(e Edit) editReader {
	return editReader{func(v any) (Edit, bool) { return e, v == true }, "true"}
}

func whole(v any) (int, bool) { return stoker.Settings{"v": v}.Int("v") }

func toNumber(v any) (float64, bool) { return stoker.Settings{"v": v}.Float("v") }
