package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/stoker-dev/stoker/internal/stat"
)

// builder puts a Run together line by line. Reading and live recording use the same builder, so
// both give the same Run.
type builder struct {
	run    Run
	series map[seriesKey]int
	steps  map[stepKey]int
	time   *timelineBuilder
	header bool

	old    float64 // interval at which a value is kept of the part that is not judged, seconds
	scarce bool    // the judged part was thinned as well, which the file does not say
	begins float64 // what came before is dropped, seconds; 0: nothing is

	samples int64             // held in memory
	insides int64             // steps with an Inside that are held
	words   map[string]string // words repeated in steps, one copy of each
	texts   int64             // bytes of words and of names of series
	events  int64             // bytes of the lines of a Timeline
}

// Bytes that a sample, a step and a series take in memory, including the slack of growing
// slices, the indexes and the copy of the steps that finish returns.
const (
	sampleWeight = 24
	stepWeight   = 400
	insideWeight = 200
	seriesWeight = 300
)

// weight returns about how many bytes samples and steps take.
func (b *builder) weight() int64 {
	return b.samples*sampleWeight + int64(len(b.run.Steps))*stepWeight + b.insides*insideWeight +
		int64(len(b.run.Series))*seriesWeight + b.texts
}

type seriesKey struct {
	signal  Signal
	subject string
}

type stepKey struct{ pid, loader, n int }

func newBuilder() *builder {
	return &builder{series: map[seriesKey]int{}, steps: map[stepKey]int{}, old: oldEvery}
}

// parseLine adds one line of text. Blank lines are skipped.
func (b *builder) parseLine(text []byte) error {
	if b.header && b.plainSample(text) {
		return nil
	}
	if l, found := plainStep(text); found && b.header {
		return b.addLine(l)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("expected a JSON object: %w", err)
	}
	if !b.header && l.Kind != "header" {
		return ErrNotRecording
	}
	if err := l.gateNumbers(); err != nil {
		return err
	}
	if l.Kind == "host" || l.Kind == "device" || l.Kind == "frame" {
		b.events += int64(len(text))
	}
	return b.addLine(l)
}

func (b *builder) addLine(l line) error {
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
			b.addSample(l.Signal, l.Subject, l.T, *l.Value)
		}
	case "thinned":
		b.addThinned(l)
	case "step":
		if !keepsStep(b.density().OneIn, l.N) {
			return nil
		}
		l.Phase, l.NoClock = Phase(b.internWord(string(l.Phase))), b.internWord(l.NoClock)
		b.steps[stepKey{l.PID, l.Loader, l.N}] = len(b.run.Steps)
		b.run.Steps = append(b.run.Steps, l.toStep())
		b.addInside(len(b.run.Steps)-1, l.Inside) // if the file was rewritten, the step's line has it
	case "clock":
		b.addClock(l)
	case "inside":
		if i, found := b.steps[stepKey{l.PID, l.Loader, l.N}]; found {
			b.addInside(i, l.Inside)
		}
	case "host", "device", "frame":
		if b.time == nil {
			b.time = newTimelineBuilder()
			b.run.Timeline = b.time.t
		}
		return b.time.addRow(l)
	}
	return nil // unknown kinds come from newer writers of the same format
}

func (b *builder) addHeader(l line) error {
	if l.Format > format {
		return &newerFormatError{Format: l.Format, Version: l.Version}
	}
	if l.Format < 1 {
		return ErrNotRecording
	}
	b.header = true
	b.run.Facts.Version, b.run.Facts.Started, b.run.Facts.Monotonic = l.Version, l.Unix, l.Mono
	return nil
}

// addThinned adds how much is kept, for a past part or from now on.
func (b *builder) addThinned(l line) {
	part := thinned{From: l.T, To: math.Inf(1), Every: l.Every, OneIn: max(1, l.OneIn)}
	if part.OneIn&(part.OneIn-1) != 0 || !(part.Every >= 0) {
		return
	}
	if l.To == nil {
		b.changeDensity(part)
	} else if part.To = *l.To; part.From < part.To {
		b.run.thinned = overlayPart(b.run.thinned, part)
	}
}

// addSample keeps a value of a signal if it is plausible and not thinned out. It reports
// whether it kept it.
func (b *builder) addSample(signal Signal, subject string, t, v float64) bool {
	if math.IsNaN(v) || isAbsurd(v) || isAbsurd(t) || signal.isShare() && (v < 0 || v > 1) {
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
	return b.addValue(i, t, v)
}

func (b *builder) addValue(series int, t, v float64) bool {
	s := &b.run.Series[series]
	if n := len(s.T); n > 0 && together(b.density().Every, s.T[n-1], t) {
		return false
	}
	s.T, s.V = append(s.T, t), append(s.V, v)
	b.samples++
	return true
}

// internWord returns the one copy of a repeated word.
func (b *builder) internWord(text string) string {
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

// plainSample adds a sample whose line has the exact form that a Writer produces. For any other
// line it returns false and does nothing. Nine lines of ten are samples, and package json takes
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
	if value, rest, found = leadingNumber(rest); !found || string(rest) != "}" || isAbsurd(t) || isAbsurd(value) {
		return false
	}
	if i, found := b.series[seriesKey{Signal(signal), string(subject)}]; found {
		b.addValue(i, t, value)
	} else {
		b.addSample(Signal(signal), string(subject), t, value)
	}
	return true
}

func (b *builder) addClock(l line) {
	i, found := b.steps[stepKey{l.PID, l.Loader, l.N}]
	if !found {
		return // the step itself was thinned out or torn off
	}
	s := &b.run.Steps[i]
	s.Idle, s.DevicePeriod, s.NoClock, s.Device = stat.Value(l.Idle), stat.Value(l.DPeriod), l.NoClock, l.Device
}

// finish sorts the run and returns it. The builder may continue: the returned run shares no
// slice headers with it, and added values never change, except for steps whose clock arrives
// later, which are copied.
func (b *builder) finish() *Run {
	run := b.run
	run.Steps = append([]Step(nil), b.run.Steps...)
	sort.SliceStable(run.Steps, func(i, j int) bool { return run.Steps[i].Start < run.Steps[j].Start })
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
	run.tellSkipping()
	run.Steps = dropQuickPasses(run.Steps)
	tellEvaluation(run.Steps)
	tellNamed(run.Steps, run.Facts.Loaders)
	tellInterruptions(run.Steps)
	tellTraced(run.Steps, run.Facts.Captures)
	return &run
}

// addInside sets the Inside of a step if it was measured.
func (b *builder) addInside(i int, found *Inside) {
	if found == nil || !found.Sound() {
		return
	}
	found.Clock, found.SyncAt = b.internWord(found.Clock), b.internWord(found.SyncAt)
	b.run.Steps[i].Inside = found
	b.insides++
}
