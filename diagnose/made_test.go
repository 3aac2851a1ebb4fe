package diagnose_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/diagnose/rules"
	"github.com/stoker-dev/stoker/recording"
)

// made is a run by hand: a trainer with workers, each with one thread, for some seconds.
type made struct {
	seconds, step, wait, idle float64
	workers                   int
	fetch, core               float64                     // of a batch in a worker: time, and core time
	states                    map[recording.State]float64 // of a worker's thread, shares
	util                      float64
	rates, levels             map[string]float64 // "signal subject" to growth per second, and to value
	facts                     recording.Facts
	padding                   recording.Padding
	steps                     func([]recording.Step)
	end                       float64 // of the recording; 0: with the last step
}

// starving is a device that waits two thirds of the time for three workers that read.
func starving() made {
	facts := recording.Facts{
		Machine:  recording.Machine{CPUs: 16, Allowed: 16, MemoryBytes: new(64e9), ShmBytes: new(32e9)},
		GPUs:     []recording.GPU{{Index: 0, Name: "NVIDIA H100 80GB HBM3", MemoryBytes: new(80e9), PowerLimit: new(700.0), MaxClock: new(1980.0), LinkGen: 5, LinkWidth: 16, Node: new(0)}},
		Software: recording.Software{Torch: "2.15.0"},
		Model:    &recording.ModelFacts{Device: "cuda:0", DType: "float32", Steps: 1000},
	}
	return made{
		seconds: 90, step: 0.1, wait: 0.067, idle: 0.066, workers: 3, fetch: 0.3, core: 0.03, util: 0.33,
		states: map[recording.State]float64{recording.Running: 0.1, recording.OnDisk: 0.9},
		rates: map[string]float64{
			"tree.cpu tree": 0.6, "machine.cpu machine": 0.7, "thread.cpu thread/100": 0.3,
			"disk.busy disk/sda": 0.99, "disk.read disk/sda": 200e6, "disk.reads disk/sda": 400, "disk.flight disk/sda": 6,
			"process.read process/201": 67e6, "process.disk process/201": 66e6, "process.read process/202": 67e6, "process.disk process/202": 66e6,
			"process.read process/203": 67e6, "process.disk process/203": 66e6, "pressure.memory machine": 0,
		},
		levels: map[string]float64{"machine.memory machine": 30e9, "tree.memory tree": 5e9, "machine.shm machine": 31e9},
		facts:  facts,
	}
}

// computing is a device that computes all the time.
func computing() made {
	m := starving()
	m.wait, m.idle, m.util, m.core, m.fetch = 0.001, 0.0005, 0.99, 0.03, 0.03
	m.states = map[recording.State]float64{recording.Parked: 0.9, recording.Running: 0.1}
	m.levels["gpu.clock gpu/0"], m.levels["gpu.slowed gpu/0"] = 1900, 0
	return m
}

// ranks makes it so many ranks, each with a device.
func (m made) ranks(efforts ...float64) made {
	gpu := m.facts.GPUs[0]
	m.facts.GPUs = nil
	for i, effort := range efforts {
		gpu.Index = i
		m.facts.GPUs = append(m.facts.GPUs, gpu)
		m.levels[fmt.Sprintf("gpu.sm_active gpu/%d", i)] = effort
	}
	return m
}

func (m made) with(change func(*made)) made {
	change(&m)
	return m
}

