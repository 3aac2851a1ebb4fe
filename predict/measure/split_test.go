package measure

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/predict"
	"github.com/stoker-dev/stoker/recording"
)

// spending is a run whose fetches take 100 ms in one worker, or in the launching thread,
// in steps of 100 ms; counters are per second.
type spending struct {
	workers     int
	hooked      bool
	cpu, queued float64           // core time of a fetch; time that its thread queues, per second
	launch      float64           // core time of the launching thread per second, where it loads
	states      []recording.State // of the thread that loads, in turn
	throttled   float64
	others      float64
}

func (s spending) run() *recording.Run {
	run := &recording.Run{Facts: recording.Facts{
		Machine:   recording.Machine{CPUs: 4, Allowed: 4},
		Processes: []recording.Process{{PID: 1, Role: recording.RoleTrainer, LaunchThread: 1}},
		Loaders:   []recording.Loader{{PID: 1, Settings: stoker.Settings{stoker.NumWorkers: s.workers}}},
	}}
	pid, core := 1, s.launch
	if s.workers > 0 {
		pid, core = 2, 10*s.cpu
		run.Facts.Processes = append(run.Facts.Processes,
			recording.Process{PID: 2, Parent: 1, Role: recording.RoleWorker})
	}
	process, thread := fmt.Sprintf("process/%d", pid), fmt.Sprintf("thread/%d", pid)
	series := map[recording.Signal]*recording.Series{}
	add := func(signal recording.Signal, subject string, at, value float64) {
		if series[signal] == nil {
			series[signal] = &recording.Series{Signal: signal, Subject: subject}
		}
		series[signal].T, series[signal].V = append(series[signal].T, at), append(series[signal].V, value)
	}
	for second := 0.0; second <= 40; second++ {
		if s.hooked {
			add(recording.FetchCount, process, second, 10*second)
			add(recording.FetchWall, process, second, second)
			add(recording.FetchCPU, process, second, 10*s.cpu*second)
		}
		add(recording.ThreadCPU, thread, second, core*second)
		add(recording.ThreadQueue, thread, second, s.queued*second)
		add(recording.TreeCPU, "tree", second, core*second)
		add(recording.MachineCPU, "machine", second, (core+s.others)*second)
		add(recording.Throttled, "machine", second, s.throttled*second)
	}
	for i := range 400 {
		at := float64(i) / 10
		add(recording.ThreadState, thread, at, float64(s.states[i%len(s.states)]))
		run.Steps = append(run.Steps, recording.Step{
			PID: 1, Start: at, Period: 0.1, Wait: 0.08, N: i, Samples: 8,
			Phase: recording.Train, Idle: math.NaN(), DevicePeriod: math.NaN(),
		})
	}
	for _, one := range series {
		run.Series = append(run.Series, *one)
	}
	return run
}

func TestSplit(t *testing.T) {
	const running, disk, remote, asleep, parked = recording.Running, recording.OnDisk, recording.Remote,
		recording.Asleep, recording.Parked
	for name, c := range map[string]struct {
		spending
		want *FetchSplit
	}{
		"a worker that works": {spending{
			workers: 1, hooked: true, cpu: 0.1,
			states: []recording.State{running},
		}, &FetchSplit{Core: 1}},
		"that sleeps": {spending{
			workers: 1, hooked: true, cpu: 0.002, queued: 0.05,
			states: []recording.State{asleep},
		}, &FetchSplit{Core: 0.02, Queued: 0.05, Asleep: 0.93}},
		"that sleeps on a pipe": {spending{
			workers: 1, hooked: true, cpu: 0.01,
			states: []recording.State{parked},
		}, &FetchSplit{Core: 0.1, Asleep: 0.9}},
		"that reads": {
			spending{
				workers: 1, hooked: true, cpu: 0.02,
				states: []recording.State{disk, disk, disk, remote, running},
			},
			&FetchSplit{Core: 0.2, Storage: 0.6, Network: 0.2},
		},
		"more disk than there is": {spending{
			workers: 1, hooked: true, cpu: 0.08,
			states: []recording.State{disk},
		}, &FetchSplit{Core: 0.8, Storage: 0.2}},
		"that queues": {spending{
			workers: 1, hooked: true, cpu: 0.05, queued: 0.9,
			states: []recording.State{running},
		}, &FetchSplit{Core: 0.5, Queued: 0.5}},
		"a quota, not in the queue": {
			spending{
				workers: 1, hooked: true, cpu: 0.03, throttled: 0.6,
				states: []recording.State{running, running, running, running, asleep},
			},
			&FetchSplit{Core: 0.3, Queued: 0.5, Asleep: 0.2},
		},
		"runnable, and no quota": {spending{
			workers: 1, hooked: true, cpu: 0.03,
			states: []recording.State{running},
		}, &FetchSplit{Core: 0.3, Asleep: 0.7}},
		"nobody inside": {
			spending{
				workers: 1, cpu: 0.03, queued: 0.1,
				states: []recording.State{running, running, disk, asleep, parked},
			},
			&FetchSplit{Core: 0.375, Queued: 0.125, Storage: 0.25, Asleep: 0.25},
		},
		"the launching thread, whose loading sleeps": {spending{
			hooked: true, cpu: 0.002, launch: 0.2, queued: 0.3,
			states: []recording.State{asleep},
		}, &FetchSplit{Core: 0.02, Queued: 0.03, Asleep: 0.95}},
		"the launching thread, unseen": {spending{launch: 0.2, states: []recording.State{asleep}}, nil},
	} {
		costs, ok := Slowest(c.run())
		if !ok {
			t.Fatalf("%s: no steps", name)
		}
		got := costs.Split
		if got == nil || c.want == nil {
			if got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
			continue
		}
		for _, part := range [][2]float64{
			{got.Core, c.want.Core},
			{got.Queued, c.want.Queued},
			{got.Storage, c.want.Storage},
			{got.Network, c.want.Network},
			{got.Asleep, c.want.Asleep},
		} {
			if !(math.Abs(part[0]-part[1]) < 0.01) {
				t.Errorf("%s: %+v, want %+v", name, *got, *c.want)
				break
			}
		}
	}
}

// A launching thread that loads by itself has no whole core where a quota allows less.
func TestLessThanACore(t *testing.T) {
	s := predict.Setup{
		Batch: 1, Cores: 2, Step: stoker.Exactly(0.02), PrepareCPU: stoker.Exactly(0.04), Cached: 1,
		Decoded: stoker.Exactly(1), Pinned: true, LoopCPU: stoker.Exactly(0.001), Spin: stoker.Exactly(1e-9),
		Copy: stoker.Exactly(1e-9),
	}.WithWorkers(0)
	whole, err := s.Solve()
	if err != nil {
		t.Fatal(err)
	}
	s.Cores = 0.5
	part, err := s.Solve()
	if err != nil {
		t.Fatal(err)
	}
	if whole.Step.Point > 0.07 || !(part.Step.Point >= 0.08) || part.Step.Low < 0.079 {
		t.Errorf("a step takes %+v with a core and %+v with half of one; 40 ms of core time need 80 ms of that",
			whole.Step, part.Step)
	}
}
