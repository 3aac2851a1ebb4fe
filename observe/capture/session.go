package capture

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"
)

// Target is a process that may be traced: a rank, not a loader worker, a launcher
// or a fork server, which ask as well.
type Target struct {
	PID   int
	Rank  int
	Ready bool    // its steps are steady
	Step  float64 // seconds a step takes, NaN where unknown

	Stepless bool // its steps would be seen, and none was so far
}

// Trace is what a process wrote.
type Trace struct {
	PID, Rank      int
	Timed          bool      // by time: the process did not count optimizer steps
	Offered, Ended time.Time // from the answer that asked for it to the finished file
	File           string    // where it is kept
	Bytes          int64
}

// Bounds of a session.
const (
	maxPeers  = 1024
	mostFiles = 3                // of a process, the last one whatever steps were seen
	stepTries = 2                // answers by steps before one by time is tried
	tryTime   = 19 * time.Second // that tries by steps get at least: four polls
	patience  = 60 * time.Second // for a trace that was asked for, slow steps added
	settle    = 30 * time.Second // from the process's word that it is done to the file
)

// state is how far a process has come.
type state int

const (
	waiting state = iota // not ready, or not asked again yet
	offered              // it was answered with a configuration
	taken                // it said that it records
	overdue              // it took too long; a file that comes all the same is kept
	kept                 // its file is kept
	failed               // no more is hoped for
)

// peer is one process that asks.
type peer struct {
	pid   int   // here
	own   int32 // in its own PID namespace, as in the name of its file
	state state
	files int // that came and had to be asked for again
	tries int
	timed bool // the last try was by time
	busy  bool // it was busy before it was asked for anything
	began time.Time
	last  time.Time // try
	idle  time.Time // since when it is no longer busy; zero before
	why   string    // it failed
	rank  int
	step  float64
	free  bool // the name that libkineto takes where it does not allow ours was free before
}

// session decides what each process is answered. It knows no sockets and no
// files.
type session struct {
	request Request
	folder  string // where processes write
	targets map[int]Target
	peers   map[int]*peer
}

func newSession(r Request, folder string) *session {
	return &session{request: r, folder: folder, targets: map[int]Target{}, peers: map[int]*peer{}}
}

// answer is the configuration for a process that asks, "" where there is nothing
// to do.
func (s *session) answer(pid int, m message, now time.Time) string {
	p := s.peers[pid]
	if p == nil {
		if len(s.peers) >= maxPeers {
			return ""
		}
		p = &peer{pid: pid}
		s.peers[pid] = p
	}
	p.own = m.PIDs[0]
	if m.busy() {
		p.records()
		return ""
	}
	if p.state == taken && p.idle.IsZero() {
		p.idle = now
	}
	t, known := s.targets[pid]
	if !known || !t.Ready || p.state > offered {
		return ""
	}
	p.busy = false
	return s.try(p, t, now)
}

// records notes that a process says it records: our trace where it was asked for
// one, else its own profiler's.
func (p *peer) records() {
	switch p.state {
	case offered:
		p.state = taken
	case waiting:
		p.busy = true
	case taken, overdue, kept, failed:
	}
	p.idle = time.Time{}
}

// try asks for a trace by steps; where several polls bring none, no optimizer step
// is counted, and it is asked for by time. A request that waits for its step makes
// libkineto refuse further ones, so that asking again does no harm.
func (s *session) try(p *peer, t Target, now time.Time) string {
	if p.state == waiting {
		p.state, p.began, p.rank, p.step = offered, now, t.Rank, t.Step
	}
	slow := time.Duration(0)
	if t.Step > 0 && t.Step < 1e4 {
		slow = time.Duration((12 + float64(s.request.Steps)) * t.Step * float64(time.Second))
	}
	if p.tries >= stepTries && now.Sub(p.began) > tryTime+slow {
		p.timed = true
	}
	p.tries++
	p.last = now
	return s.request.config(s.base(p.pid), t.Step, p.timed)
}

// again reports whether a file that came is worth nothing: no work is in it, or no step
// of its process was seen so far, so that it shows imports and preparations. Then the
// process is asked once more, a few times at most.
func (s *session) again(p *peer, works bool) bool {
	t, known := s.targets[p.pid]
	if works && (!known || !t.Stepless) {
		return false
	}
	p.files++
	if p.files < mostFiles {
		*p = peer{pid: p.pid, own: p.own, files: p.files}
		return true
	}
	if !works {
		p.fail(p.stepless())
	}
	return !works
}

