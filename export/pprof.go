package export

import (
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"stoker/recording"
)

// Fields of profile.proto of google/pprof, by message. They are written by hand, as
// they are few and that module has no releases: its date would follow what other
// modules ask for.
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

// ErrNoStacks says that nobody looked on which lines a run's loaders spend their time.
var ErrNoStacks = errors.New("the recording does not tell on which lines preparing batches spends its time")

// PProf writes where the loaders of a run spent their time, by file and line, as a
// profile that `go tool pprof` and speedscope open: seconds of all threads that prepare
// batches, within a fetch.
func PProf(w io.Writer, run *recording.Run) error {
	stacks, looks := run.Stacks(math.Inf(-1), math.Inf(1))
	if len(stacks) == 0 {
		return ErrNoStacks
	}
	var all float64
	for _, s := range stacks {
		all += s.Seconds
	}
	p := profile{texts: map[string]uint64{}, locations: map[recording.Place]uint64{}, functions: map[recording.Place]uint64{}}
	p.text("") // has to be the first
	for _, t := range [][2]string{{"looks", "count"}, {"fetch", "nanoseconds"}} {
		p.add(profileSampleType, message(nil).number(typeName, p.text(t[0])).number(typeUnit, p.text(t[1])))
	}
	for _, s := range stacks {
		p.sample(s, looks/all)
	}
	p.message = p.number(profileTime, uint64(nanoseconds(run.Facts.Started))).number(profileDuration, uint64(nanoseconds(run.End())))
	p.message = p.number(profileComment, p.text("stacks of Python, read from outside; native code counts for the line that calls it"))
	p.message = p.number(profileDefault, p.text("fetch"))
	for _, text := range p.ordered {
		p.add(profileText, message(text))
	}
	_, err := w.Write(p.message)
	return err
}

// message is a protocol buffer.
type message []byte

func (m message) number(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

// profile is one that is built.
type profile struct {
	message
	texts     map[string]uint64
	ordered   []string
	locations map[recording.Place]uint64
	functions map[recording.Place]uint64
}

func (p *profile) add(field protowire.Number, m message) { p.message = p.bytes(field, m) }

// text is the number of a text.
func (p *profile) text(text string) uint64 {
	n, known := p.texts[text]
	if !known {
		n = uint64(len(p.ordered))
		p.texts[text] = n
		p.ordered = append(p.ordered, text)
	}
	return n
}

// sample has the innermost place first. Looks are in proportion to time.
func (p *profile) sample(s recording.Stack, perSecond float64) {
	state, places := "on a core, or waiting for one", s.Places
	if s.Asleep {
		state = "asleep"
	}
	if len(places) == 0 {
		places = []recording.Place{{Function: "(others)"}}
	}
	var m message
	for i := len(places) - 1; i >= 0; i-- {
		m = m.number(sampleLocation, p.location(places[i]))
	}
	m = m.number(sampleValue, uint64(math.Round(s.Seconds*perSecond))).number(sampleValue, uint64(nanoseconds(s.Seconds)))
	for _, label := range [][2]string{{"state", state}, {"in", s.String()}} {
		m = m.bytes(sampleLabel, message(nil).number(labelKey, p.text(label[0])).number(labelText, p.text(label[1])))
	}
	p.add(profileSample, m)
}

// location is the number of a place.
func (p *profile) location(at recording.Place) uint64 {
	id, known := p.locations[at]
	if !known {
		id = uint64(len(p.locations) + 1)
		p.locations[at] = id
		line := message(nil).number(lineFunction, p.function(at)).number(lineNumber, uint64(at.Line))
		p.add(profileLocation, message(nil).number(locationID, id).bytes(locationLine, line))
	}
	return id
}

// function is the number of a place's function.
func (p *profile) function(at recording.Place) uint64 {
	at.Line = 0
	id, known := p.functions[at]
	if !known {
		id = uint64(len(p.functions) + 1)
		p.functions[at] = id
		p.add(profileFunction, message(nil).number(functionID, id).number(functionName, p.text(at.Function)).number(functionFile, p.text(at.File)))
	}
	return id
}
