package stack

import (
	"bufio"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

// kept is a Sink.
type kept map[string]float64

func (k kept) AddSample(signal recording.Signal, subject string, _, v float64) {
	k[string(signal)+" "+subject] = v
}

// TestWatch: a thread's lines are named while it loads, asleep or at work, and nothing is
// counted while it is parked.
func TestWatch(t *testing.T) {
	for version, python := range interpreters(t) {
		if strings.HasPrefix(version, "3.10") {
			continue // there only a process's first thread is known, and here another one loads
		}
		t.Run(version, func(t *testing.T) {
			leash.Hold(t)
			c := exec.Command(python, "-I", "testdata/loads.py")
			stdin, _ := c.StdinPipe()
			stdout, _ := c.StdoutPipe()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = stdin.Close(), c.Wait() }()
			said, _ := bufio.NewReader(stdout).ReadString('\n')
			tid, _ := strconv.Atoi(strings.TrimSpace(said))
			w := Start()
			defer w.Close()
			w.Follow([]Thread{{PID: c.Process.Pid, TID: tid, For: recording.Loading{PID: 7}}})
			told := kept{}
			leash.Wait(t, "a line is seen asleep, another at work", func() bool {
				w.Write(1, told)
				all := strings.Join(slices.Collect(maps.Keys(told)), "\n")
				return strings.Contains(all, "process/7;main;asleep;") && strings.Contains(all, "loads.py:21 count") && told["fetch.looks process/7;main"] > 20 &&
					strings.Contains(all, "process/7;loop;asleep;") && strings.Contains(all, "loads.py:26 parked")
			})
			check(t, told, w.Why())
		})
	}
}

// TestWhatRunsWhileAThreadWaits: while the thread that is followed waits for a lock, another one that runs is looked at.
func TestWhatRunsWhileAThreadWaits(t *testing.T) {
	for version, python := range interpreters(t) {
		if strings.HasPrefix(version, "3.10") {
			continue // there other threads have no number of the system's
		}
		t.Run(version, func(t *testing.T) {
			leash.Hold(t)
			c := exec.Command(python, "-I", "testdata/holds.py")
			stdin, _ := c.StdinPipe()
			stdout, _ := c.StdoutPipe()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = stdin.Close(), c.Wait() }()
			if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			w := Start()
			defer w.Close()
			w.Follow([]Thread{{PID: c.Process.Pid, TID: c.Process.Pid, For: recording.Loading{PID: 7}}})
			told := kept{}
			leash.Wait(t, "who waits and who runs are seen", func() bool {
				w.Write(1, told)
				all := strings.Join(slices.Collect(maps.Keys(told)), "\n")
				return strings.Contains(all, "process/7;loop;lock;") && strings.Contains(all, "process/7;beside;core;") &&
					strings.Contains(all, "holds.py:15 work")
			})
			seconds := map[bool]float64{} // by whether it is the thread that sleeps, but for its start
			for name, value := range told {
				if strings.Contains(name, ";beside;") {
					seconds[strings.Contains(name, " end")] += value
				}
			}
			if seconds[true] > seconds[false] {
				t.Errorf("one that sleeps is told as one that runs: %v", told)
			}
		})
	}
}

func check(t *testing.T, told kept, why string) {
	t.Helper()
	var seconds float64
	for name, v := range told {
		if !strings.HasPrefix(name, string(recording.FetchStack)) {
			continue
		}
		if strings.Contains(name, ";loop;") {
			if strings.Contains(name, "fetch.py") || strings.Contains(name, "loads.py:14 ") {
				t.Errorf("counted as not loading: %s", name)
			}
			continue
		}
		seconds += v
		if strings.Contains(name, "parked") || strings.Contains(name, "load:") || strings.Contains(name, "fetch.py") {
			t.Errorf("counted as loading: %s", name)
		}
		if strings.Contains(name, "asleep") && !strings.Contains(name, "loads.py:14 ") && v > 1 {
			t.Errorf("asleep elsewhere than where it sleeps: %s %v s", name, v)
		}
		if !strings.Contains(name, "loads.py:32 load.<locals>.<lambda>") {
			t.Errorf("who called is not known: %s", name)
		}
	}
	if seconds <= 0 || why != "" {
		t.Errorf("%v seconds were seen, and it says %q", seconds, why)
	}
}

// TestManyStacks: a program of which every stack is another is told in a bounded number
// of lines, and no second is lost.
func TestManyStacks(t *testing.T) {
	w := &Sampler{counts: map[recording.Loading]*counts{}}
	for i := range 3 * mostKept {
		w.addStack(recording.Stack{Loading: recording.Loading{PID: 7}, Places: []recording.Place{{File: "/train.py", Line: i + 1, Function: "f"}}, Seconds: 0.5})
	}
	told := kept{}
	w.Write(1, told)
	if len(told) > mostTold+1 || told["fetch.looks process/7;main"] != 3*mostKept {
		t.Errorf("%d lines were told, of %v looks", len(told), told["fetch.looks process/7;main"])
	}
	if others := told["fetch.stack process/7;main;core"]; others != mostKept {
		t.Errorf("%v s are with no stack of their own, want %d", others, mostKept)
	}
	w.counts[recording.Loading{PID: 7}].stacks["process/7;main;core;/train.py:1 f"].seconds += 9
	told = kept{}
	w.Write(2, told)
	if len(told) != 2 || told["fetch.stack process/7;main;core;/train.py:1 f"] != 9.5 {
		t.Errorf("what changed is told, and that alone: %v", told)
	}
}
