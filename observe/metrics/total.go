package metrics

import (
	"fmt"
	"math"

	"github.com/stoker-dev/stoker/recording"
)

// Writer takes samples; a *recording.Writer is one.
type Writer interface {
	AddSample(signal recording.Signal, subject string, t, v float64)
}

// totals adds up what the pages of one server say, in the words of a recording.
type totals struct {
	subject              string
	last                 figures
	at                   float64 // when the last page was read, seconds; 0 before the first
	came, none, inFlight float64 // as recording.RequestsCame, Unasked, InFlight
}

// addPage adds a page and writes the totals.
func (s *totals) addPage(f figures, at float64, to Writer) {
	known := !math.IsNaN(f.running)
	there := plus(plus(f.running, 0), plus(f.waiting, 0))
	switch span, worked := at-s.at, f.seconds-s.last.seconds; {
	case s.at == 0 || f.done < s.last.done: // the first page, or the server was started again
	case known:
		before := plus(plus(s.last.running, 0), plus(s.last.waiting, 0))
		s.inFlight += span * (before + there) / 2
		s.none += span * (isNone(before) + isNone(there)) / 2
	case worked >= 0: // only how long requests took is told: at least the rest was without any
		s.inFlight += worked
		s.none += max(0, span-worked)
	}
	s.came = max(s.came, f.done+there)
	s.last, s.at = f, at
	s.write(known || !math.IsNaN(f.seconds), to)
}

func isNone(requests float64) float64 {
	if requests > 0 {
		return 0
	}
	return 1
}

func (s *totals) write(timed bool, to Writer) {
	f := s.last
	add := func(signal recording.Signal, v float64) {
		if !math.IsNaN(v) {
			to.AddSample(signal, s.subject, s.at, v)
		}
	}
	add(recording.RequestsCame, s.came)
	add(recording.RequestsDone, f.done)
	if timed {
		add(recording.Unasked, s.none)
		add(recording.InFlight, s.inFlight)
	}
	add(recording.EngineRunning, f.running)
	add(recording.EngineWaiting, f.waiting)
	add(recording.EngineCache, f.cache)
	add(recording.EnginePreempted, f.preempted)
	add(recording.EnginePasses, f.passes)
	add(recording.EngineSamples, f.samples)
	for _, b := range f.within {
		to.AddSample(recording.RequestsWithin, recording.SubjectWithin(s.subject, b.most), s.at, b.count)
	}
}

// subjectOf is the subject of the signals of a server.
func subjectOf(t target) string { return fmt.Sprintf("metrics/%d", t.port) }
