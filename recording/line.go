package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/stoker-dev/stoker/internal/stat"
)

// format is the version of the recording format that this package writes.
const format = 1

// line is one line of the file, of any kind. Fields that a kind does not use are omitted from
// the JSON. The kinds are
//
//	header   format, clock base         first in the file
//	facts    what does not change       the last one counts
//	sample   a value of a signal
//	step     an iteration of a loop
//	clock    the device's times of a step
//	inside   the parts of a step
//	thinned  how much of a part of the run is kept
//	host, device, frame   a row of the Timeline
type line struct {
	Kind string `json:"kind"`
	headerFields
	Facts *Facts  `json:"facts,omitempty"`
	T     float64 `json:"t,omitempty"` // of all kinds but header and facts; seconds
	sampleFields
	actorFields
	stepFields
	thinnedFields
	timelineFields
}

type headerFields struct {
	Format  int     `json:"format,omitempty"`
	Version string  `json:"version,omitempty"`
	Unix    float64 `json:"unix,omitempty"`
	Mono    int64   `json:"monotonic_ns,omitempty"`
}

type sampleFields struct {
	Signal  Signal   `json:"signal,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Value   *float64 `json:"value,omitempty"`
}

// actorFields identify process and device, for steps and for rows of the Timeline.
type actorFields struct {
	PID    int `json:"pid,omitempty"`
	Rank   int `json:"rank,omitempty"`
	Device int `json:"device,omitempty"`
}

// stepFields are used by step, clock and inside.
type stepFields struct {
	Loader  int      `json:"loader,omitempty"`
	N       int      `json:"n,omitempty"`
	Period  *float64 `json:"period,omitempty"`
	Wait    float64  `json:"wait,omitempty"`
	NoWait  bool     `json:"wait_unknown,omitempty"` // from a trace without marks of its loader
	Samples *float64 `json:"samples,omitempty"`
	First   bool     `json:"first,omitempty"`
	Phase   Phase    `json:"phase,omitempty"`
	Idle    *float64 `json:"idle,omitempty"`
	DPeriod *float64 `json:"device_period,omitempty"`
	NoClock string   `json:"no_clock,omitempty"`
	Pass    int      `json:"pass,omitempty"`
	Updates *float64 `json:"optimized,omitempty"`
	Ran     *float64 `json:"ran,omitempty"`
	Inside  *Inside  `json:"inside,omitempty"`
}

type thinnedFields struct {
	To    *float64 `json:"to,omitempty"`
	Every float64  `json:"every,omitempty"`
	OneIn int      `json:"one_in,omitempty"`
}

func headerLine(f Facts) line {
	return line{Kind: "header", headerFields: headerFields{format, f.Version, f.Started, f.Monotonic}}
}

func factsLine(f Facts) line { return line{Kind: "facts", Facts: &f} }

func sampleLine(s Signal, subject string, t float64, value *float64) line {
	return line{Kind: "sample", T: t, sampleFields: sampleFields{s, subject, value}}
}

func insideLine(pid, loader, n int, i Inside) line {
	return line{
		Kind: "inside", actorFields: actorFields{PID: pid}, stepFields: stepFields{Loader: loader, N: n, Inside: &i},
	}
}

func thinnedLine(t thinned) line {
	l := line{Kind: "thinned", T: t.From, thinnedFields: thinnedFields{Every: t.Every, OneIn: t.OneIn}}
	if !math.IsInf(t.To, 1) {
		l.To = &t.To
	}
	return l
}

// DeviceClock is the device's own times of a step, which arrive some time after the step
// itself.
type DeviceClock struct {
	PID, Loader, N int
	Device         int
	Idle           float64 // seconds; NaN if unknown
	Period         float64 // seconds; NaN if unknown
	NoClock        string  // why it is unknown
}

func stepLine(s Step) line {
	noWait := math.IsNaN(s.Wait)
	if noWait {
		s.Wait = 0
	}
	return line{
		Kind: "step", T: s.Start, actorFields: actorFields{s.PID, s.Rank, s.Device},
		stepFields: stepFields{
			Loader: s.Loader, N: s.N, Period: stat.Known(s.Period), Wait: s.Wait, NoWait: noWait,
			Samples: stat.Known(s.Samples), First: s.First, Phase: s.Phase,
			Idle: stat.Known(s.Idle), DPeriod: stat.Known(s.DevicePeriod), NoClock: s.NoClock, Pass: s.Pass,
			Updates: stat.Known(s.Optimized), Ran: stat.Known(s.Ran), Inside: s.Inside,
		},
	}
}

func (l line) toStep() Step {
	if l.NoWait {
		l.Wait = math.NaN()
	}
	return Step{
		PID: l.PID, Rank: l.Rank, Device: l.Device, Loader: l.Loader, N: l.N,
		Start: l.T, Period: stat.Value(l.Period), Wait: l.Wait, Samples: stat.Value(l.Samples), First: l.First,
		Phase: l.Phase, Idle: stat.Value(l.Idle), DevicePeriod: stat.Value(l.DPeriod), NoClock: l.NoClock,
		Pass: l.Pass, Optimized: stat.Value(l.Updates), Ran: stat.Value(l.Ran),
	}
}

func clockLine(c DeviceClock) line {
	return line{
		Kind: "clock", actorFields: actorFields{PID: c.PID, Device: c.Device},
		stepFields: stepFields{
			Loader: c.Loader, N: c.N, Idle: stat.Known(c.Idle), DPeriod: stat.Known(c.Period), NoClock: c.NoClock,
		},
	}
}

// timelineFields are the fields of the lines host, device and frame: times in seconds, names in
// full. Unknown values are omitted.
type timelineFields struct {
	End    float64 `json:"end,omitempty"`
	Name   string  `json:"name,omitempty"`
	Thread int64   `json:"thread,omitempty"`
	Call   *int32  `json:"call,omitempty"`
	// kind of a host call: "op", "annotation", "runtime" (or left out), "collector", "profiling"
	Of        string   `json:"of,omitempty"`
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
	// index among the facts' GPUs if that is not the device's number; -1 unknown
	GPU  *int `json:"gpu,omitempty"`
	File int  `json:"file,omitempty"` // index of the trace's file
}

// ErrNoSecond says that a recording has begun and holds no complete second yet.
var ErrNoSecond = errors.New("no second")

// ErrNotRecording says that a file is not a recording.
var ErrNotRecording = errors.New(`expected a recording of Stoker, whose first line is {"kind":"header","format":…}`)

// newerFormatError says that a newer Stoker wrote the recording.
type newerFormatError struct {
	Format  int
	Version string
}

// Error says which version can read it.
func (e *newerFormatError) Error() string {
	return fmt.Sprintf("its format is %d (written by stoker %s), this stoker reads up to %d: use stoker %s or newer",
		e.Format, e.Version, format, e.Version)
}

// gateNumbers replaces implausible numbers by unknown. A line whose time is implausible is an
// error, as it has no place in the run.
func (l *line) gateNumbers() error {
	if isAbsurd(l.T) || isAbsurd(l.Unix) {
		return fmt.Errorf("a time of %v s: expected seconds from the recording's begin", l.T)
	}
	dropAbsurd(reflect.ValueOf(l).Elem())
	for _, v := range []*float64{l.Period, l.DPeriod, l.Samples} {
		if v != nil && math.Abs(*v) < leastNumber && *v != 0 {
			*v = math.NaN()
		}
	}
	return nil
}

// dropAbsurd sets implausible numbers anywhere in v to NaN.
func dropAbsurd(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		if isAbsurd(v.Float()) && v.CanSet() {
			v.SetFloat(math.NaN())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			dropAbsurd(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			dropAbsurd(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			dropAbsurd(v.Index(i))
		}
	default: // no other kind holds a number with a fraction, except a loader's settings
	}
}

// appendSample writes a sample as json.Marshal would. Nine lines of ten are samples, and
// reflection over the fields of all kinds took a tenth of the time of observing.
func appendSample(b []byte, l line) []byte {
	b = append(b, `{"kind":"sample"`...)
	if l.T != 0 {
		b = appendNumber(append(b, `,"t":`...), l.T)
	}
	b = append(append(append(b, `,"signal":"`...), l.Signal...), '"')
	if l.Subject != "" {
		b = append(append(append(b, `,"subject":"`...), l.Subject...), '"')
	}
	return append(appendNumber(append(b, `,"value":`...), *l.Value), "}\n"...)
}

// isPlain reports whether JSON represents a text without escapes.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// leadingWord returns plain text up to a quote, and the text after the quote.
func leadingWord(text []byte) (word, rest []byte, ok bool) {
	end := bytes.IndexByte(text, '"')
	if end < 0 || !isPlain(text[:end]) {
		return nil, nil, false
	}
	return text[:end], text[end+1:], true
}

// plainStep parses a step or clock line in the exact form that a Writer produces, without
// implausible numbers. It returns false for any other line.
func plainStep(text []byte) (l line, found bool) {
	var rest, key []byte
	for _, l.Kind = range []string{"step", "clock"} {
		if rest, found = bytes.CutPrefix(text, []byte(`{"kind":"`+l.Kind+`"`)); found {
			break
		}
	}
	for found && string(rest) != "}" {
		if rest, found = bytes.CutPrefix(rest, []byte(`,"`)); found {
			key, rest, _ = leadingWord(rest)
		}
		if rest, found = bytes.CutPrefix(rest, []byte(":")); found {
			rest, found = l.plainField(string(key), rest)
		}
	}
	return l, found
}

// plainField sets a field from its value, and returns the text after that.
func (l *line) plainField(key string, text []byte) (rest []byte, found bool) {
	switch key {
	case "first":
		l.First = true
		return bytes.CutPrefix(text, []byte("true"))
	case "phase", "no_clock":
		word, rest, found := leadingWord(bytes.TrimPrefix(text, []byte(`"`)))
		if key == "phase" {
			l.Phase = Phase(word)
		} else {
			l.NoClock = string(word)
		}
		return rest, found && text[0] == '"'
	}
	v, rest, found := leadingNumber(text)
	if !found || isAbsurd(v) || math.Abs(v) < leastNumber && v != 0 {
		return nil, false
	}
	whole := func(into *int) {
		n, err := strconv.Atoi(string(text[:len(text)-len(rest)]))
		*into, found = n, err == nil
	}
	switch key {
	case "t":
		l.T = v
	case "wait":
		l.Wait = v
	case "period":
		l.Period = &v
	case "samples":
		l.Samples = &v
	case "idle":
		l.Idle = &v
	case "device_period":
		l.DPeriod = &v
	case "optimized":
		l.Updates = &v
	case "pid":
		whole(&l.PID)
	case "rank":
		whole(&l.Rank)
	case "device":
		whole(&l.Device)
	case "loader":
		whole(&l.Loader)
	case "n":
		whole(&l.N)
	case "pass":
		whole(&l.Pass)
	default:
		return nil, false
	}
	return rest, found
}
