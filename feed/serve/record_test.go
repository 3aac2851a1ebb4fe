package serve

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/ring"
	"github.com/stoker-dev/stoker/internal/leash"
	"github.com/stoker-dev/stoker/recording"
)

// pretended is a daemon of one loader and one rank in which everything goes evenly.
type pretended struct {
	step                    time.Duration
	waited                  time.Duration // of a step, by the trainer's word; 0: it says nothing
	full                    float64       // share of the time
	read, decode, transform time.Duration // of a batch, all threads together
	threads                 int
	cores                   float64       // that everybody on the machine uses
	queued                  time.Duration // of a batch, all threads together, without a core
}

// recorded records 40 s of a pretended daemon.
func (p pretended) recorded(t *testing.T) *recording.Run {
	t.Helper()
	const pid, batch = 4711, 64
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	began := time.Unix(1_800_000_000, 0)
	host := HostView{
		Second: func(now float64, to *recording.Writer) {
			own := (p.read/4 + p.decode + p.transform - p.queued).Seconds() / p.step.Seconds() * now
			to.AddSample(recording.TreeCPU, "tree", now, own)
			to.AddSample(recording.ProcessCPU, fmt.Sprintf("process/%d", feedPID(t)), now, own)
			to.AddSample(recording.MachineCPU, "machine", now, max(own, p.cores*now))
		},
		Facts: func(f *recording.Facts) { f.Machine = recording.Machine{CPUs: 8, Allowed: 8, PhysCores: 8} },
	}
	b := newBook(Recording{Version: "test", Host: host}, began)
	var err error
	if b.out, err = recording.Create(path, b.collectFacts()); err != nil {
		t.Fatal(err)
	}
	for at := time.Duration(0); at <= 40*time.Second; at += lookEvery {
		n := int64(at / p.step)
		times := time.Duration(n)
		s := Snapshot{
			Time: began.Add(at), Threads: feed.Load{Threads: p.threads}, Loaders: map[string]feed.Counters{
				"train": {Batches: n, Samples: n * batch, Read: times * p.read, Decode: times * p.decode, Transform: times * p.transform},
			},
			Sessions: []sessionSnapshot{{
				Loader: "train", PID: pid, Slots: ring.Counts{Loaned: 4}, Consumed: n, Samples: n * batch,
				DaemonWaits: time.Duration(p.full * float64(at)), TrainerWaited: times * p.waited,
			}},
		}
		b.writeBatches(s)
		if at%flushEvery == 0 {
			b.second(s)
		}
	}
	if err := b.out.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// feedPID is the process that a book takes for the daemon: this one.
func feedPID(t *testing.T) int {
	t.Helper()
	for _, p := range newBook(Recording{}, time.Now()).collectFacts().Processes {
		if p.Role == recording.RoleFeed {
			return p.PID
		}
	}
	t.Fatal("the daemon is not among the processes")
	return 0
}

// TestVerdictsOfTheLoadersOwnSide judges recordings of the daemon alone. A wait of
// the host is never called starvation, however long: what to change is bounded, and
// a stall is known only where there is hardly any wait.
func TestVerdictsOfTheLoadersOwnSide(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		daemon pretended
		class  diagnose.Class
		stall  bool
		fix    string
	}{
		"keeps up":         {pretended{step: 100 * ms, waited: ms / 2, full: 0.97, read: 2 * ms, decode: 60 * ms, transform: 20 * ms, threads: 7, cores: 3}, diagnose.Unknown, true, ""},
		"full, not told":   {pretended{step: 100 * ms, full: 0.985, read: 2 * ms, decode: 60 * ms, transform: 20 * ms, threads: 7, cores: 3}, diagnose.Unknown, true, ""},
		"nobody tells":     {pretended{step: 100 * ms, full: 0.5, read: 2 * ms, decode: 60 * ms, transform: 20 * ms, threads: 7, cores: 3}, diagnose.Unknown, false, ""},
		"few threads":      {pretended{step: 50 * ms, waited: 40 * ms, read: 2 * ms, decode: 70 * ms, transform: 27 * ms, threads: 2, cores: 2.5}, diagnose.TooFewWorkers, false, "num_workers"},
		"cores used up":    {pretended{step: 50 * ms, waited: 40 * ms, read: 8 * ms, decode: 290 * ms, transform: 95 * ms, threads: 8, cores: 8}, diagnose.CPUExhausted, false, "cores"},
		"slow storage":     {pretended{step: 50 * ms, waited: 40 * ms, read: 320 * ms, decode: 20 * ms, transform: 8 * ms, threads: 7, cores: 2}, diagnose.IOBound, false, "storage"},
		"a neighbour's":    {pretended{step: 50 * ms, waited: 40 * ms, read: 2 * ms, decode: 70 * ms, transform: 27 * ms, threads: 2, cores: 8, queued: 40 * ms}, diagnose.Neighbour, false, "cores"},
		"others, no queue": {pretended{step: 50 * ms, waited: 40 * ms, read: 2 * ms, decode: 70 * ms, transform: 27 * ms, threads: 2, cores: 8}, diagnose.TooFewWorkers, false, "num_workers"},
		"some wait, alone": {pretended{step: 100 * ms, waited: 6 * ms, full: 0.6, read: 2 * ms, decode: 60 * ms, transform: 20 * ms, threads: 7, cores: 3}, diagnose.Unknown, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := c.daemon.recorded(t)
			v := judge.Judge(run)
			if v.Class != c.class {
				t.Errorf("class %s, want %s: %v", v.Class, c.class, v.Scores)
			}
			if known := !math.IsNaN(v.Stall); known != c.stall || known && v.StallSource != diagnose.HostWait {
				t.Errorf("stall %v by %q; known: want %v", v.Stall, v.StallSource, c.stall)
			}
			checkAdvice(t, advise.Rank(run, v), c.fix, c.daemon.waited)
		})
	}
}