// run writes the recording and reads it again.
func (m *made) run(t *testing.T) *recording.Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	w, err := recording.Create(path, recording.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	end := max(m.end, m.seconds)
	for rank := range m.facts.GPUs {
		trainer := 100 + rank
		p := recording.Process{PID: trainer, Role: recording.RoleTrainer, Rank: rank, Device: rank, LaunchThread: trainer, LauncherSeen: true, Hooked: true}
		if len(m.facts.GPUs) > 1 {
			p.World = len(m.facts.GPUs)
		}
		if m.levels["pin"] > 0 {
			p.PinThread = 150
		}
		m.facts.Processes = append(m.facts.Processes, p)
		m.facts.Loaders = append(m.facts.Loaders, recording.Loader{
			ID: 1, PID: trainer, BatchBytes: 38e6, BatchDType: "float32", Pinned: new(true), Padding: m.padding,
			Settings: stoker.Settings{stoker.NumWorkers: m.workers, stoker.BatchSize: 64, stoker.PinMemory: true},
		})
		m.write(w, trainer, rank)
		for i := range m.workers {
			m.work(w, trainer, 200+100*rank+i+1)
		}
	}
	for at := 0.0; at <= end; at++ {
		for name, rate := range m.rates {
			signal, subject, _ := strings.Cut(name, " ")
			w.AddSample(recording.Signal(signal), subject, at, rate*at)
		}
		for name, level := range m.levels {
			if signal, subject, ok := strings.Cut(name, " "); ok {
				w.AddSample(recording.Signal(signal), subject, at, level)
			}
		}
	}
	w.SetFacts(m.facts)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (m *made) write(w *recording.Writer, trainer, rank int) {
	var steps []recording.Step
	for i := 0; float64(i)*m.step < m.seconds; i++ {
		steps = append(steps, recording.Step{
			PID: trainer, Rank: rank, Device: rank, Loader: 1, N: i, Start: float64(i) * m.step, Period: m.step, Wait: m.wait,
			Samples: 64, First: i == 0, Phase: recording.Train, Idle: m.idle, DevicePeriod: m.step, Optimized: 1,
		})
	}
	if m.steps != nil {
		m.steps(steps)
	}
	for _, s := range steps {
		w.AddStep(s)
		w.AddClock(recording.DeviceClock{PID: s.PID, Loader: 1, N: s.N, Idle: s.Idle, Period: s.DevicePeriod})
	}
	for at := 0.0; at <= max(m.end, m.seconds); at += 0.25 {
		if at <= m.seconds {
			w.AddSample(recording.GPUUtilisation, fmt.Sprintf("gpu/%d", rank), at, m.util)
		}
	}
}

// work writes what a worker does.
func (m *made) work(w *recording.Writer, trainer, pid int) {
	process, thread := fmt.Sprintf("process/%d", pid), fmt.Sprintf("thread/%d", pid)
	n := 0
	counted := map[recording.State]int{}
	for at := 0.0; at <= m.seconds; at += 0.1 {
		n++
		for _, state := range []recording.State{recording.Parked, recording.Running, recording.OnDisk, recording.Remote, recording.Asleep} {
			if float64(counted[state]) < m.states[state]*float64(n)-1e-9 {
				counted[state]++
				w.AddSample(recording.ThreadState, thread, at, float64(state))
				break
			}
		}
	}
	each := 1 / m.step / float64(m.workers) // batches a second
	for at := 0.0; at <= m.seconds; at++ {
		w.AddSample(recording.FetchCount, process, at, math.Floor(at*each))
		w.AddSample(recording.FetchWall, process, at, math.Floor(at*each)*m.fetch)
		w.AddSample(recording.FetchCPU, process, at, math.Floor(at*each)*m.core)
		w.AddSample(recording.ProcessCPU, process, at, at*each*(m.core+m.levels["helpers"]))
		if wants := m.levels["wants"]; wants > 0 {
			w.AddSample(recording.ProcessWants, process, at, wants)
		}
		w.AddSample(recording.ThreadCPU, thread, at, at*each*m.core)
		w.AddSample(recording.ThreadQueue, thread, at, m.levels["queued"]*at)
		w.AddSample(recording.ProcessMemory, process, at, 1e9+m.levels["grows"]*at)
		if private := m.levels["private"]; private > 0 {
			w.AddSample(recording.ProcessPrivate, process, at, private)
		}
	}
	m.facts.Processes = append(m.facts.Processes, recording.Process{PID: pid, Parent: trainer, Role: recording.RoleWorker, Device: -1, LaunchThread: pid, Hooked: true})
}

func nfs(m *made) {
	m.facts.Mounts = []recording.Mount{{Point: "/data", Kind: "nfs4", Remote: true, Seen: 40}, {Point: "/", Kind: "ext4", Disk: "disk/sda", Seen: 3}}
	m.states = map[recording.State]float64{recording.Running: 0.1, recording.Remote: 0.9}
	for _, worker := range []string{"201", "202", "203"} {
		m.rates["process.disk process/"+worker] = 0
	}
	m.rates["mount.reads mount//data"], m.rates["mount.wait mount//data"], m.rates["net.received net/eth0"] = 3000, 27, 150e6
}

func heat(reasons recording.Slowed, clock float64) func(*made) {
	return func(m *made) {
		m.levels["gpu.clock gpu/0"], m.levels["gpu.slowed gpu/0"] = clock, float64(reasons)
	}
}

func others(share float64) func(*made) {
	return func(m *made) { m.levels["gpu.others gpu/0"], m.levels["gpu.strangers gpu/0"] = share, 1 }
}

// TestClassesOfMadeRuns judges a run by hand for each class that signals decide, and one
// that is nearly it and is not.
func TestClassesOfMadeRuns(t *testing.T) {
	for name, c := range map[string]struct {
		made made
		want diagnose.Class
		says string
	}{
		"a disk that gives no more":    {starving(), diagnose.DeviceSaturated, "sda is at work 99 %"},
		"a disk with room":             {starving().with(func(m *made) { m.rates["disk.busy disk/sda"] = 0.5 }), diagnose.IOBound, ""},
		"the limit of a control group": {starving().with(func(m *made) { m.rates["disk.busy disk/sda"] = 0.3; m.facts.Machine.DiskLimit = 200e6 }), diagnose.DeviceSaturated, "may read"},
		"a limit that is far":          {starving().with(func(m *made) { m.rates["disk.busy disk/sda"] = 0.3; m.facts.Machine.DiskLimit = 800e6 }), diagnose.IOBound, ""},
		"another disk is busy": {starving().with(func(m *made) {
			m.facts.Mounts = []recording.Mount{{Point: "/data", Kind: "xfs", Disk: "disk/sdb", Seen: 9}}
			m.rates["disk.read disk/sdb"], m.rates["disk.busy disk/sdb"] = 90e6, 0.4
		}), diagnose.IOBound, ""},
		"small reads":                 {starving().with(func(m *made) { m.rates["disk.reads disk/sda"] = 12000 }), diagnose.SmallFiles, "a read is 16.7 KB"},
		"a limit of reads":            {starving().with(func(m *made) { m.rates["disk.reads disk/sda"] = 12000; m.facts.Machine.ReadsLimit = 12000 }), diagnose.SmallFiles, "may make 12,000 reads"},
		"reads as large as readahead": {starving().with(func(m *made) { m.rates["disk.reads disk/sda"] = 900; m.rates["disk.busy disk/sda"] = 0.5 }), diagnose.IOBound, ""},
		"NFS":                         {starving().with(nfs), diagnose.RemoteFS, "a read there takes 9 ms"},
		"a mount that is hardly read": {starving().with(nfs).with(func(m *made) {
			m.facts.Mounts[0].Seen = 1
			m.states = starving().states
			m.rates["process.disk process/201"] = 66e6
		}), diagnose.DeviceSaturated, ""},
		"an object store, by sockets": {starving().with(nfs).with(func(m *made) {
			m.facts.Mounts = nil
			m.states = map[recording.State]float64{recording.Running: 0.1, recording.Parked: 0.9}
		}), diagnose.RemoteFS, "150 MB/s are received over eth0"},
		"sleep, while somebody downloads": {starving().with(nfs).with(func(m *made) {
			m.facts.Mounts = nil
			m.states = map[recording.State]float64{recording.Running: 0.1, recording.Asleep: 0.9}
		}), diagnose.TooFewWorkers, ""},
		"a lock, while ranks exchange": {starving().with(nfs).with(func(m *made) {
			m.facts.Mounts, m.states = nil, map[recording.State]float64{recording.Running: 0.1, recording.Parked: 0.9}
			m.rates["net.sent net/eth0"] = 140e6
		}), diagnose.TooFewWorkers, ""},
		"a lock, and hardly any network": {starving().with(func(m *made) {
			m.states = map[recording.State]float64{recording.Running: 0.1, recording.Parked: 0.9}
			m.rates["net.received net/eth0"] = 20e3
		}), diagnose.TooFewWorkers, ""},
		"memory is short": {starving().with(func(m *made) {
			m.rates["pressure.memory machine"] = 0.4
			m.rates["process.faults process/201"] = 900
			m.levels["machine.memory machine"] = 100e6
		}), diagnose.MemoryPressure, "waits for memory 40 %"},
		"a little pressure":                   {starving().with(func(m *made) { m.rates["pressure.memory machine"] = 0.02 }), diagnose.DeviceSaturated, ""},
		"a device that computes":              {computing(), diagnose.GPUBound, ""},
		"too hot":                             {computing().with(heat(recording.ByHeat, 1400)), diagnose.ThrottledGPU, "because it is too hot"},
		"the board's brake":                   {computing().with(heat(recording.ByHardware|recording.ByPower, 900)), diagnose.ThrottledGPU, "power supply"},
		"the power limit":                     {computing().with(heat(recording.ByPower, 1400)), diagnose.GPUBound, ""},
		"hot, at nearly its full clock":       {computing().with(heat(recording.ByHeat, 1900)), diagnose.GPUBound, ""},
		"hot and waiting for input":           {starving().with(heat(recording.ByHeat, 1200)), diagnose.DeviceSaturated, ""},
		"another program computes":            {computing().with(others(0.4)), diagnose.SharedGPU, "40 % of the time"},
		"another program holds it":            {computing().with(others(0.01)), diagnose.GPUBound, ""},
		"another program, and input is short": {starving().with(others(0.3)), diagnose.DeviceSaturated, ""},
		"one rank computes, three spin":       {computing().ranks(0.2, 0.2, 0.9, 0.2), diagnose.StragglerRank, "wait for rank 2"},
		"four ranks compute":                  {computing().ranks(0.8, 0.85, 0.9, 0.8), diagnose.GPUBound, ""},
		"ranks wait for the network":          {computing().ranks(0.2, 0.2).with(busyNet(1.0e9, 1.0e9)), diagnose.NetworkBound, "eth0 is used 80 %"},
		"ranks that compute, a busy network":  {computing().ranks(0.8, 0.8).with(busyNet(1.0e9, 1.0e9)), diagnose.GPUBound, ""},
		"a data set over the network":         {computing().ranks(0.2, 0.2).with(busyNet(1.0e9, 1e7)), diagnose.GPUBound, ""},
	} {
		run := c.made.run(t)
		v := judge.Judge(run)
		outside := slices.ContainsFunc(advise.Rank(run, v).Fixes, func(f advise.Fix) bool { return f.Name == string(c.want) && f.Forecast.Speedup.High > 1.1 })
		if outside != (c.want == diagnose.ThrottledGPU || c.want == diagnose.SharedGPU) {
			t.Errorf("%s: what is outside of the program is advised: %t", name, outside)
		}
		if v.Class != c.want {
			t.Errorf("%s: %s, want %s: %v", name, v.Class, c.want, v.Scores[:3])
		}
		if !slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return strings.Contains(e.Text, c.says) }) {
			t.Errorf("%s: nothing says %q: %v", name, c.says, v.Evidence)
		}
	}
}

