package capture

import (
	"math"
	"strings"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func ready(pid int) Target { return Target{PID: pid, Ready: true, Step: 0.02} }

func req(kind int32, pids ...int32) message {
	return message{Type: typeRequest, Kind: kind, PIDs: pids}
}

func opened(targets ...Target) *session {
	s := newSession(Request{Steps: 5}, "/tmp/f")
	s.target(targets)
	return s
}

// Only a rank whose steps are steady is asked; workers, launchers and fork servers
// ask as well and are told that there is nothing to do.
func TestWhoIsAsked(t *testing.T) {
	s := opened(Target{PID: 5, Ready: false}, ready(6))
	for pid, want := range map[int]bool{5: false, 6: true, 7: false} {
		if got := s.answer(pid, req(2, int32(pid), 1), at(0)) != ""; got != want {
			t.Errorf("process %d was asked: %t", pid, got)
		}
	}
	s.target([]Target{ready(5), ready(6)})
	if s.answer(5, req(2, 5), at(5)) == "" {
		t.Error("a process that became steady was not asked")
	}
}

func TestTakenByIterations(t *testing.T) {
	s := opened(ready(5))
	if text := s.answer(5, req(3, 77), at(0)); !strings.Contains(text, "ACTIVITIES_ITERATIONS=5\n") {
		t.Fatal(text)
	}
	if names := s.names(s.peers[5]); names[0] != "/tmp/f/trace-5_77.json" { // its number in its own namespace
		t.Error(names)
	}
	if s.answer(5, req(0, 77), at(5)) != "" || s.peers[5].state != taken {
		t.Error("its word that it records was not heard")
	}
	if s.answer(5, req(3, 77), at(10)) != "" {
		t.Error("it was asked for a second trace")
	}
	s.expire(at(20))
	if s.peers[5].state != taken {
		t.Error("given up too early")
	}
	s.expire(at(10.1 + settle.Seconds()))
	if s.peers[5].state != overdue || !strings.Contains(s.why(0), "wrote no file") {
		t.Error(s.why(0))
	}
}

// Where no optimizer step is counted libkineto refuses without a word: it is asked
// again, then by time.
func TestFallsBackToTime(t *testing.T) {
	s := opened(ready(5))
	var timed []bool
	for i := range 7 {
		timed = append(timed, strings.Contains(s.answer(5, req(2, 5), at(5*float64(i))), "PROFILE_START_TIME"))
	}
	if timed[0] || timed[1] || timed[3] || !timed[4] {
		t.Errorf("by time: %v", timed)
	}
	s.expire(at(80))
	if why := s.why(0); !strings.Contains(why, "neither by steps nor by time") {
		t.Error(why)
	}
	slow := newSession(Request{Steps: 5}, "/tmp/f") // ten steps of 4 s may pass before the first recorded one
	slow.target([]Target{{PID: 5, Ready: true, Step: 4}})
	for i := range 10 {
		if strings.Contains(slow.answer(5, req(2, 5), at(5*float64(i))), "PROFILE_START_TIME") {
			t.Fatalf("slow steps were taken for none after %d s", 5*i)
		}
	}
}

func TestWhy(t *testing.T) {
	silent := opened(ready(5))
	if why := silent.why(0); !strings.Contains(why, "no process asked") {
		t.Error(why)
	}
	if why := silent.why(3); !strings.Contains(why, "other users") {
		t.Error(why)
	}
	profiled := opened(ready(5))
	if profiled.answer(5, req(0, 5), at(0)) != "" || !strings.Contains(profiled.why(0), "profiler of its own") {
		t.Error("busy before it was asked: ", profiled.why(0))
	}
	if profiled.answer(5, req(2, 5), at(5)) == "" {
		t.Error("not asked although its own profiler has ended")
	}
	early := opened(Target{PID: 5})
	early.answer(5, req(2, 5), at(0))
	if why := early.why(0); !strings.Contains(why, "before its steps were steady") {
		t.Error(why)
	}
	alien := opened()
	alien.answer(9, req(2, 9), at(0))
	if why := alien.why(0); !strings.Contains(why, "none of them a rank") {
		t.Error(why)
	}
}

// Where one process's trace is kept, that another's is not is no reason for none,
// in whatever order they are looked at.
func TestWhyNotBesideATrace(t *testing.T) {
	for _, other := range []state{offered, taken, overdue, failed, waiting} {
		s := opened(ready(5), ready(6))
		s.peers[5], s.peers[6] = &peer{pid: 5, state: kept}, &peer{pid: 6, state: other, why: "it failed"}
		for range 100 { // a map is walked in any order
			if why := s.why(0); why != "" {
				t.Fatalf("beside one in state %d: %s", other, why)
			}
		}
	}
}

// Odd figures from outside do no harm.
func TestOddTargets(t *testing.T) {
	s := opened(Target{PID: 5, Ready: true, Step: math.Inf(1)}, Target{PID: 6, Ready: true, Step: -3}, Target{PID: 7, Ready: true, Step: 1e300})
	for _, pid := range []int{5, 6, 7} {
		if s.answer(pid, req(2, int32(pid)), at(0)) == "" {
			t.Errorf("process %d was not asked", pid)
		}
	}
	s.expire(at(1))
	for pid := range 2 * maxPeers {
		s.answer(10+pid, req(2, 1), at(1))
	}
	if len(s.peers) > maxPeers {
		t.Errorf("%d processes are remembered", len(s.peers))
	}
}
