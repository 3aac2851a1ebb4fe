package export

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-dev/stoker/diagnose/flame"
	"github.com/stoker-dev/stoker/recording"
)

// Fields of google/pprof's profile.proto, by message. They are listed here because they are few
// and that module has no releases: its version would depend on what other modules require.
const (
	profileSampleType, profileSample, profileLocation, profileFunction, profileText = 1, 2, 4, 5, 6
	profileTime, profileDuration, profileComment, profileDefault                    = 9, 10, 13, 14

	typeName, typeUnit                       = 1, 2
	sampleLocation, sampleValue, sampleLabel = 1, 2, 3
	labelKey, labelText                      = 1, 2
	locationID, locationLine                 = 1, 4
	lineFunction, lineNumber                 = 1, 2
	functionID, functionName, functionFile   = 1, 2, 4
)

// ErrNoStacks says that the run was recorded without stacks of its loaders.
var ErrNoStacks = errors.New("the recording does not tell on which lines preparing batches spends its time")

var errNoHost = errors.New("write profile: nothing of the host was recorded in the judged window")

// PProf writes the time that a run's loaders spent by file and line, as a profile for `go tool
// pprof` and speedscope: the time of all threads that prepare batches, within a fetch.
func PProf(w io.Writer, run *recording.Run) error {
	stacks, looks := run.FetchStacks(math.Inf(-1), math.Inf(1))
	if len(stacks) == 0 {
		return ErrNoStacks
	}
	var all float64
	for _, s := range stacks {
		all += s.Seconds
	}
	p := newProfile("samples", "count", "fetch", "nanoseconds")
	for _, s := range stacks {
		state, places := "on a core, or waiting for one", s.Places
		if s.Asleep {
			state = "asleep"
		}
		if len(places) == 0 {
			places = []recording.Place{{Function: "(others)"}}
		}
		// the number of looks is proportional to time
		values := []uint64{uint64(math.Round(s.Seconds * looks / all)), uint64(nanoseconds(s.Seconds))}
		p.addSample(places, values, "state", state, "in", s.String())
	}
	return p.write(w, run, run.End(),
		"stacks of Python, read from outside: native code counts for the line that calls it")
}

// HostPProf writes the time of host threads by frame and operator, as a profile of the same
// kind. It counts the time of each node without that of its children.
func HostPProf(w io.Writer, run *recording.Run, root *flame.Node) error {
	if root.Time <= 0 {
		return errNoHost
	}
	p := newProfile("host", "nanoseconds")
	for _, thread := range root.Children {
		p.addNode(thread, nil, thread.Name)
	}
	return p.write(w, run, float64(root.Time)/1e9,
		"host threads of a profiler's file: frames, ranges, operators, calls of the runtime")
}

// addNode adds the nodes below a node. The node of a thread is a label, not a place.
func (p *profile) addNode(n *flame.Node, above []recording.Place, thread string) {
	for _, c := range n.Children {
		places := append(slices.Clip(above), placeOf(c.Name))
		if self := c.Self(); self > 0 {
			p.addSample(places, []uint64{uint64(self)}, "thread", thread)
		}
		p.addNode(c, places, thread)
	}
}

// placeOf parses a frame's name, "train.py(41): forward". Any other name is that of a function.
func placeOf(name string) recording.Place {
	file, rest, found := strings.Cut(name, ".py(")
	digits, function, whole := strings.Cut(rest, "): ")
	line, err := strconv.Atoi(digits)
	if !found || !whole || err != nil || line < 0 {
		return recording.Place{Function: name}
	}
	return recording.Place{File: file + ".py", Line: line, Function: function}
}

// message is an encoded protocol buffer message.
type message []byte

func (m message) appendNumber(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

// bytes appends a field of bytes.
func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

// profile is a profile under construction. It numbers texts, locations and functions.
type profile struct {
	message
	texts     map[string]uint64
	ordered   []string
	locations map[recording.Place]uint64
	functions map[recording.Place]uint64
}

// newProfile takes the types of values as pairs of name and unit. The last type is shown first.
func newProfile(types ...string) *profile {
	p := &profile{
		texts: map[string]uint64{}, locations: map[recording.Place]uint64{},
		functions: map[recording.Place]uint64{},
	}
	p.textNumber("") // the format requires "" to be the first text
	for i := 0; i < len(types); i += 2 {
		p.addMessage(profileSampleType, message(nil).appendNumber(typeName,
			p.textNumber(types[i])).appendNumber(typeUnit, p.textNumber(types[i+1])))
	}
	p.message = p.appendNumber(profileDefault, p.textNumber(types[len(types)-2]))
	return p
}

// write adds time, duration and comment, and writes the profile.
func (p *profile) write(w io.Writer, run *recording.Run, seconds float64, comment string) error {
	p.message = p.appendNumber(profileTime, uint64(nanoseconds(run.Facts.Started))).appendNumber(profileDuration,
		uint64(nanoseconds(seconds)))
	p.message = p.appendNumber(profileComment, p.textNumber(comment))
	for _, text := range p.ordered {
		p.addMessage(profileText, message(text))
	}
	_, err := w.Write(p.message)
	return err
}

func (p *profile) addMessage(field protowire.Number, m message) { p.message = p.bytes(field, m) }

// textNumber returns the index of a text, adding it if it is new.
func (p *profile) textNumber(text string) uint64 {
	n, known := p.texts[text]
	if !known {
		n = uint64(len(p.ordered))
		p.texts[text] = n
		p.ordered = append(p.ordered, text)
	}
	return n
}

// addSample adds a sample: places (outermost first), values, and pairs of label and text.
func (p *profile) addSample(places []recording.Place, values []uint64, labels ...string) {
	var m message
	for i := len(places) - 1; i >= 0; i-- {
		m = m.appendNumber(sampleLocation, p.location(places[i]))
	}
	for _, v := range values {
		m = m.appendNumber(sampleValue, v)
	}
	for i := 0; i < len(labels); i += 2 {
		m = m.bytes(sampleLabel, message(nil).appendNumber(labelKey, p.textNumber(labels[i])).appendNumber(labelText,
			p.textNumber(labels[i+1])))
	}
	p.addMessage(profileSample, m)
}

// location returns the number of a place, adding it if it is new.
func (p *profile) location(at recording.Place) uint64 {
	id, known := p.locations[at]
	if !known {
		id = uint64(len(p.locations) + 1)
		p.locations[at] = id
		line := message(nil).appendNumber(lineFunction, p.addFunction(at)).appendNumber(lineNumber, uint64(at.Line))
		p.addMessage(profileLocation, message(nil).appendNumber(locationID, id).bytes(locationLine, line))
	}
	return id
}

// addFunction returns the number of the function of a place, adding it if it is new.
func (p *profile) addFunction(at recording.Place) uint64 {
	at.Line = 0
	id, known := p.functions[at]
	if !known {
		id = uint64(len(p.functions) + 1)
		p.functions[at] = id
		p.addMessage(profileFunction, message(nil).appendNumber(functionID, id).appendNumber(functionName,
			p.textNumber(at.Function)).appendNumber(functionFile, p.textNumber(at.File)))
	}
	return id
}
