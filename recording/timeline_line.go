package recording

import (
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/internal/stat"
)

// timelineBuilder collects the lines of a Timeline.
type timelineBuilder struct {
	t       *Timeline
	names   map[string]int32
	threads map[Thread]int32
	devices map[Device]int32
}

func newTimelineBuilder() *timelineBuilder {
	return &timelineBuilder{&Timeline{}, map[string]int32{}, map[Thread]int32{}, map[Device]int32{}}
}

// addRow adds a line of kind host, device or frame.
func (b *timelineBuilder) addRow(l line) error {
	start, end := nanoseconds(l.T), nanoseconds(l.End)
	t := b.t
	if len(t.Host.Start)+len(t.Device.Start)+len(t.Frames.Start) == 0 {
		t.Start = start
	}
	t.Start, t.End = min(t.Start, start), max(t.End, end)
	switch l.Kind {
	case "host":
		return b.addCall(l, start, end)
	case "frame":
		t.Frames.Append(FrameRow{start, end, b.nameIndex(l.Name), b.threadIndex(l)})
		return nil
	}
	return b.addWork(l, start, end)
}

func (b *timelineBuilder) nameIndex(s string) int32 { return indexOf(b.names, s, &b.t.Names) }

// orNone returns the index of a text, or -1 if it is empty.
func (b *timelineBuilder) orNone(s string) int32 {
	if s == "" {
		return -1
	}
	return b.nameIndex(s)
}

func (b *timelineBuilder) threadIndex(l line) int32 {
	return indexOf(b.threads, Thread{PID: l.PID, ID: l.Thread, Rank: l.Rank}, &b.t.Threads)
}

// indexOf returns the index of an item in a list without duplicates, and appends it if
// necessary.
func indexOf[T comparable](known map[T]int32, item T, list *[]T) int32 {
	i, found := known[item]
	if !found {
		i = int32(len(*list))
		known[item] = i
		*list = append(*list, item)
	}
	return i
}

func (b *timelineBuilder) addCall(l line, start, end int64) error {
	kind := int(Runtime)
	if l.Of != "" {
		kind = slices.Index(callKinds[:], l.Of)
	}
	if kind < 0 {
		return fmt.Errorf("host call of kind %q, expected one of %q", l.Of, callKinds)
	}
	b.t.Host.Append(CallRow{
		start, end, b.nameIndex(l.Name), b.threadIndex(l), CallKind(kind), b.orNone(l.Shapes), b.orNone(l.Types),
	})
	return nil
}

func (b *timelineBuilder) addWork(l line, start, end int64) error {
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
	on := Device{PID: l.PID, Index: l.Device, Rank: l.Rank, GPU: l.Device, File: l.File}
	if l.GPU != nil {
		on.GPU = *l.GPU
	}
	b.t.Device.Append(WorkRow{
		Start: start, End: end, Name: b.nameIndex(l.Name), Device: indexOf(b.devices, on, &b.t.Devices),
		Stream: l.Stream, Kind: WorkKind(kind), Call: call, Bytes: bytes, Blocks: l.Blocks, Threads: l.InBlock,
		PerSM: float32(stat.Value(l.PerSM)), Occupancy: float32(stat.Value(l.Occupancy)), Group: b.orNone(l.Group),
	})
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
	for i := range t.Frames.Start {
		f := t.Frames.RowAt(i)
		lines = append(lines, t.onThread("frame", f.Start, f.End, f.Name, f.Thread))
	}
	return lines
}

func (t *Timeline) onThread(kind string, start, end int64, name, thread int32) line {
	of := t.Threads[thread]
	return line{
		Kind: kind, T: toSeconds(start), actorFields: actorFields{PID: of.PID, Rank: of.Rank},
		timelineFields: timelineFields{End: toSeconds(end), Name: t.Names[name], Thread: of.ID},
	}
}

func (t *Timeline) hostLine(i int) line {
	h := t.Host.RowAt(i)
	l := t.onThread("host", h.Start, h.End, h.Name, h.Thread)
	l.Of, l.Shapes, l.Types = h.Kind.String(), t.textAt(h.Shapes), t.textAt(h.Types)
	return l
}

func (t *Timeline) deviceLine(i int) line {
	d := t.Device.RowAt(i)
	on := t.Devices[d.Device]
	l := line{Kind: "device", T: toSeconds(d.Start), actorFields: actorFields{on.PID, on.Rank, on.Index}}
	l.timelineFields = timelineFields{
		End: toSeconds(d.End), Name: t.Names[d.Name], Stream: d.Stream, Work: d.Kind.String(), Call: &d.Call,
		Blocks: d.Blocks, InBlock: d.Threads, PerSM: stat.Known(float64(d.PerSM)),
		Occupancy: stat.Known(float64(d.Occupancy)), Group: t.textAt(d.Group),
	}
	if d.Bytes >= 0 {
		l.Bytes = &d.Bytes
	}
	if l.File = on.File; on.GPU != on.Index {
		l.GPU = &on.GPU
	}
	return l
}

// textAt returns the name at an index, or "" for -1.
func (t *Timeline) textAt(i int32) string {
	if i < 0 {
		return ""
	}
	return t.Names[i]
}