func busyNet(in, out float64) func(*made) {
	return func(m *made) {
		m.rates["net.received net/eth0"], m.rates["net.sent net/eth0"] = in, out
		m.facts.Machine.NetSpeed = map[string]float64{"net/eth0": 1.25e9}
	}
}

// every makes each n-th step longer, by waiting for its batch or otherwise.
func every(n int, longer, waiting float64) func(*made) {
	return func(m *made) {
		m.steps = func(steps []recording.Step) {
			late := 0.0
			for i := range steps {
				steps[i].Start += late
				if i%n == n-1 {
					steps[i].Period, steps[i].DevicePeriod, steps[i].Wait = steps[i].Period+longer, steps[i].Period+longer, steps[i].Wait+waiting
					late += longer
				}
			}
		}
	}
}

// used is how much of the time a kernel runs.
func used(share float64) func(*made) { return func(m *made) { m.util = share } }

func untrained(n int) func(*made) {
	return func(m *made) {
		m.steps = func(steps []recording.Step) {
			for i := range steps[:n] {
				steps[i].Optimized, steps[i].Idle = 0, steps[i].DevicePeriod
			}
		}
	}
}

// padded fills so many of 10,000 numbers, and so many beyond the longest sample.
func padded(all, beyond int64) func(*made) {
	return func(m *made) {
		m.padding.Add([]int64{10_000, all, beyond})
	}
}