// checkAdvice wants a fix among those advised, no promise, and no setting of PyTorch's
// loader that stoker's has not.
func checkAdvice(t *testing.T, plan advise.Plan, want string, waited time.Duration) {
	t.Helper()
	found := want == "" && len(plan.Fixes) == 0
	for _, fix := range plan.Fixes {
		found = found || fix.Name == want
		if s := fix.Forecast.Speedup; !math.IsNaN(s.Point) || s.Low != 1 {
			t.Errorf("%s promises %+v, and nobody saw the device", fix.Name, s)
		}
		for _, c := range fix.Changes {
			if strings.Contains("persistent_workers prefetch_factor pin_memory loader", string(c.Setting)) {
				t.Errorf("advised %v to a user of stoker's loader", c)
			}
		}
	}
	if !found {
		t.Errorf("fix %q is not what is advised: %+v, rejected %v", want, plan.Fixes, plan.Rejected)
	}
}

func TestStepsOfARecording(t *testing.T) {
	run := pretended{step: 30 * time.Millisecond, waited: 3 * time.Millisecond, threads: 2}.recorded(t)
	windows := run.Windows()
	if len(windows) != 1 {
		t.Fatalf("%d trainers, want one", len(windows))
	}
	w := windows[0]
	if got := w.HostTime(); math.Abs(got-0.030) > 1e-4 {
		t.Errorf("a step takes %.5f s, want 0.030", got)
	}
	if got := w.Wait(); math.Abs(got-0.003) > 1e-4 {
		t.Errorf("a step waits %.5f s, want 0.003", got)
	}
	if got := w.Samples(); got != 64 {
		t.Errorf("%v samples in a batch, want 64", got)
	}
	l := run.FindLoader(4711, 0)
	if l == nil || l.Settings["loader"] != "stoker" || l.Settings["num_workers"] != 2 || l.Settings["batch_size"] != 64 {
		t.Errorf("loader %+v", l)
	}
}

// TestEndedLoadersAreReleased: a daemon of weeks serves thousands of jobs, whose
// loaders stand in each line of facts. The newest stay, and those that are open.
func TestEndedLoadersAreReleased(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	b := newBook(Recording{}, began)
	var err error
	if b.out, err = recording.Create(filepath.Join(t.TempDir(), "run.jsonl.gz"), b.collectFacts()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.out.Close() }()
	const jobs = 1000
	for pid := 1; pid <= jobs; pid++ {
		sessions := []sessionSnapshot{{Loader: "stays", PID: 1, Consumed: int64(pid)}, {Loader: "comes", PID: pid + 1, Consumed: 1}}
		b.writeBatches(Snapshot{Time: began.Add(time.Duration(pid) * time.Second), Sessions: sessions})
	}
	f := b.collectFacts()
	if len(f.Loaders) != maxLoaders || len(b.rings) != maxLoaders || len(f.Processes) != maxLoaders+1 {
		t.Errorf("%d loaders, %d rings, %d processes are held, want %d", len(f.Loaders), len(b.rings), len(f.Processes), maxLoaders)
	}
	if f.Loaders[0].PID != 1 || f.Loaders[maxLoaders-1].PID != jobs+1 {
		t.Errorf("held are the loaders of %d to %d, want the one that is open and the newest", f.Loaders[0].PID, f.Loaders[maxLoaders-1].PID)
	}
}

// TestRecordingOfADaemon records a real daemon, whose file can be read while it is
// being written.
func TestRecordingOfADaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl.gz")
	var snapshots int64
	stop, err := Recording{}.StartRecorder(path, func() Snapshot {
		snapshots++
		return Snapshot{Time: time.Now(), Sessions: []sessionSnapshot{{Loader: "train", PID: 1, Consumed: snapshots, Samples: snapshots}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	leash.Wait(t, "a step in the file", func() bool {
		run, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(run.Steps) > 0
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if run, err := recording.Open(path); err != nil || int64(len(run.Steps)) != snapshots {
		t.Errorf("%d steps of %d: %v", len(run.Steps), snapshots, err)
	}
	if _, err := (Recording{}).StartRecorder(path, nil); err == nil {
		t.Error("a recording was written over another")
	}
}
