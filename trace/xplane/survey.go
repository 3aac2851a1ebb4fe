package xplane

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker/trace/columns"
)

// part says what a plane or a line holds.
type part uint8

const (
	other      part = iota // rows that are derived from others, counters, metadata
	hostRows               // what threads of the host did
	gpuRows                // what streams of a GPU did
	tpuRows                // what a TPU core did
	environs               // when the profile was taken
	stepRows               // a line: steps as a device saw them
	moduleRows             // a line: runs of whole XLA programs
)

// planePart reads a plane's name: "/device:GPU:0", "/host:CPU".
func planePart(name string) part {
	switch {
	case strings.HasPrefix(name, "/device:GPU:"), strings.HasPrefix(name, "/device:ROCM:"):
		return gpuRows
	case strings.HasPrefix(name, "/device:TPU:") && !strings.Contains(name, "SparseCore"):
		return tpuRows
	case strings.HasPrefix(name, "/host:CPU"), name == "/host:python-tracer", name == "/host:CUPTI",
		name == "/host:ROCTRACER":
		return hostRows
	case name == "Task Environment":
		return environs
	}
	return other
}

// linePart reads a line's name within a plane.
func linePart(of part, name string) part {
	switch of {
	case hostRows:
		return hostRows
	case gpuRows, tpuRows:
		switch {
		case name == "Steps":
			return stepRows
		case name == "XLA Modules":
			return moduleRows
		case of == gpuRows && strings.HasPrefix(name, "Stream #"):
			return gpuRows
		case of == tpuRows && (name == "XLA Ops" || name == "Async XLA Ops"):
			return tpuRows
		}
	case other, environs, stepRows, moduleRows:
	}
	return other
}

// stat is one value of an event or a plane.
type stat struct {
	name  int64 // number of its name
	kind  protowire.Number
	value uint64 // of numbers, and the number of a text
	text  string
}

// parseStat reads an XStat.
func parseStat(b []byte) (s stat, ok bool) {
	ok = eachField(b, func(n protowire.Number, value uint64, bytes []byte) {
		switch int(n) {
		case statMetadata:
			s.name = int64(value)
		case statDouble, statUnsigned, statSigned, statRef:
			s.kind, s.value = n, value
		case statText, statBytes:
			s.kind, s.text = n, string(bytes)
		}
	})
	return s, ok
}

// plane is one plane's name and the names within it.
type plane struct {
	name   string
	part   part
	events map[int64]int32   // number of an event's name: place among the names
	keys   map[int64]statKey // number of a stat's name: its meaning
	texts  map[int64]string
	stats  []stat
	whole  bool
}

// line is a row of a plane.
type line struct {
	plane int
	id    int64
	name  string
	at    int64 // ns
	part  part
}

// mostNames bounds the bytes of all names of a file.
const mostNames = 256 << 20

// survey is the first pass: names, lines, and how many events are where.
type survey struct {
	names     *nameTable
	planes    []plane
	lines     []line
	hosts     []string
	histogram histogram
	bytes     int  // of names that were kept
	lost      int  // names that were not
	inside    bool // the current line is one that is read
}

func (v *survey) takeSpaceField(f field, b []byte) {
	if f.number == 4 && len(v.hosts) < 100 {
		v.hosts = append(v.hosts, columns.CleanText(string(b), 80))
	}
}

func (v *survey) beginPlane(int) {
	v.planes = append(v.planes, plane{events: map[int64]int32{}, keys: map[int64]statKey{}, texts: map[int64]string{}})
}

func (v *survey) planeField(f field, b []byte) {
	p := &v.planes[len(v.planes)-1]
	switch int(f.number) {
	case planeName:
		p.name = columns.CleanText(string(b), 200)
		p.part = planePart(p.name)
	case planeEvents:
		id, name := v.readEntry(b)
		p.events[id] = v.names.intern(name)
	case planeKeys:
		id, name := v.readEntry(b)
		if k := keys[string(name)]; k != noKey {
			p.keys[id] = k
		}
		p.texts[id] = string(name)
	case planeStats:
		if s, ok := parseStat(b); ok && len(p.stats) < 1000 {
			p.stats = append(p.stats, s)
		}
	}
}

// readEntry reads one pair of a map from numbers to names.
func (v *survey) readEntry(b []byte) (id int64, name []byte) {
	display := []byte(nil)
	eachField(b, func(n protowire.Number, value uint64, bytes []byte) {
		switch int(n) {
		case entryKey:
			id = int64(value)
		case entryValue:
			eachField(bytes, func(n protowire.Number, value uint64, bytes []byte) {
				switch int(n) {
				case metadataName:
					name = bytes
				case metadataDisplayName:
					display = bytes
				}
			})
		}
	})
	if len(name) == 0 {
		name = display
	}
	if v.bytes += len(name) + 64; v.bytes > mostNames {
		v.lost++
		return id, nil
	}
	return id, name
}

func (v *survey) beginLine(int) {
	v.lines = append(v.lines, line{plane: len(v.planes) - 1})
	v.inside = false
}

func (v *survey) lineField(f field, b []byte) {
	l := &v.lines[len(v.lines)-1]
	switch int(f.number) {
	case lineID:
		l.id = int64(f.value)
	case lineName:
		v.nameLine(l, b)
	case lineTimestamp:
		l.at = int64(f.value)
	case lineDisplayName:
		if l.name == "" {
			v.nameLine(l, b)
		}
	}
}

