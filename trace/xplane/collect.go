package xplane

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker/recording"
)

// Why events are not kept, in words for Timeline.Dropped.
const (
	instants   = "without a length: memory counters, marks of thread pools"
	shortFrame = "python frame below 20 us"
	derived    = "of rows that are derived from others"
	badTime    = "with an impossible time"
	outside    = "outside of the part that was read"
	nameless   = "of planes that end before their names"
	nests      = "XLA operators that hold others"
	waitsInput = "infeed of a TPU: it waits for input there"
	broken     = "damaged"
)

// shortestFrame is how long a Python frame lasts that can explain a gap, ns. The
// profiler names files without their folders, so that a user's cannot be told from
// a library's and kept however short.
const shortestFrame = 20_000

// deviceMark is a step as a device saw it.
type deviceMark struct {
	plane      int
	start, end int64
	name       string
}

// collect is the second pass: the columns of the events in the window.
type collect struct {
	survey   *survey
	t        *recording.Timeline
	names    *names
	from, to int64
	most     int
	dropped  map[string]int

	index     int // of the current line
	now       *line
	of        *plane
	thread    int32            // of the current line, -1 not yet
	threads   map[thread]int32 // of the host
	device    int32            // of the current line, -1 not yet
	devices   map[int]int32    // plane: place among the devices
	devPlanes []int            // device: its plane
	stream    int32
	details   map[string]details
	marks     []deviceMark
	modules   []deviceMark
	numbered  bool     // steps have numbers
	plain     []int32  // host calls that may mark steps where none has a number
	workKey   []uint64 // correlation of each piece of work; 0 without
	callKey   []uint64 // of each host call
}

type thread struct {
	id   int64
	name string
}

func (v *collect) space(field, []byte)      {}
func (v *collect) plane(int)                {}
func (v *collect) planeField(field, []byte) {}
func (v *collect) lineField(field, []byte)  {}
func (v *collect) lineDone()                { v.index++ }
func (v *collect) planeDone(bool)           {}

func (v *collect) line(i int) {
	v.index = i
	v.thread, v.device = -1, -1
	v.now, v.of = nil, nil
	if i < len(v.survey.lines) {
		v.now = &v.survey.lines[i]
		v.of = &v.survey.planes[v.now.plane]
		v.stream = streamNumber(v.now.name)
	}
}

// streamNumber reads "Stream #134(Compute)"; the rows of a TPU get 0 and 1.
func streamNumber(name string) int32 {
	n := int64(0)
	for _, c := range name {
		if c >= '0' && c <= '9' && n < 1<<27 {
			n = n*10 + int64(c-'0')
		} else if n > 0 {
			break
		}
	}
	if name == "Async XLA Ops" {
		return 1
	}
	return int32(n)
}

func (v *collect) event(b []byte) {
	switch {
	case v.now == nil:
		return
	case v.now.part == other:
		v.dropped[derived]++
		return
	}
	e, ok := eventOf(b)
	start, end, sound := e.times(v.now.at)
	if !ok {
		v.dropped[broken]++
		return
	}
	if !sound {
		v.dropped[badTime]++
		return
	}
	if start < v.from || start >= v.to || v.full() {
		v.dropped[outside]++
		return
	}
	name, found := v.of.events[e.name]
	if !found {
		v.dropped[nameless]++
		return
	}
	switch v.now.part {
	case hostRows:
		v.host(b, name, start, end)
	case gpuRows, tpuRows:
		v.work(b, name, start, end)
	case stepRows:
		v.marks = marked(v.marks, deviceMark{v.now.plane, start, end, v.names.list[name]})
	case moduleRows:
		v.modules = marked(v.modules, deviceMark{v.now.plane, start, end, v.names.list[name]})
	case other, environs:
	}
}

func marked(marks []deviceMark, m deviceMark) []deviceMark {
	if len(marks) < 1_000_000 {
		marks = append(marks, m)
	}
	return marks
}

// full reports whether as much is kept as memory allows for: the census counts by
// time, and all of a file may lie at one instant.
func (v *collect) full() bool {
	return len(v.workKey)+len(v.callKey)+len(v.t.Frames.Start) >= 2*v.most
}

// told are what the stats of an event say.
type told struct {
	correlation uint64
	step        int64 // -1 without
	what        key   // which kind of details
	details     details
}

// stats reads those stats of an event that tell something.
func (v *collect) stats(b []byte) told {
	out := told{step: -1, details: nothing()}
	each(b, func(n protowire.Number, _ uint64, bytes []byte) {
		if n != 4 || bytes == nil {
			return
		}
		k := v.of.keys[nameOf(bytes)]
		if k == noKey {
			return
		}
		s, ok := statOf(bytes)
		if !ok {
			return
		}
		switch k {
		case correlation:
			out.correlation = s.value
		case stepNumber:
			out.step = int64(s.value)
		case kernelDetails, copyDetails, setDetails:
			out.what, out.details = k, v.detailsOf(v.of.text(s))
		case noKey, vendor, deviceType, cores, memory, capMajor, capMinor, profileStart:
		}
	})
	return out
}

