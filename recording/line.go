package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/stoker-dev/stoker/internal/stat"
)

// format is the version of the recording format that this package writes.
const format = 1

// line is one line of the file, all kinds in one: fields that a kind does not
// use stay out of the JSON.
type line struct {
	Kind string `json:"kind"`

	// header
	Format  int     `json:"format,omitempty"`
	Version string  `json:"version,omitempty"`
	Unix    float64 `json:"unix,omitempty"`
	Mono    int64   `json:"monotonic_ns,omitempty"`

	Facts *Facts `json:"facts,omitempty"`

	// sample
	T       float64  `json:"t,omitempty"`
	Signal  Signal   `json:"signal,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Value   *float64 `json:"value,omitempty"`

	// step and clock
	PID     int      `json:"pid,omitempty"`
	Rank    int      `json:"rank,omitempty"`
	Device  int      `json:"device,omitempty"`
	Loader  int      `json:"loader,omitempty"`
	N       int      `json:"n,omitempty"`
	Period  *float64 `json:"period,omitempty"`
	Wait    float64  `json:"wait,omitempty"`
	NoWait  bool     `json:"wait_unknown,omitempty"` // a trace without marks of its loader
	Samples *float64 `json:"samples,omitempty"`
	First   bool     `json:"first,omitempty"`
	Phase   Phase    `json:"phase,omitempty"`
	Idle    *float64 `json:"idle,omitempty"`
	DPeriod *float64 `json:"device_period,omitempty"`
	NoClock string   `json:"no_clock,omitempty"`
	Pass    int      `json:"pass,omitempty"`
	Updates *float64 `json:"optimized,omitempty"`
	Inside  *Inside  `json:"inside,omitempty"`

	// thinned
	To    *float64 `json:"to,omitempty"`
	Every float64  `json:"every,omitempty"`
	OneIn int      `json:"one_in,omitempty"`

	// host and device
	timelineFields
}

func thinnedLine(t thinned) line {
	l := line{Kind: "thinned", T: t.From, Every: t.Every, OneIn: t.OneIn}
	if !math.IsInf(t.To, 1) {
		l.To = &t.To
	}
	return l
}

// Clock is what the device's own clock said of a step; it becomes known some
// time after the step itself.
type Clock struct {
	PID, Loader, N int
	Device         int
	Idle           float64 // seconds; NaN where unknown
	Period         float64 // seconds; NaN where unknown
	NoClock        string  // why it is unknown
}

func stepLine(s Step) line {
	noWait := math.IsNaN(s.Wait)
	if noWait {
		s.Wait = 0
	}
	return line{
		NoWait: noWait,
		Kind:   "step", T: s.Start, PID: s.PID, Rank: s.Rank, Device: s.Device, Loader: s.Loader, N: s.N,
		Period: stat.Known(s.Period), Wait: s.Wait, Samples: stat.Known(s.Samples), First: s.First, Phase: s.Phase,
		Idle: stat.Known(s.Idle), DPeriod: stat.Known(s.DevicePeriod), NoClock: s.NoClock, Pass: s.Pass, Updates: stat.Known(s.Optimized),
		Inside: s.Inside,
	}
}

func (l line) step() Step {
	if l.NoWait {
		l.Wait = math.NaN()
	}
	return Step{
		PID: l.PID, Rank: l.Rank, Device: l.Device, Loader: l.Loader, N: l.N,
		Start: l.T, Period: stat.Value(l.Period), Wait: l.Wait, Samples: stat.Value(l.Samples), First: l.First, Phase: l.Phase,
		Idle: stat.Value(l.Idle), DevicePeriod: stat.Value(l.DPeriod), NoClock: l.NoClock, Pass: l.Pass, Optimized: stat.Value(l.Updates),
	}
}

func clockLine(c Clock) line {
	return line{
		Kind: "clock", PID: c.PID, Loader: c.Loader, N: c.N, Device: c.Device,
		Idle: stat.Known(c.Idle), DPeriod: stat.Known(c.Period), NoClock: c.NoClock,
	}
}

// builder puts a Run together line by line. Reading and live recording use the
// same one, so both give the same Run.
type builder struct {
	run    Run
	series map[seriesKey]int
	steps  map[stepKey]int
	time   timelineBuilder
	header bool

	old    float64 // seconds of which a value is kept of what is not judged
	scarce bool    // what is judged was thinned as well, which the file does not say
	begins float64 // what was before is left out, seconds; 0: nothing is

	samples int64             // that are held
	insides int64             // of steps that are held
	words   map[string]string // that steps repeat, one copy of each
	texts   int64             // bytes of words and of names of series
	events  int64             // bytes of the lines of a Timeline
}

// What a sample, a step and a series take in memory, with the slack of slices that
// grow, the indexes and the copy of the steps that is handed out.
const (
	sampleWeight = 24
	stepWeight   = 400
	insideWeight = 200
	seriesWeight = 300
)

// weight is about how many bytes samples and steps take.
func (b *builder) weight() int64 {
	return b.samples*sampleWeight + int64(len(b.run.Steps))*stepWeight + b.insides*insideWeight + int64(len(b.run.Series))*seriesWeight + b.texts
}

// shorten leaves the older half of the time out, where that is not enough all but
// the newest, and returns when what is left begins.
func (b *builder) shorten(most int64) (begins float64) {
	from, to := math.Inf(1), b.run.End()
	for _, s := range b.run.Series {
		if len(s.T) > 0 {
			from = min(from, s.T[0])
		}
	}
	if len(b.run.Steps) > 0 {
		from = min(from, b.run.Steps[0].Start)
	}
	for _, before := range []float64{from + (to-from)/2, to, math.Inf(1)} {
		b.forget(before)
		begins = min(before, to)
		if b.weight() <= most {
			break
		}
	}
	return begins
}

type seriesKey struct {
	signal  Signal
	subject string
}

type stepKey struct{ pid, loader, n int }

func newBuilder() *builder {
	return &builder{series: map[seriesKey]int{}, steps: map[stepKey]int{}, old: oldEvery}
}

// parse adds one line of text. Blank lines are skipped.
func (b *builder) parse(text []byte) error {
	if b.header && b.plainSample(text) {
		return nil
	}
	if l, found := plainStep(text); found && b.header {
		return b.add(l)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("expected a JSON object: %w", err)
	}
	if !b.header && l.Kind != "header" {
		return ErrNotRecording
	}
	if err := l.gate(); err != nil {
		return err
	}
	if l.Kind == "host" || l.Kind == "device" || l.Kind == "frame" {
		b.events += int64(len(text))
	}
	return b.add(l)
}

func (b *builder) add(l line) error {
	switch l.Kind {
	case "header":
		return b.addHeader(l)
	case "facts":
		if l.Facts != nil {
			started, mono := b.run.Facts.Started, b.run.Facts.Monotonic
			b.run.Facts = *l.Facts
			b.run.Facts.Started, b.run.Facts.Monotonic = started, mono
		}
	case "sample":
		if l.Value != nil {
			b.sample(l.Signal, l.Subject, l.T, *l.Value)
		}
	case "thinned":
		b.addThinned(l)
	case "step":
		if !keeps(b.density().OneIn, l.N) {
			return nil
		}
		l.Phase, l.NoClock = Phase(b.word(string(l.Phase))), b.word(l.NoClock)
		b.steps[stepKey{l.PID, l.Loader, l.N}] = len(b.run.Steps)
		b.run.Steps = append(b.run.Steps, l.step())
		b.inside(len(b.run.Steps)-1, l.Inside) // where the file was written anew
	case "clock":
		b.clock(l)
	case "inside":
		if i, found := b.steps[stepKey{l.PID, l.Loader, l.N}]; found {
			b.inside(i, l.Inside)
		}
	case "host", "device", "frame":
		return b.addTimeline(l)
	}
	return nil // unknown kinds come from newer writers of the same format
}

func (b *builder) addHeader(l line) error {
	if l.Format > format {
		return &NewerFormatError{Format: l.Format, Version: l.Version}
	}
	if l.Format < 1 {
		return ErrNotRecording
	}
	b.header = true
	b.run.Facts.Version, b.run.Facts.Started, b.run.Facts.Monotonic = l.Version, l.Unix, l.Mono
	return nil
}

// addThinned adds how much is kept, of a part that is over or from now on.
func (b *builder) addThinned(l line) {
	part := thinned{From: l.T, To: math.Inf(1), Every: l.Every, OneIn: max(1, l.OneIn)}
	if part.OneIn&(part.OneIn-1) != 0 || !(part.Every >= 0) {
		return
	}
	if l.To == nil {
		b.change(part)
	} else if part.To = *l.To; part.From < part.To {
		b.run.thinned = overlaid(b.run.thinned, part)
	}
}

// sample keeps a value of a signal, if it can be one and is to be kept; it says whether
// it was.
func (b *builder) sample(signal Signal, subject string, t, v float64) bool {
	if math.IsNaN(v) || absurd(v) || absurd(t) {
		return false
	}
	key := seriesKey{signal, subject}
	i, found := b.series[key]
	if !found {
		i = len(b.run.Series)
		b.series[key] = i
		b.run.Series = append(b.run.Series, Series{Signal: signal, Subject: subject})
		b.texts += int64(len(signal) + len(subject))
	}
	return b.value(i, t, v)
}

func (b *builder) value(series int, t, v float64) bool {
	s := &b.run.Series[series]
	if n := len(s.T); n > 0 && together(b.density().Every, s.T[n-1], t) {
		return false
	}
	s.T, s.V = append(s.T, t), append(s.V, v)
	b.samples++
	return true
}

// word is one copy of a word that is repeated.
func (b *builder) word(text string) string {
	if text == "" {
		return ""
	}
	if known, found := b.words[text]; found {
		return known
	}
	if b.words == nil {
		b.words = map[string]string{}
	}
	b.words[text] = text
	b.texts += int64(len(text))
	return text
}

// plainSample adds a sample that stands as a Writer writes it; of any other line it
// says false and does nothing. Samples are nine lines of ten, and package json takes
// ten times as long for them.
func (b *builder) plainSample(text []byte) bool {
	rest, found := bytes.CutPrefix(text, []byte(`{"kind":"sample"`))
	if !found {
		return false
	}
	t, value := 0.0, 0.0
	var signal, subject []byte
	if after, found := bytes.CutPrefix(rest, []byte(`,"t":`)); found {
		if t, rest, found = leadingNumber(after); !found {
			return false
		}
	}
	if rest, found = bytes.CutPrefix(rest, []byte(`,"signal":"`)); !found {
		return false
	}
	if signal, rest, found = leadingWord(rest); !found {
		return false
	}
	if after, found := bytes.CutPrefix(rest, []byte(`,"subject":"`)); found {
		if subject, rest, found = leadingWord(after); !found {
			return false
		}
	}
	if rest, found = bytes.CutPrefix(rest, []byte(`,"value":`)); !found {
		return false
	}
	if value, rest, found = leadingNumber(rest); !found || string(rest) != "}" || absurd(t) || absurd(value) {
		return false
	}
	if i, found := b.series[seriesKey{Signal(signal), string(subject)}]; found {
		b.value(i, t, value)
	} else {
		b.sample(Signal(signal), string(subject), t, value)
	}
	return true
}