// TestFindingsOfMadeRuns looks for each finding in a run by hand that has it, and in one
// that nearly has.
func TestFindingsOfMadeRuns(t *testing.T) {
	for finding, c := range map[string]struct{ has, nearly made }{
		"hung":             {computing().with(func(m *made) { m.end, m.rates["tree.cpu tree"] = 200, 0 }), computing().with(func(m *made) { m.end = 200 })},
		"hangs":            {computing().with(every(50, 0.7, 0)).with(used(0.7)), computing().with(every(50, 0.3, 0)).with(used(0.85))},
		"hangs ":           {computing().with(every(50, 0.7, 0)).with(used(0.7)), computing().with(every(50, 0.7, 0))}, // of a loop that launches ahead
		"skipping-batches": {starving().with(untrained(300)), starving().with(untrained(7))},
		"shared-gpu":       {computing().with(func(m *made) { m.levels["gpu.strangers gpu/0"] = 2 }), computing().with(func(m *made) { m.levels["gpu.strangers gpu/0"] = 0 })},
		"slow-link":        {computing().with(link(3, 8)), computing().with(link(5, 16))},
		"pin-thread":       {starving().with(pinning(0.95)), starving().with(pinning(0.3))},
		"deep-queue":       {starving().with(func(m *made) { m.facts.Machine.ShmBytes = new(64e6) }), starving()},
		"copied-dataset":   {starving().with(own(3e9)), starving().with(own(2e8))},
		"allocator":        {computing().with(asking(30)), computing().with(asking(0.1))},
		"padding":          {computing().with(padded(6000, 5000)), computing().with(padded(2000, 500))},
		"memory-growth":    {computing().with(growingBy(20e6)), computing().with(growingBy(1e6))},
		"memory-pressure":  {computing().with(pressed(0.3)), computing().with(pressed(0.02))},
		"too-many-workers": {starving().with(crowded(4, 0.5)), starving().with(crowded(12, 0.5))},
		"intra-op-threads": {starving().with(threaded(8, 2)), starving().with(threaded(8, 32))},
		"slurm-cores":      {starving().with(crowded(2, 0.5)).with(func(m *made) { m.facts.Machine.TaskCores = 2 }), starving().with(crowded(2, 0.5))},
		"numa-remote":      {computing().with(onNode(1)), computing().with(onNode(0))},
		"storage-spikes":   {starving().with(nfs).with(every(40, 1.2, 1.2)), starving().with(nfs).with(every(40, 0.2, 0.2))},

		"too-many-workers ": {starving().with(crowded(4, 0.5)), starving().with(crowded(4, 0.5)).with(func(m *made) { m.rates["tree.cpu tree"] = 0.5 })}, // neighbours
	} {
		for _, made := range []struct {
			made made
			want bool
		}{{c.has, true}, {c.nearly, false}} {
			v := judge.Judge(made.made.run(t))
			named := func(f diagnose.Finding) bool { return f.Name == strings.TrimSpace(finding) }
			if slices.ContainsFunc(v.Findings, named) != made.want {
				t.Errorf("%s: want %v, have %v", finding, made.want, v.Findings)
			}
		}
	}
}