func (p *peer) stepless() string {
	return fmt.Sprintf("process %d wrote %d trace(s) in which no step is", p.pid, p.files)
}

// base is the file that a process is asked to write; it adds _PID, its own number,
// before the ending.
func (s *session) base(pid int) string {
	return filepath.Join(s.folder, fmt.Sprintf("trace-%d.json", pid))
}

// names are where the file of a process may lie: with the number that it adds,
// and without it.
func (s *session) names(p *peer) []string {
	return []string{filepath.Join(s.folder, fmt.Sprintf("trace-%d_%d.json", p.pid, p.own)), s.base(p.pid)}
}

// due are the processes whose file is waited for.
func (s *session) due() []*peer { return s.in(offered, taken) }

// in are the processes in some states, in order of PID.
func (s *session) in(states ...state) []*peer {
	var out []*peer
	for _, p := range s.peers {
		if slices.Contains(states, p.state) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *peer) int { return a.pid - b.pid })
	return out
}

// expire gives up what took too long.
func (s *session) expire(now time.Time) {
	for _, p := range s.due() {
		limit := patience
		if p.step > 0 && p.step < 1e4 {
			limit += time.Duration(30 * p.step * float64(time.Second))
		}
		switch {
		case p.state == taken && !p.idle.IsZero() && now.Sub(p.idle) > settle:
			p.state, p.why = overdue, fmt.Sprintf("process %d recorded and wrote no file to %s: its libkineto may allow other folders only", p.pid, s.folder)
		case p.state == offered && now.Sub(p.began) > limit:
			p.state, p.why = overdue, fmt.Sprintf("process %d was asked %d times and took no request, neither by steps nor by time", p.pid, p.tries)
		}
	}
}

func (p *peer) fail(why string) { p.state, p.why = failed, why }

// why says in a sentence why there is no trace; "" where there is one.
func (s *session) why(foreign int) string {
	if len(s.in(kept)) > 0 {
		return ""
	}
	if tried := s.in(offered, taken, overdue, failed); len(tried) > 0 {
		return cmp.Or(tried[0].why, tried[0].unfinished())
	}
	asked, ready, busy := 0, false, 0
	for _, p := range s.in(waiting) {
		if p.files > 0 {
			return p.stepless() + ", and ended, or stoker did, before it wrote another"
		}
		if t, known := s.targets[p.pid]; known {
			asked++
			ready = ready || t.Ready
		}
		if p.busy {
			busy = p.pid
		}
	}
	switch {
	case busy != 0:
		return fmt.Sprintf("process %d has a profiler of its own running whenever it asks: it takes no second one", busy)
	case ready:
		return "the run ended before the process asked again (it does every five seconds)"
	case asked > 0:
		return "the run ended before its steps were steady"
	case len(s.peers) > 0:
		return fmt.Sprintf("%d process(es) asked, none of them a rank of this run", len(s.peers))
	case foreign > 0:
		return "only processes of other users asked, and those are not served: run stoker as the user who owns the job"
	}
	return "no process asked for one: its PyTorch was built without libkineto's daemon client, or is older than 2.0, " +
		"or PyTorch was not imported, or the job runs in another network namespace"
}

// unfinished says why a process that was asked has written nothing yet.
func (p *peer) unfinished() string {
	if p.state == taken {
		return fmt.Sprintf("process %d recorded, and ended, or stoker did, before its file was written", p.pid)
	}
	return fmt.Sprintf("process %d was asked %d time(s) and had not begun when it ended, or stoker did: "+
		"it asks every five seconds, and takes no request while a profiler of its own runs", p.pid, p.tries)
}

// outstanding reports whether a file is waited for.
func (s *session) outstanding() bool { return len(s.due()) > 0 }

// target replaces what is known of the processes.
func (s *session) target(all []Target) {
	clear(s.targets)
	for _, t := range all {
		if math.IsInf(t.Step, 0) || t.Step < 0 {
			t.Step = math.NaN()
		}
		s.targets[t.PID] = t
	}
}