// nameOf is the number of a stat's name, its first field.
func nameOf(b []byte) int64 {
	if len(b) > 1 && b[0] == 1<<3 {
		v, n := protowire.ConsumeVarint(b[1:])
		if n > 0 {
			return int64(v)
		}
	}
	s, _ := statOf(b)
	return s.name
}

// text is a stat's text, written out or by its number.
func (p *plane) text(s stat) string {
	if s.kind == 7 {
		return p.texts[int64(s.value)]
	}
	return s.text
}

func (v *collect) detailsOf(text string) details {
	d, found := v.details[text]
	if !found {
		d = detailsOf(text)
		if len(v.details) < 1<<16 && len(text) < 1000 {
			v.details[text] = d
		}
	}
	return d
}

// host takes an event of a thread.
func (v *collect) host(b []byte, name int32, start, end int64) {
	r := v.names.roles[name]
	switch {
	case r.noise, end == start && !r.mark:
		v.dropped[instants]++
		return
	case r.frame:
		v.frame(name, start, end)
		return
	}
	s := v.stats(b)
	kind := recording.Op
	switch {
	case s.correlation != 0 && !r.api:
		name, kind = v.names.add2(callName(v.names.list[name], s.what)), recording.Runtime
	case r.api:
		kind = recording.Runtime
	case s.step >= 0:
		name, kind = v.names.add2(stepMark(s.step)), recording.Annotation
		v.numbered = true
	case r.mark:
		kind = recording.Annotation
		v.plain = append(v.plain, int32(len(v.callKey)))
	case r.loader:
		kind = recording.Annotation
	}
	h := &v.t.Host
	h.Start, h.End, h.Name = append(h.Start, start), append(h.End, end), append(h.Name, name)
	h.Thread, h.Kind = append(h.Thread, v.row()), append(h.Kind, kind)
	h.Shapes, h.Types = append(h.Shapes, -1), append(h.Types, -1)
	v.callKey = append(v.callKey, s.correlation)
}

func (v *collect) frame(name int32, start, end int64) {
	if end-start < shortestFrame {
		v.dropped[shortFrame]++
		return
	}
	f := &v.t.Frames
	f.Start, f.End = append(f.Start, start), append(f.End, end)
	f.Name, f.Thread = append(f.Name, v.names.add2(frameName(v.names.list[name]))), append(f.Thread, v.row())
}

// add2 is the place of a text that was made here. It grows no roles of its own:
// what it stands for was settled before.
func (n *names) add2(text string) int32 {
	if id, found := n.known[text]; found {
		return id
	}
	return n.add(text)
}

// row is the thread of the current line.
func (v *collect) row() int32 {
	if v.thread < 0 {
		key := thread{v.now.id, v.now.name}
		t, found := v.threads[key]
		if !found {
			t = int32(len(v.t.Threads))
			v.threads[key] = t
			v.t.Threads = append(v.t.Threads, recording.Thread{PID: process, ID: v.now.id, Name: v.now.name})
		}
		v.thread = t
	}
	return v.thread
}

// detailed are the kinds of work that only their details tell.
var detailed = map[key]recording.WorkKind{copyDetails: recording.Copy, setDetails: recording.Set}

// work takes an event of a device.
func (v *collect) work(b []byte, name int32, start, end int64) {
	r := v.names.roles[name]
	if v.now.part == tpuRows && (r.nested || r.infeed) {
		if r.infeed {
			v.dropped[waitsInput]++
		} else {
			v.dropped[nests]++
		}
		return
	}
	s := v.stats(b)
	kind := r.dispose
	if told, found := detailed[s.what]; found {
		kind = told
	}
	if kind == recording.Copy {
		name = v.names.add2(copyName(v.names.list[name], s.details))
	}
	if v.device < 0 {
		v.device = v.unit()
	}
	d := &v.t.Device
	d.Start, d.End, d.Name = append(d.Start, start), append(d.End, end), append(d.Name, name)
	d.Device, d.Stream, d.Kind = append(d.Device, v.device), append(d.Stream, v.stream), append(d.Kind, kind)
	d.Bytes, d.Blocks, d.Threads = append(d.Bytes, s.details.bytes), append(d.Blocks, s.details.blocks), append(d.Threads, s.details.threads)
	d.PerSM, d.Occupancy = append(d.PerSM, float32(math.NaN())), append(d.Occupancy, s.details.occupancy)
	d.Group = append(d.Group, -1)
	v.workKey = append(v.workKey, s.correlation)
}

// unit is the device of the current line's plane.
func (v *collect) unit() int32 {
	d, found := v.devices[v.now.plane]
	if !found {
		d = int32(len(v.t.Devices))
		v.devices[v.now.plane] = d
		v.devPlanes = append(v.devPlanes, v.now.plane)
		v.t.Devices = append(v.t.Devices, recording.Device{PID: process, Index: deviceNumber(v.of.name), GPU: -1})
	}
	return d
}
