package xplane

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/trace/columns"
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
	names    *nameTable
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
	plain     []int32  // host calls that may mark steps if none has a number
	workKey   []uint64 // correlation of each piece of work; 0 without
	callKey   []uint64 // of each host call
}

type thread struct {
	id   int64
	name string
}

func (v *collect) takeSpaceField(field, []byte) {}
func (v *collect) beginPlane(int)               {}
func (v *collect) planeField(field, []byte)     {}
func (v *collect) lineField(field, []byte)      {}
func (v *collect) lineDone()                    { v.index++ }
func (v *collect) planeDone(bool)               {}

func (v *collect) beginLine(i int) {
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

func (v *collect) takeEvent(b []byte) {
	switch {
	case v.now == nil:
		return
	case v.now.part == other:
		v.dropped[derived]++
		return
	}
	e, ok := eventOf(b)
	start, end, sound := e.startAndEnd(v.now.at)
	if !ok {
		v.dropped[broken]++
		return
	}
	if !sound {
		v.dropped[badTime]++
		return
	}
	if start < v.from || start >= v.to || v.isFull() {
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
		v.addCall(b, name, start, end)
	case gpuRows, tpuRows:
		v.addWork(b, name, start, end)
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

// isFull reports whether as much is kept as memory allows for: the census counts by
// time, and all of a file may lie at one instant.
func (v *collect) isFull() bool {
	return len(v.workKey)+len(v.callKey)+len(v.t.Frames.Start) >= 2*v.most
}

// told are what the stats of an event say.
type told struct {
	correlation uint64
	step        int64   // -1 without
	what        statKey // which kind of details
	details     details
}

// readStats reads those stats of an event that tell something.
func (v *collect) readStats(b []byte) told {
	out := told{step: -1, details: nothing()}
	eachField(b, func(n protowire.Number, _ uint64, bytes []byte) {
		if n != 4 || bytes == nil {
			return
		}
		k := v.of.keys[nameOf(bytes)]
		if k == noKey {
			return
		}
		s, ok := parseStat(bytes)
		if !ok {
			return
		}
		switch k {
		case correlation:
			out.correlation = s.value
		case stepNumber:
			out.step = int64(s.value)
		case kernelDetails, copyDetails, setDetails:
			out.what, out.details = k, v.detailsOf(v.of.statText(s))
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
	s, _ := parseStat(b)
	return s.name
}

// statText is a stat's text, written out or by its number.
func (p *plane) statText(s stat) string {
	if s.kind == statRef {
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

// addCall takes an event of a thread.
func (v *collect) addCall(b []byte, name int32, start, end int64) {
	r := v.names.roles[name]
	switch {
	case r.noise, end == start && !r.mark:
		v.dropped[instants]++
		return
	case r.frame:
		v.addFrame(name, start, end)
		return
	}
	s := v.readStats(b)
	kind := recording.Op
	switch {
	case s.correlation != 0 && !r.api:
		name, kind = v.names.internMade(callName(v.names.list[name], s.what)), recording.Runtime
	case r.api:
		kind = recording.Runtime
	case s.step >= 0:
		name, kind = v.names.internMade(stepMark(s.step)), recording.Annotation
		v.numbered = true
	case r.mark:
		kind = recording.Annotation
		v.plain = append(v.plain, int32(len(v.callKey)))
	case r.loader:
		kind = recording.Annotation
	}
	v.t.Host.Append(recording.CallRow{
		Start: start, End: end, Name: name, Thread: v.threadPlace(), Kind: kind, Shapes: -1, Types: -1,
	})
	v.callKey = append(v.callKey, s.correlation)
}

func (v *collect) addFrame(name int32, start, end int64) {
	if end-start < shortestFrame {
		v.dropped[shortFrame]++
		return
	}
	name = v.names.internMade(frameName(v.names.list[name]))
	v.t.Frames.Append(recording.FrameRow{Start: start, End: end, Name: name, Thread: v.threadPlace()})
}

// internMade is the place of a text that was made here. It adds no roles:
// its meaning was settled before.
func (n *nameTable) internMade(text string) int32 {
	if id, found := n.known[text]; found {
		return id
	}
	return n.insert(text)
}

// threadPlace is the thread of the current line.
func (v *collect) threadPlace() int32 {
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
var detailed = map[statKey]recording.WorkKind{copyDetails: recording.Copy, setDetails: recording.Set}

// addWork takes an event of a device.
func (v *collect) addWork(b []byte, name int32, start, end int64) {
	r := v.names.roles[name]
	if v.now.part == tpuRows && (r.nested || r.infeed) {
		if r.infeed {
			v.dropped[waitsInput]++
		} else {
			v.dropped[nests]++
		}
		return
	}
	s := v.readStats(b)
	kind := r.dispose
	if told, found := detailed[s.what]; found {
		kind = told
	}
	if kind == recording.Copy {
		name = v.names.internMade(copyName(v.names.list[name], s.details))
	}
	if v.device < 0 {
		v.device = v.devicePlace()
	}
	if v.device < 0 {
		v.dropped[columns.TooManyDevices]++
		return
	}
	v.t.Device.Append(recording.WorkRow{
		Start: start, End: end, Name: name, Device: v.device, Stream: v.stream, Kind: kind, Call: -1,
		Bytes: s.details.bytes, Blocks: s.details.blocks, Threads: s.details.threads,
		PerSM: float32(math.NaN()), Occupancy: s.details.occupancy, Group: -1,
	})
	v.workKey = append(v.workKey, s.correlation)
}

// devicePlace is the device of the current line's plane, -1 if there are too many.
func (v *collect) devicePlace() int32 {
	d, found := v.devices[v.now.plane]
	if !found {
		if len(v.t.Devices) >= columns.MostDevices {
			return -1
		}
		d = int32(len(v.t.Devices))
		v.devices[v.now.plane] = d
		v.devPlanes = append(v.devPlanes, v.now.plane)
		v.t.Devices = append(v.t.Devices, recording.Device{PID: process, Index: deviceNumber(v.of.name), GPU: -1})
	}
	return d
}

// process is the number of the one process that a file is about, which it does not
// tell.
const process = 1

func stepMark(n int64) string { return "ProfilerStep#" + strconv.FormatInt(n, 10) }

// deviceNumber reads "/device:GPU:4".
func deviceNumber(plane string) int {
	digits := plane[strings.LastIndexByte(plane, ':')+1:]
	digits, _, _ = strings.Cut(digits, " ")
	if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n < 1<<20 {
		return n
	}
	return 0
}