func (v *survey) nameLine(l *line, b []byte) {
	if len(b) > 0 {
		l.name = columns.CleanText(string(b), 200)
		l.part = linePart(v.planes[l.plane].part, l.name)
		v.inside = l.part != other
	}
}

func (v *survey) takeEvent(b []byte) {
	l := &v.lines[len(v.lines)-1]
	if l.part == other {
		l.part = linePart(v.planes[l.plane].part, l.name) // a line without a name
		if l.part == other {
			return
		}
	}
	e, ok := eventOf(b)
	if start, _, sound := e.startAndEnd(l.at); ok && sound {
		v.histogram.addEvent(start, l.part != hostRows)
	}
}

func (v *survey) lineDone() {}

func (v *survey) planeDone(whole bool) { v.planes[len(v.planes)-1].whole = whole }

// event is one event without its stats.
type event struct {
	name           int64
	offset, length int64 // ps
	repeated       bool  // it represents several
}

func eventOf(b []byte) (e event, ok bool) {
	for len(b) > 0 {
		tag, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return e, false
		}
		b = b[n:]
		if tag&7 != uint64(protowire.VarintType) {
			n = protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), b)
			if n < 0 {
				return e, false
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return e, false
		}
		b = b[n:]
		switch tag >> 3 {
		case eventMetadata:
			e.name = int64(value)
		case eventOffset:
			e.offset = int64(value)
		case eventDuration:
			e.length = int64(value)
		case eventRepeats:
			e.repeated = true
		}
	}
	return e, true
}

// Times beyond these are damage: a month of profiling, the year 2096.
const (
	longestEvent = 30 * 86400 * int64(1e9)
	latest       = 4 * int64(1e18)
)

// startAndEnd are an event's, ns; picoseconds are rounded down at both ends.
func (e event) startAndEnd(line int64) (start, end int64, sound bool) {
	if line < 0 || line > latest || e.repeated || e.length < 0 || e.offset > math.MaxInt64-e.length {
		return 0, 0, false
	}
	start, end = line+floorNanos(e.offset), line+floorNanos(e.offset+e.length)
	return start, end, start >= 0 && end >= start && end-start <= longestEvent && end <= latest
}

func floorNanos(ps int64) int64 {
	ns := ps / 1000
	if ps%1000 < 0 {
		ns--
	}
	return ns
}

// histogram counts events over time, in bins of 2^shift ns that grow as needed.
type histogram struct {
	shift uint
	bins  map[int64][2]int64 // by place: events of the host, of devices
	all   int64
}

const mostBins = 1 << 16

func (h *histogram) addEvent(at int64, device bool) {
	if h.bins == nil {
		h.bins, h.shift = map[int64][2]int64{}, 20
	}
	h.all++
	c := h.bins[at>>h.shift]
	if device {
		c[1]++
	} else {
		c[0]++
	}
	h.bins[at>>h.shift] = c
	if len(h.bins) <= mostBins {
		return
	}
	h.shift++
	old := h.bins
	h.bins = make(map[int64][2]int64, mostBins)
	for place, n := range old {
		c := h.bins[place>>1]
		h.bins[place>>1] = [2]int64{c[0] + n[0], c[1] + n[1]}
	}
}

// chooseWindow is the time that is read: all of it, else as much around the middle of
// the device's work as most events take.
func (h *histogram) chooseWindow(most int64) (from, to int64, all bool) {
	if h.all <= most {
		return math.MinInt64, math.MaxInt64, true
	}
	places := make([]int64, 0, len(h.bins))
	device := int64(0)
	for place, n := range h.bins {
		places = append(places, place)
		device += n[1]
	}
	slices.Sort(places)
	count := func(i int) int64 { return h.bins[places[i]][0] + h.bins[places[i]][1] }
	middle, seen := 0, int64(0)
	for i, place := range places {
		n, total := h.bins[place][1], device
		if device == 0 {
			n, total = count(i), h.all
		}
		if seen += n; 2*seen >= total {
			middle = i
			break
		}
	}
	lo, hi, kept := middle, middle, count(middle)
	for lo > 0 || hi < len(places)-1 {
		next := hi + 1
		if hi == len(places)-1 || lo > 0 && middle-lo < hi-middle {
			next = lo - 1
		}
		if kept += count(next); kept > most {
			break
		}
		lo, hi = min(lo, next), max(hi, next)
	}
	return places[lo] << h.shift, (places[hi] + 1) << h.shift, false
}

// nameTable are distinct texts in order of appearance, each with its meaning.
type nameTable struct {
	list  []string
	roles []role
	known map[string]int32
}

const longestName = 64 << 10

func newNames() *nameTable { return &nameTable{known: map[string]int32{}} }

func (n *nameTable) intern(text []byte) int32 {
	if len(text) > longestName {
		text = text[:longestName]
	}
	if id, found := n.known[string(text)]; found {
		return id
	}
	return n.insert(string(text))
}

func (n *nameTable) insert(text string) int32 {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if id, found := n.known[text]; found {
		return id
	}
	id := int32(len(n.list))
	n.list = append(n.list, text)
	n.roles = append(n.roles, roleOf(text))
	n.known[text] = id
	return id
}
