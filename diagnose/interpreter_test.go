package diagnose_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
)

// A thread that computes in Python holds the interpreter lock, and taking batches over waits for it. A thread that
// sleeps, or a lock of the program's own, is another thing.
func TestInterpreterLock(t *testing.T) {
	next := ";/home/me/train.py:20 main;torch/utils/data/dataloader.py:725 _BaseDataLoaderIter.__next__"
	for _, c := range []struct {
		stack  string
		others float64 // cores of the trainer's other threads
		want   bool
	}{
		{"lock" + next + ";multiprocessing/connection.py:395 Connection._recv", 0.7, true},
		{"lock" + next + ";multiprocessing/connection.py:395 Connection._recv", 0.05, false},
		{"asleep" + next + ";multiprocessing/connection.py:395 Connection._recv", 0.7, false},
		{"lock" + next + ";threading.py:320 Condition.wait", 0.7, false},
		{"lock;/home/me/train.py:91 main;torch/cuda/streams.py:1 Event.synchronize", 0.7, true},
		{"asleep;/home/me/train.py:91 main;torch/cuda/streams.py:1 Event.synchronize", 0.7, false},
	} {
		d := newDiary()
		for i := range 1000 {
			d.step(1, recording.Train, 0.03, 0.01, 0, i == 0)
		}
		counter := func(signal recording.Signal, subject string, rate float64) recording.Series {
			s := recording.Series{Signal: signal, Subject: subject}
			for at := 0.0; at <= d.at; at++ {
				s.T, s.V = append(s.T, at), append(s.V, rate*at)
			}
			return s
		}
		d.run.Series = append(append(d.run.Series, seen(d.at, 0.6, "process/7;loop;"+c.stack)...), d.busy,
			counter(recording.ProcessCPU, "process/7", 0.1+c.others), counter(recording.ThreadCPU, "thread/7", 0.1))
		v := judge.Judge(&d.run)
		is := func(f diagnose.Finding) bool { return f.Name == diagnose.FindingInterpreterLock }
		if got := slices.ContainsFunc(v.Findings, is); got != c.want {
			t.Errorf("%s, others %v cores: found %t", c.stack, c.others, got)
		}
		planned := slices.ContainsFunc(advise.Rank(&d.run, v).Fixes, func(f advise.Fix) bool {
			return f.Name == diagnose.FindingInterpreterLock
		})
		if planned != c.want {
			t.Errorf("%s: in the plan %t", c.stack, planned)
		}
		beside := ";core;/home/me/train.py:31 crc64"
		d.run.Series = append(d.run.Series, counter(recording.FetchLooks, "process/7;beside", 9),
			counter(recording.FetchStack, "process/7;beside"+beside, 0.5), counter(recording.FetchStack, "process/7;beside;core;x.py f", 0.1))
		v = judge.Judge(&d.run)
		if at := slices.IndexFunc(v.Findings, is); c.want && !strings.Contains(v.Findings[at].Text, "83 % of that time in crc64 (train.py:31)") {
			t.Error(v.Findings[at].Text)
		}
		at := slices.IndexFunc(advise.Rank(&d.run, v).Fixes, func(f advise.Fix) bool { return f.At == "train.py:31" })
		if c.want != (at >= 0) {
			t.Errorf("%s: the other thread's line is at %d of the plan", c.stack, at)
		}
		for i := range d.run.Steps {
			s := &d.run.Steps[i]
			s.Idle, s.DevicePeriod, s.NoClock = math.NaN(), math.NaN(), "asked by another thread than the one that launches"
		}
		for _, launcher := range []bool{false, true} { // of the thread that asks nothing is known of who launches
			d.run.Facts.Processes[0].LauncherSeen = launcher
			asked := judge.Judge(&d.run)
			at := slices.IndexFunc(asked.Findings, is)
			if (at >= 0) != (c.want && launcher) {
				t.Errorf("%s, launcher known %t: %v", c.stack, launcher, asked.Findings)
			}
			if at >= 0 && !strings.Contains(asked.Findings[at].Text, "asks for the batches, at train.py:10") {
				t.Error(asked.Findings[at].Text)
			}
			if asked.Lead != nil && !launcher && strings.Contains(asked.Lead.Why(), "launching thread's") {
				t.Error(asked.Lead.Why())
			}
		}
	}
}
