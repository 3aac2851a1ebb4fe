package step

import (
	"fmt"
	"slices"

	"github.com/stoker-dev/stoker/recording"
)

// mostRunners is how many threads of a process are kept that ran a model lately. [J] A pool of
// threads has as many passes at a time as there are cores to launch from.
const mostRunners = 8

// noteRunner notes that a thread ran a model.
func (p *Process) noteRunner(tid int) {
	if n := len(p.Runners); n > 0 && p.Runners[n-1] == tid {
		return
	}
	p.Runners = append(slices.DeleteFunc(p.Runners, func(t int) bool { return t == tid }), tid)
	if len(p.Runners) > mostRunners {
		p.Runners = slices.Delete(p.Runners, 0, 1)
	}
}

// serve takes the newest counters of a process that takes requests.
func (in *Intake) serve(p *Process, r *hookRecord) bool {
	if min(r.Arrived, r.Answered, r.Unasked, r.Flight, r.Active, r.Pieces) < 0 || r.Answered > r.Arrived {
		return false
	}
	p.Serves = true
	in.serves[p.PID] = &served{record: *r}
	return true
}

// onTheWay is how long a packet may be on its way, seconds: a request may have come that is not told yet. [J]
const onTheWay = 0.2

// flushServes writes what the counters of requests were when they were told last. A hook speaks only when a request
// comes or goes: its silence is time without any if it said that none is there, and nothing else.
func (in *Intake) flushServes(now float64) {
	for pid, s := range in.serves {
		r, subject, at := s.record, fmt.Sprintf("process/%d", pid), float64(s.record.T-in.base)/1e9
		unasked := float64(r.Unasked) / 1e9
		switch {
		case !s.written:
		case r.Active == 0 && now-onTheWay > at:
			unasked += now - onTheWay - at
			at = now - onTheWay
		default:
			continue
		}
		s.written = true
		in.to.AddSample(recording.RequestsCame, subject, at, float64(r.Arrived))
		in.to.AddSample(recording.RequestsDone, subject, at, float64(r.Answered))
		in.to.AddSample(recording.Unasked, subject, at, unasked)
		in.to.AddSample(recording.InFlight, subject, at, float64(r.Flight)/1e9)
		if r.Pieces > 0 {
			in.to.AddSample(recording.Pieces, subject, at, float64(r.Pieces))
		}
	}
}

// served is the newest word of a process on its requests.
type served struct {
	record  hookRecord
	written bool
}

// addRequest adds a request that was answered.
func (in *Intake) addRequest(p *Process, r *hookRecord, now float64) bool {
	came, first, took := float64(r.T-in.base)/1e9, toDuration(r.F), toDuration(r.D)
	if !(first <= took) || came < 0 || came+took > now+1 {
		return false
	}
	subject := fmt.Sprintf("process/%d", p.PID)
	in.to.AddSample(recording.RequestTime, subject, came+took, took)
	in.to.AddSample(recording.FirstByteTime, subject, came+took, first)
	return true
}

// engines are those that the hook knows.
var engines = []string{"vLLM", "transformers"}

// addEngine adds what an engine said of its queue and cache.
func (in *Intake) addEngine(p *Process, r *hookRecord, now float64) bool {
	if r.Running < 0 || r.Waiting < 0 || r.Preempted < 0 || !(r.Usage >= 0 && r.Usage <= 1) {
		return false
	}
	if slices.Contains(engines, r.Server) {
		in.software.Server = r.Server
	}
	p.Engine = true
	subject := fmt.Sprintf("process/%d", p.PID)
	in.to.AddSample(recording.EngineRunning, subject, now, float64(r.Running))
	in.to.AddSample(recording.EngineWaiting, subject, now, float64(r.Waiting))
	in.to.AddSample(recording.EngineCache, subject, now, r.Usage)
	in.to.AddSample(recording.EnginePreempted, subject, now, float64(r.Preempted))
	return true
}

// Await is where coroutines of a server wait, and how long they did so far.
type Await struct {
	Who     string            // "request", "task", "thread" or "pool", as in the protocol
	Frames  []recording.Place // outermost first, files as the program has them
	Seconds float64
}

// Limits on what a program can make us keep of its coroutines.
const (
	mostAwaits = 64
	mostFrames = 16
	longAwaits = 1e9 // seconds of all coroutines
)

// addAwait takes how long coroutines have waited in one place.
func (in *Intake) addAwait(p *Process, r *hookRecord) bool {
	seconds := float64(r.For) / 1e9
	known := r.Who == "request" || r.Who == "task" || r.Who == "thread" || r.Who == "pool"
	if !known || !(seconds >= 0 && seconds < longAwaits) || len(r.Frames) == 0 || len(r.Frames) > mostFrames {
		return false
	}
	frames := make([]recording.Place, len(r.Frames))
	for i, f := range r.Frames {
		frames[i] = recording.Place{File: f.File, Line: max(0, f.Line), Function: f.Function}
	}
	at := slices.IndexFunc(p.Awaits, func(a Await) bool { return a.Who == r.Who && slices.Equal(a.Frames, frames) })
	switch {
	case at >= 0:
		p.Awaits[at].Seconds = max(p.Awaits[at].Seconds, seconds)
	case len(p.Awaits) < mostAwaits:
		p.Awaits = append(p.Awaits, Await{Who: r.Who, Frames: frames, Seconds: seconds})
	}
	return true
}