func link(gen, width float64) func(*made) {
	return func(m *made) {
		m.levels["gpu.link_generation gpu/0"], m.levels["gpu.link_width gpu/0"] = gen, width
	}
}

func pinning(core float64) func(*made) {
	return func(m *made) {
		m.levels["pin"], m.rates["thread.cpu thread/150"] = 1, core
		m.fetch, m.states = 0.1, map[recording.State]float64{recording.Running: 0.3, recording.Parked: 0.7}
	}
}

func own(private float64) func(*made) {
	return func(m *made) {
		m.levels["private"], m.levels["process.memory process/100"] = private, 4e9
	}
}

func growingBy(rate float64) func(*made) {
	return func(m *made) {
		delete(m.levels, "tree.memory tree")
		m.rates["tree.memory tree"] = rate
		m.rates["machine.memory machine"] = -rate
		m.levels["machine.memory machine"] = 2e9
		delete(m.rates, "machine.memory machine")
	}
}

// asking gets device memory of the driver so many times a second.
func asking(rate float64) func(*made) {
	return func(m *made) { m.rates["device.asked gpu/0"] = rate }
}

func pressed(share float64) func(*made) {
	return func(m *made) { m.rates["pressure.memory machine"] = share }
}

// crowded is twelve workers that mostly compute, on so many cores.
func crowded(cores int, queued float64) func(*made) {
	return func(m *made) {
		m.workers, m.fetch, m.core = 12, 1.2, 0.55
		m.states = map[recording.State]float64{recording.Running: 1}
		m.levels["queued"], m.facts.Machine.Allowed = queued, cores
		m.rates["tree.cpu tree"], m.rates["machine.cpu machine"] = float64(cores), float64(cores)
	}
}

