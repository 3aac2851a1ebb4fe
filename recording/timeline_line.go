package recording

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-dev/stoker/internal/stat"
)

// timelineFields are the fields of the lines host, device and frame: times in
// seconds, names written out. What is unknown stays out.
type timelineFields struct {
	End       float64  `json:"end,omitempty"`
	Name      string   `json:"name,omitempty"`
	Thread    int64    `json:"thread,omitempty"`
	Call      *int32   `json:"call,omitempty"`
	Of        string   `json:"of,omitempty"` // kind of a host call: "op", "annotation", "runtime" (or left out), "collector", "profiling"
	Shapes    string   `json:"shapes,omitempty"`
	Types     string   `json:"types,omitempty"`
	Stream    int32    `json:"stream,omitempty"`
	Work      string   `json:"work,omitempty"`
	Bytes     *int64   `json:"bytes,omitempty"`
	Blocks    int32    `json:"blocks,omitempty"`
	InBlock   int32    `json:"threads_per_block,omitempty"`
	PerSM     *float64 `json:"blocks_per_sm,omitempty"`
	Occupancy *float64 `json:"occupancy,omitempty"`
	Group     string   `json:"group,omitempty"`
	GPU       *int     `json:"gpu,omitempty"`  // place among the facts' GPUs where that is not the device's number; -1 unknown
	File      int      `json:"file,omitempty"` // of the trace's files
}

var callKinds = [...]string{"op", "annotation", "runtime", "collector", "profiling"}

// String returns the kind's word.
func (k CallKind) String() string {
	if int(k) < len(callKinds) {
		return callKinds[k]
	}
	return "unknown"
}

// timelineBuilder collects the lines of a Timeline.
type timelineBuilder struct {
	t       *Timeline
	names   map[string]int32
	threads map[Thread]int32
	devices map[Device]int32
}

func (b *builder) addTimeline(l line) error {
	if b.run.Timeline == nil {
		b.run.Timeline = &Timeline{}
		b.time = timelineBuilder{b.run.Timeline, map[string]int32{}, map[Thread]int32{}, map[Device]int32{}}
	}
	start, end := nanoseconds(l.T), nanoseconds(l.End)
	t := b.run.Timeline
	if len(t.Host.Start)+len(t.Device.Start)+len(t.Frames.Start) == 0 {
		t.Start = start
	}
	t.Start, t.End = min(t.Start, start), max(t.End, end)
	switch l.Kind {
	case "host":
		return b.time.host(l, start, end)
	case "frame":
		f := &t.Frames
		f.Start, f.End = append(f.Start, start), append(f.End, end)
		f.Name, f.Thread = append(f.Name, b.time.name(l.Name)), append(f.Thread, b.time.thread(l))
		return nil
	}
	return b.time.device(l, start, end)
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(1e9 * seconds)) }

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func (b *timelineBuilder) name(s string) int32 {
	return index(b.names, s, &b.t.Names)
}

// orNone is the index of a text that may be missing.
func (b *timelineBuilder) orNone(s string) int32 {
	if s == "" {
		return -1
	}
	return b.name(s)
}

func (b *timelineBuilder) thread(l line) int32 {
	return index(b.threads, Thread{PID: l.PID, ID: l.Thread, Rank: l.Rank}, &b.t.Threads)
}

// index is the place of an item in a list without repetitions.
func index[T comparable](known map[T]int32, item T, list *[]T) int32 {
	i, found := known[item]
	if !found {
		i = int32(len(*list))
		known[item] = i
		*list = append(*list, item)
	}
	return i
}

func (b *timelineBuilder) host(l line, start, end int64) error {
	kind := int(Runtime)
	if l.Of != "" {
		kind = slices.Index(callKinds[:], l.Of)
	}
	if kind < 0 {
		return fmt.Errorf("host call of kind %q, expected one of %q", l.Of, callKinds)
	}
	h := &b.t.Host
	h.Start, h.End = append(h.Start, start), append(h.End, end)
	h.Name, h.Thread, h.Kind = append(h.Name, b.name(l.Name)), append(h.Thread, b.thread(l)), append(h.Kind, CallKind(kind))
	h.Shapes, h.Types = append(h.Shapes, b.orNone(l.Shapes)), append(h.Types, b.orNone(l.Types))
	return nil
}

