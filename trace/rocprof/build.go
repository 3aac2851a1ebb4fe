package rocprof

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
	"github.com/stoker-dev/stoker/trace/steps"
)

// noFramework is the word for a HIP program of no framework that is known.
const noFramework = "HIP"

// builder turns records into columns.
type builder struct {
	*fileReader
	t        *recording.Timeline
	names    map[string]int32
	callKeys []uint64
	workKeys []uint64
}

func (b *builder) intern(name string) int32 {
	at, found := b.names[name]
	if !found {
		at = int32(len(b.t.Names))
		b.names[name] = at
		b.t.Names = append(b.t.Names, name)
	}
	return at
}

// threadKey is a thread of a process.
type threadKey struct {
	pid int
	id  int64
}

// addCalls adds host calls and ranges.
func (b *builder) addCalls() {
	threads := map[threadKey]int32{}
	b.t.Host.Grow(len(b.calls))
	for _, c := range b.calls {
		name := b.tables.operation(c.of, c.operation)
		if c.kind == recording.Annotation {
			if name = b.tables.messages[c.correlation]; name == "" {
				continue // a call of roctx that opens no range
			}
		} else if name == "" {
			name = "call without a name"
		}
		at, found := threads[threadKey{c.pid, c.thread}]
		if !found {
			at = int32(len(b.t.Threads))
			threads[threadKey{c.pid, c.thread}] = at
			b.t.Threads = append(b.t.Threads, recording.Thread{PID: c.pid, ID: c.thread})
		}
		b.t.Host.Append(recording.CallRow{
			Start: c.start, End: c.end, Name: b.intern(name), Thread: at, Kind: c.kind, Shapes: -1, Types: -1,
		})
		key := uint64(0)
		if c.kind == recording.Runtime {
			key = c.correlation
		}
		b.callKeys = append(b.callKeys, key)
	}
	b.calls = nil
}

// addWorks adds kernels and copies.
func (b *builder) addWorks() {
	devices := map[recording.Device]int32{}
	b.t.Device.Grow(len(b.works))
	for _, w := range b.works {
		on := recording.Device{PID: w.pid, GPU: -1}
		if a, known := b.tables.gpus[w.agent]; known {
			on.Index = *a.Index
		}
		at, found := devices[on]
		if !found {
			if len(devices) >= columns.MostDevices {
				b.lost++
				continue
			}
			at = int32(len(b.t.Devices))
			devices[on] = at
			b.t.Devices = append(b.t.Devices, on)
		}
		name, kind := b.nameWork(&w)
		b.t.Device.Append(recording.WorkRow{
			Start: w.start, End: w.end, Name: b.intern(name), Device: at, Stream: int32(min(w.stream, math.MaxInt32)),
			Kind: kind, Call: -1, Bytes: w.bytes, Blocks: int32(min(w.blocks, math.MaxInt32)),
			Threads: int32(min(w.threads, math.MaxInt32)), PerSM: float32(math.NaN()), Occupancy: float32(math.NaN()),
			Group: -1,
		})
		b.workKeys = append(b.workKeys, w.correlation)
	}
	b.works = nil
}

// directions are copies in the words of PyTorch's profiler. Whether host memory is page-locked
// rocprofv3 does not tell.
var directions = map[string]string{
	"MEMORY_COPY_HOST_TO_DEVICE":   "Memcpy HtoD (Host -> Device)",
	"MEMORY_COPY_DEVICE_TO_HOST":   "Memcpy DtoH (Device -> Host)",
	"MEMORY_COPY_DEVICE_TO_DEVICE": "Memcpy DtoD (Device -> Device)",
	"MEMORY_COPY_HOST_TO_HOST":     "Memcpy HtoH (Host -> Host)",
}

// nameWork is the name and kind of a piece of work.
func (b *builder) nameWork(w *work) (string, recording.WorkKind) {
	if w.copies {
		operation := b.tables.operation(w.of, w.operation)
		return cmp.Or(directions[operation], operation, "copy without a name"), recording.Copy
	}
	name := cmp.Or(b.tables.kernels[w.kernel], "kernel without a name")
	lower := strings.ToLower(name)
	switch {
	case recording.ContainsAny(lower, "nccl", "rccl"):
		return name, recording.Collective
	case strings.HasPrefix(name, "__amd_rocclr_copyBuffer"):
		return name, recording.Copy
	case strings.HasPrefix(name, "__amd_rocclr_fillBuffer"):
		return name, recording.Set
	}
	return name, recording.Kernel
}

// sortAndLink puts the columns in order of start, and joins work to the calls that launched it.
func (b *builder) sortAndLink() {
	h, d := &b.t.Host, &b.t.Device
	order := columns.ByStart(h.Start, h.End)
	h.Reorder(order)
	recording.Reorder(order, b.callKeys)
	order = columns.ByStart(d.Start, d.End)
	d.Reorder(order)
	recording.Reorder(order, b.workKeys)
	d.Call = columns.LinkCalls(b.callKeys, h.Start, b.workKeys, d.Start)
}

// facts are what the file tells of machine and program.
func (b *builder) facts() (f recording.Facts) {
	f.Damage = b.damage
	if b.lost > 0 {
		f.WorkLost = float64(b.lost) / float64(b.lost+int64(len(b.t.Device.Start)))
		f.Damage = append(f.Damage, "Pieces of device work with an impossible time were left out: the device was busier "+
			"than the figures say.")
	}
	f.Software.Recorder = recording.Rocprof
	if !slices.ContainsFunc(b.t.Names, recording.TorchSign) {
		f.Software.Framework = noFramework
	}
	place := map[int]int{}
	for i := range b.t.Devices {
		d := &b.t.Devices[i]
		for _, a := range b.tables.gpus {
			if _, again := place[d.Index]; *a.Index == d.Index && !again {
				place[d.Index] = len(f.GPUs)
				f.GPUs = append(f.GPUs, describeGPU(a))
			}
		}
		if at, known := place[d.Index]; known {
			d.GPU = at
		}
	}
	f.Processes = b.listProcesses()
	f.Loaders = steps.ListLoaders(b.t, f.Processes)
	return f
}

func describeGPU(a agent) recording.GPU {
	g := recording.GPU{Index: *a.Index, Name: columns.CleanText(cmp.Or(a.Product, a.Name), 80), SMs: max(0, a.Units)}
	if len(a.Banks) > 0 && a.Banks[0].Bytes > 0 {
		g.MemoryBytes = &a.Banks[0].Bytes
	}
	return g
}

// listProcesses lists the processes of the file with the thread that launches most.
func (b *builder) listProcesses() (out []recording.Process) {
	launches, devices := columns.Tallies{}, columns.Tallies{}
	for i, c := range b.t.Device.Call {
		on := b.t.Devices[b.t.Device.Device[i]]
		devices.Count(on.PID, on.Index)
		if c >= 0 {
			at := b.t.Host.Thread[c]
			launches.Count(b.t.Threads[at].PID, int(at))
		}
	}
	for pid, used := range devices {
		p := recording.Process{
			PID: pid, Role: recording.RoleTrainer, Device: used.FindMost(-1), End: float64(b.t.End) / 1e9,
		}
		if at := launches[pid].FindMost(-1); at >= 0 {
			p.LaunchThread, p.LauncherSeen = int(b.t.Threads[at].ID), true
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b recording.Process) int { return cmp.Compare(a.PID, b.PID) })
	return out
}