// leadingWord is plain text up to a quote, and what stands behind the quote.
func leadingWord(text []byte) (word, rest []byte, ok bool) {
	end := bytes.IndexByte(text, '"')
	if end < 0 || !plain(text[:end]) {
		return nil, nil, false
	}
	return text[:end], text[end+1:], true
}

// plainStep is a step, or what its clock said, as a Writer writes it and with nothing for
// gate to do; of any other line it says false.
func plainStep(text []byte) (l line, found bool) {
	var rest, key []byte
	for _, l.Kind = range []string{"step", "clock"} {
		if rest, found = bytes.CutPrefix(text, []byte(`{"kind":"`+l.Kind+`"`)); found {
			break
		}
	}
	for found && string(rest) != "}" {
		if rest, found = bytes.CutPrefix(rest, []byte(`,"`)); found {
			key, rest, found = leadingWord(rest)
		}
		if rest, found = bytes.CutPrefix(rest, []byte(":")); found {
			rest, found = l.plainField(string(key), rest)
		}
	}
	return l, found
}

// plainField takes the value of a field, and gives what stands behind it.
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
	if !found || absurd(v) || math.Abs(v) < leastNumber && v != 0 {
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

// leadingNumber is a JSON number, and what stands behind it.
func leadingNumber(text []byte) (v float64, rest []byte, ok bool) {
	end := bytes.IndexAny(text, ",}")
	if end < 0 || !isNumber(text[:end]) {
		return 0, nil, false
	}
	v, err := strconv.ParseFloat(string(text[:end]), 64)
	return v, text[end:], err == nil
}

// isNumber reports whether text is a number as JSON has them. Package json takes three
// times as long to say so.
func isNumber(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole := digits(text)
	if whole == 0 || whole > 1 && text[0] == '0' {
		return false
	}
	if text = text[whole:]; len(text) > 0 && text[0] == '.' {
		part := digits(text[1:])
		if part == 0 {
			return false
		}
		text = text[1+part:]
	}
	if len(text) > 1 && (text[0] == 'e' || text[0] == 'E') {
		if text = text[1:]; text[0] == '+' || text[0] == '-' {
			text = text[1:]
		}
		return len(text) > 0 && digits(text) == len(text)
	}
	return len(text) == 0
}

// digits is how many of them text begins with.
func digits(text []byte) (n int) {
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

func (b *builder) clock(l line) {
	i, found := b.steps[stepKey{l.PID, l.Loader, l.N}]
	if !found {
		return // the step itself was dropped or torn off
	}
	s := &b.run.Steps[i]
	s.Idle, s.DevicePeriod, s.NoClock, s.Device = stat.Value(l.Idle), stat.Value(l.DPeriod), l.NoClock, l.Device
}

// finish sorts the run and hands it out. The builder may go on; the run that was
// handed out shares no slice headers with it, and values already added never
// change except for steps whose clock arrives later, which are copied.
func (b *builder) finish() *Run {
	run := b.run
	run.Steps = append([]Step(nil), b.run.Steps...)
	sort.SliceStable(run.Steps, func(i, j int) bool { return run.Steps[i].Start < run.Steps[j].Start })
	tellEvaluation(run.Steps)
	tellTraced(run.Steps, run.Facts.Captures)
	run.Series = append([]Series(nil), b.run.Series...)
	sort.Slice(run.Series, func(i, j int) bool {
		a, c := run.Series[i], run.Series[j]
		if a.Signal != c.Signal {
			return a.Signal < c.Signal
		}
		return a.Subject < c.Subject
	})
	run.Warnings = append([]string(nil), b.run.Warnings...)
	run.thinned = slices.Clone(b.run.thinned)
	return &run
}

// inside notes what was inside of a step, where somebody looked.
func (b *builder) inside(i int, found *Inside) {
	if found == nil || !found.Sound() {
		return
	}
	found.Clock = b.word(found.Clock)
	b.run.Steps[i].Inside = found
	b.insides++
}

// forget drops what is older than a time.
func (b *builder) forget(before float64) { b.drop(math.Inf(-1), before) }

// drop leaves out what came from one time to another, so that a run that is watched
// for days stays small in memory; the file keeps everything.
func (b *builder) drop(from, to float64) {
	if !(from < to) {
		return
	}
	b.dropSamples(from, to)
	b.dropSteps(func(s Step) bool { return s.Start >= from && s.Start < to })
	b.run.thinned = slices.DeleteFunc(b.run.thinned, func(t thinned) bool { return t.From >= from && t.To <= to })
}

// dropSteps leaves steps out.
func (b *builder) dropSteps(drop func(Step) bool) {
	b.insides = 0
	kept := b.run.Steps[:0]
	for text := range b.words {
		b.texts -= int64(len(text))
	}
	b.words = nil
	for _, s := range b.run.Steps {
		if !drop(s) {
			s.Phase, s.NoClock = Phase(b.word(string(s.Phase))), b.word(s.NoClock)
			if s.Inside != nil {
				b.insides++
			}
			kept = append(kept, s)
		}
	}
	clear(b.run.Steps[len(kept):])
	b.run.Steps = kept
	b.steps = make(map[stepKey]int, len(kept))
	for i, s := range kept {
		b.steps[stepKey{s.PID, s.Loader, s.N}] = i
	}
}

// dropSamples drops series of which nothing is left as well: workers that start anew
// with every epoch leave many.
func (b *builder) dropSamples(from, to float64) {
	kept := b.run.Series[:0]
	clear(b.series)
	b.samples = 0
	for _, s := range b.run.Series {
		lo, hi := sort.SearchFloat64s(s.T, from), sort.SearchFloat64s(s.T, to)
		if hi-lo == len(s.T) {
			b.texts -= int64(len(s.Signal) + len(s.Subject))
			continue
		}
		s.T, s.V = slices.Concat(s.T[:lo], s.T[hi:]), slices.Concat(s.V[:lo], s.V[hi:])
		b.samples += int64(len(s.T))
		b.series[seriesKey{s.Signal, s.Subject}] = len(kept)
		kept = append(kept, s)
	}
	clear(b.run.Series[len(kept):])
	b.run.Series = kept
}