func (b *timelineBuilder) device(l line, start, end int64) error {
	kind := slices.Index(workKinds[:], l.Work)
	if kind < 0 {
		return fmt.Errorf("device work of kind %q, expected one of %q", l.Work, workKinds)
	}
	call, bytes := int32(-1), int64(-1)
	if l.Call != nil {
		call = *l.Call
	}
	if l.Bytes != nil {
		bytes = *l.Bytes
	}
	d := &b.t.Device
	d.Start, d.End, d.Name = append(d.Start, start), append(d.End, end), append(d.Name, b.name(l.Name))
	on := Device{PID: l.PID, Index: l.Device, Rank: l.Rank, GPU: l.Device, File: l.File}
	if l.GPU != nil {
		on.GPU = *l.GPU
	}
	d.Device = append(d.Device, index(b.devices, on, &b.t.Devices))
	d.Stream, d.Kind, d.Call = append(d.Stream, l.Stream), append(d.Kind, WorkKind(kind)), append(d.Call, call)
	d.Bytes, d.Blocks, d.Threads = append(d.Bytes, bytes), append(d.Blocks, l.Blocks), append(d.Threads, l.InBlock)
	d.PerSM = append(d.PerSM, float32(stat.Value(l.PerSM)))
	d.Occupancy = append(d.Occupancy, float32(stat.Value(l.Occupancy)))
	d.Group = append(d.Group, b.orNone(l.Group))
	return nil
}

func timelineLines(t *Timeline) []line {
	if t == nil {
		return nil
	}
	lines := make([]line, 0, len(t.Host.Start)+len(t.Device.Start)+len(t.Frames.Start))
	for i := range t.Host.Start {
		lines = append(lines, t.hostLine(i))
	}
	for i := range t.Device.Start {
		lines = append(lines, t.deviceLine(i))
	}
	for i, f := 0, t.Frames; i < len(f.Start); i++ {
		lines = append(lines, t.onThread("frame", f.Start[i], f.End[i], f.Name[i], f.Thread[i]))
	}
	return lines
}

func (t *Timeline) onThread(kind string, start, end int64, name, thread int32) line {
	of := t.Threads[thread]
	return line{
		Kind: kind, T: seconds(start), PID: of.PID, Rank: of.Rank,
		timelineFields: timelineFields{End: seconds(end), Name: t.Names[name], Thread: of.ID},
	}
}

func (t *Timeline) hostLine(i int) line {
	h := t.Host
	l := t.onThread("host", h.Start[i], h.End[i], h.Name[i], h.Thread[i])
	l.Of, l.Shapes, l.Types = h.Kind[i].String(), t.text(h.Shapes[i]), t.text(h.Types[i])
	return l
}

func (t *Timeline) deviceLine(i int) line {
	d := t.Device
	on := t.Devices[d.Device[i]]
	l := line{Kind: "device", T: seconds(d.Start[i]), PID: on.PID, Rank: on.Rank, Device: on.Index}
	l.timelineFields = timelineFields{
		End: seconds(d.End[i]), Name: t.Names[d.Name[i]], Stream: d.Stream[i], Work: d.Kind[i].String(), Call: &d.Call[i],
		Blocks: d.Blocks[i], InBlock: d.Threads[i], PerSM: stat.Known(float64(d.PerSM[i])), Occupancy: stat.Known(float64(d.Occupancy[i])),
		Group: t.text(d.Group[i]),
	}
	if d.Bytes[i] >= 0 {
		l.Bytes = &d.Bytes[i]
	}
	if l.File = on.File; on.GPU != on.Index {
		l.GPU = &on.GPU
	}
	return l
}

// text is a name that may be missing.
func (t *Timeline) text(i int32) string {
	if i < 0 {
		return ""
	}
	return t.Names[i]
}