// threaded is three workers in which a library computes with so many threads, on so many cores.
func threaded(threads float64, cores int) func(*made) {
	return func(m *made) {
		m.fetch, m.core = 0.28, 0.06
		m.states = map[recording.State]float64{recording.Running: 1}
		m.levels["queued"], m.levels["helpers"], m.levels["wants"], m.facts.Machine.Allowed = 0.5, 0.12, threads, cores
		m.rates["tree.cpu tree"], m.rates["machine.cpu machine"] = float64(cores), float64(cores)
	}
}

// Workers whose libraries compute with more threads than there are cores get one thread each, in the words of the
// library, and never company. One thread more is Python's own, which sends batches.
func TestThreadsOfWorkers(t *testing.T) {
	for _, c := range []struct {
		threads float64
		pools   map[string]int
		want    string
	}{
		{8, map[string]int{"torch": 16}, "torch.set_num_threads(1) in worker_init_fn"},
		{8, map[string]int{"torch": 1, "opencv": 8}, "cv2.setNumThreads(0) in worker_init_fn"},
		{8, map[string]int{"torch": 1}, "OMP_NUM_THREADS=1"},
		{1.2, nil, ""},
	} {
		made := starving().with(threaded(c.threads, 2))
		run := made.run(t)
		run.Facts.WorkerThreads = c.pools
		plan := advise.Rank(run, judge.Judge(run))
		if len(plan.Fixes) == 0 {
			t.Fatalf("%v: nothing is advised", c)
		}
		first := plan.Fixes[0]
		if named := first.Name == diagnose.FindingIntraOpThreads; named != (c.want != "") || !strings.Contains(first.Title, c.want) {
			t.Errorf("%v: first %q, want %q", c, first.Title, c.want)
		}
		for _, f := range plan.Fixes {
			if to := len(f.Changes); c.want != "" && to > 0 && f.Changes[to-1].Setting == stoker.NumWorkers {
				t.Errorf("%v: %v is advised", c, f.Changes)
			}
		}
	}
}

// Batches that lock a quarter of the machine's memory are told; those of a loader that pins nothing are not.
func TestPinnedQueue(t *testing.T) {
	for _, c := range []struct {
		memory float64
		pinned bool
		want   bool
	}{{800e6, true, true}, {800e6, false, false}, {64e9, true, false}} {
		made := starving().with(func(m *made) { m.facts.Machine.MemoryBytes = new(c.memory) })
		run := made.run(t)
		run.Facts.Loaders[0].Pinned = &c.pinned
		got := slices.ContainsFunc(judge.Judge(run).Findings, func(f diagnose.Finding) bool {
			return f.Name == diagnose.FindingDeepQueue && strings.Contains(f.Text, "page-locked")
		})
		if got != c.want {
			t.Errorf("%+v: told %t", c, got)
		}
	}
}

// A batch that leaves a tile partly empty is a finding only if the device is the limit.
func TestUnevenBatch(t *testing.T) {
	for _, c := range []struct {
		made made
		size int
		want bool
	}{{computing(), 30, true}, {computing(), 64, false}, {computing(), 1001, false}, {computing(), 4, false}, {starving(), 30, false}} {
		run := c.made.run(t)
		run.Facts.Loaders[0].Settings[stoker.BatchSize] = c.size
		v := judge.Judge(run)
		got := slices.ContainsFunc(v.Findings, func(f diagnose.Finding) bool { return f.Name == diagnose.FindingUnalignedShapes })
		if got != c.want {
			t.Errorf("%s in batches of %d: told %t", v.Class, c.size, got)
		}
	}
}

func onNode(n float64) func(*made) {
	return func(m *made) { m.facts.Machine.Nodes, m.levels["thread.node thread/100"] = 2, n }
}

// GPU-Util counts what copy engines do: only a counter of kernels tells the two apart where nobody times copies.
func TestUtilisationLessKernelsIsCopying(t *testing.T) {
	for kernels, want := range map[float64]diagnose.Class{0.2: diagnose.TransferBound, 0.97: diagnose.GPUBound} {
		m := computing().with(func(m *made) {
			m.levels["gpu.kernels gpu/0"], m.levels["gpu.link_in gpu/0"] = kernels, 40e9
		})
		v := judge.Judge(m.run(t))
		if v.Class != want || math.Abs(v.Shares.Kernel-kernels) > 0.001 {
			t.Errorf("kernels run %v of the time: %s, and it says that they run %v", kernels, v.Class, v.Shares.Kernel)
		}
		said := slices.ContainsFunc(v.Evidence, func(e diagnose.Evidence) bool { return strings.Contains(e.Text, "PCIe brings 40 GB/s") })
		if said != (want == diagnose.TransferBound) {
			t.Errorf("%s: %v", v.Class, v.Evidence)
		}
	}
}

// A loop over a loader that makes no gradients infers: nothing of it speaks of a loss or of training.
func TestInferenceIsNoTraining(t *testing.T) {
	for phase, want := range map[recording.Phase]diagnose.Program{recording.Evaluate: diagnose.Inference, recording.Train: diagnose.UnknownProgram} {
		m := starving()
		m.facts.Model.Steps, m.workers = 0, 0
		m.steps = func(steps []recording.Step) {
			for i := range steps {
				steps[i].Phase = phase
			}
		}
		v := judge.Judge(m.run(t))
		if v.Grounds.Program != want {
			t.Errorf("steps of %q are of %q, want %q", phase, v.Grounds.Program, want)
		}
		title, _, _ := rules.Describe(diagnose.Verdict{Class: diagnose.MainThread, Grounds: v.Grounds})
		if trains := want != diagnose.Inference; strings.Contains(title, "training") != trains || strings.Contains(v.Grounds.SyncAdvice(), "loss") != trains {
			t.Errorf("steps of %q: %q, %q", phase, title, v.Grounds.SyncAdvice())
		}
	}
}
