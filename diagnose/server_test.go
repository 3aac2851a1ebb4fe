package diagnose_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/advise"
	"github.com/stoker-dev/stoker/diagnose"
	"github.com/stoker-dev/stoker/diagnose/judge"
	"github.com/stoker-dev/stoker/recording"
	"github.com/stoker-dev/stoker/report"
)

// server is one minute of a server, in shares of the time.
type server struct {
	busy, none float64 // the device works; no request is there
	flight     float64 // requests at a time, in the mean
	batch      float64 // of a pass
	work, held float64 // looks find a line at work, or asleep
	line       string
	cores      float64
	preempted  float64 // requests put off, in all
}

func counter(signal recording.Signal, subject string, rate float64) recording.Series {
	s := recording.Series{Signal: signal, Subject: subject}
	for i := range 61 {
		s.T, s.V = append(s.T, float64(i)), append(s.V, rate*float64(i))
	}
	return s
}

func gauge(signal recording.Signal, subject string, value float64) recording.Series {
	s := counter(signal, subject, 0)
	for i := range s.V {
		s.V[i] = value
	}
	return s
}

// record is the recording of such a minute: ten passes a second.
func (s server) record() *recording.Run {
	nan := math.NaN()
	run := &recording.Run{}
	run.Facts.Machine = recording.Machine{CPUs: 8, Allowed: 8}
	run.Facts.GPUs = []recording.GPU{{Index: 0, Name: "NVIDIA H100 80GB HBM3"}}
	run.Facts.Processes = []recording.Process{{PID: 7, Role: recording.RoleTrainer, Device: 0, LaunchThread: 7, Hooked: true}}
	run.Facts.Model = &recording.ModelFacts{Device: "cuda:0"}
	for i := range 590 {
		run.Steps = append(run.Steps, recording.Step{
			PID: 7, Device: 0, Loader: recording.OwnLoop, N: i, Start: 0.5 + 0.1*float64(i), Period: 0.1, Wait: nan,
			Samples: s.batch, Phase: recording.Evaluate, Idle: nan, DevicePeriod: nan, Optimized: 0, Ran: 0.1 * s.busy,
		})
	}
	look := func(state string, share float64) []recording.Series {
		if share == 0 {
			return nil
		}
		return []recording.Series{counter(recording.FetchStack, "process/7;loop;"+state+";"+s.line, share)}
	}
	run.Series = append(run.Series,
		counter(recording.RequestsCame, "process/7", 10), counter(recording.RequestsDone, "process/7", 10),
		counter(recording.Unasked, "process/7", s.none), counter(recording.InFlight, "process/7", s.flight),
		gauge(recording.GPUUtilisation, "gpu/0", s.busy), counter(recording.TreeCPU, "tree", s.cores),
		counter(recording.MachineCPU, "machine", s.cores), counter(recording.FetchLooks, "process/7;loop", 20))
	run.Series = append(run.Series, append(look("core", s.work), look("asleep", s.held)...)...)
	if s.preempted > 0 {
		run.Series = append(run.Series, gauge(recording.EngineCache, "process/7", 0.97),
			counter(recording.EnginePreempted, "process/7", s.preempted/60))
	}
	return run
}

// What keeps a server's device idle is told by who works while requests are there, and never by settings of a loader.
func TestServers(t *testing.T) {
	own := "/app/server.py:41 clean"
	for name, c := range map[string]struct {
		server
		class diagnose.Class
		at    string
	}{
		"nobody asks":   {server{busy: 0.2, none: 0.7, flight: 0.3, batch: 1, cores: 0.1}, diagnose.NoLoad, ""},
		"one at a time": {server{busy: 0.9, none: 0.01, flight: 6, batch: 1, cores: 0.1}, diagnose.BatchTooSmall, ""},
		"full batches":  {server{busy: 0.95, none: 0.01, flight: 40, batch: 16, cores: 0.1}, diagnose.GPUBound, ""},
		"batches of 6":  {server{busy: 0.95, none: 0.01, flight: 18, batch: 6, cores: 0.1}, diagnose.GPUBound, ""},
		"three for one": {server{busy: 0.95, none: 0.01, flight: 2.9, batch: 1, cores: 0.1}, diagnose.GPUBound, ""},
		"four for one":  {server{busy: 0.95, none: 0.01, flight: 4, batch: 1, cores: 0.1}, diagnose.BatchTooSmall, ""},
		"busy for most": {server{busy: 0.84, none: 0.01, flight: 40, batch: 16, work: 0.15, cores: 0.3, line: own}, diagnose.GPUBound, "server.py:41"},
		"a lock beside": {server{busy: 0.79, none: 0.01, flight: 40, batch: 16, held: 0.7, cores: 0.01, line: own}, diagnose.GPUBound, "server.py:41"},
		"a line works":  {server{busy: 0.2, none: 0.02, flight: 4, batch: 1, work: 0.7, cores: 0.8, line: own}, diagnose.ServerHost, "server.py:41"},
		"a tokenizer":   {server{busy: 0.2, none: 0.02, flight: 4, batch: 1, work: 0.7, cores: 0.8, line: own + ";transformers/tokenization_utils_base.py:9 encode"}, diagnose.Tokenizing, "server.py:41"},
		"a lock":        {server{busy: 0.2, none: 0.02, flight: 4, batch: 1, held: 0.7, cores: 0.1, line: own}, diagnose.ServerWaits, "server.py:41"},
		"a line stops the event loop": {
			server{busy: 0.2, none: 0.02, flight: 4, batch: 1, held: 0.7, cores: 0.1, line: "asyncio/events.py;" + own},
			diagnose.ServerWaits, "server.py:41",
		},
		"weights go to the device": {server{
			busy: 0.2, none: 0.02, flight: 1, batch: 1, work: 0.7, cores: 0.8,
			line: own + ";torch/nn/modules/module.py:9 Module.to",
		}, diagnose.TransferBound, "server.py:41"},
		"unseen cores work":    {server{busy: 0.2, none: 0.02, flight: 4, batch: 1, work: 0.01, cores: 3, line: own}, diagnose.Unknown, ""},
		"the cache is full":    {server{busy: 0.9, none: 0.01, flight: 30, batch: 4, preempted: 200, cores: 0.1}, diagnose.CacheFull, ""},
		"nothing was asked":    {server{busy: 0, none: 1, flight: 0, batch: 1}, diagnose.NoLoad, ""},
		"half asked, all work": {server{busy: 0.1, none: 0.5, flight: 1, batch: 1, work: 0.4, cores: 0.5, line: own}, diagnose.NoLoad, ""},
	} {
		run := c.record()
		v := judge.Judge(run)
		plan := advise.Rank(run, v)
		if v.Class != c.class {
			t.Errorf("%s: class %s, expected %s; scores %v, parts %+v", name, v.Class, c.class, v.Scores[:3], v.Measured.Parts)
		}
		said := fmt.Sprintf("%+v", plan.Fixes)
		for _, word := range []string{"num_workers", "DataLoader", "collate_fn", "__getitem__"} {
			if strings.Contains(said, word) {
				t.Errorf("%s: it advises a server %s: %s", name, word, said)
			}
		}
		if (c.class == diagnose.NoLoad || c.class == diagnose.Unknown) && len(plan.Fixes) > 0 {
			t.Errorf("%s: it advises %s", name, said)
		}
		if c.at != "" && (len(plan.Fixes) == 0 || plan.Fixes[0].At != c.at) {
			t.Errorf("%s: it advises %s, expected it at %s", name, said, c.at)
		}
		rows := 0.0
		for _, r := range v.Ledger.Rows {
			rows += r.Seconds
		}
		if math.Abs(rows/v.Ledger.Wall-1) > 0.01 {
			t.Errorf("%s: rows add up to %.1f s of %.1f", name, rows, v.Ledger.Wall)
		}
	}
}

// On a machine without a GPU that the model computes on the CPU comes first if its passes take most, and no word speaks of
// a device.
func TestServersWithoutAGPU(t *testing.T) {
	for name, c := range map[string]struct {
		server
		class diagnose.Class
	}{
		"passes take most": {server{busy: 0.5, none: 0.01, flight: 16, batch: 16, work: 0.4, cores: 0.9, line: "/app/server.py:41 clean"}, diagnose.ComputeOnCPU},
		"the host's work":  {server{busy: 0.2, none: 0.01, flight: 4, batch: 4, work: 0.7, cores: 0.9, line: "/app/server.py:41 clean"}, diagnose.ServerHost},
	} {
		run := c.record()
		run.Facts.GPUs, run.Facts.Model.Device, run.Facts.Processes[0].Device = nil, "cpu", -1
		run.Series = slices.DeleteFunc(run.Series, func(s recording.Series) bool { return s.Signal == recording.GPUUtilisation })
		v := judge.Judge(run)
		plan := advise.Rank(run, v)
		lead := report.LeadOf(run, v, plan, "")
		if v.Class != c.class || len(plan.Fixes) != 1 || plan.Fixes[0].At != "server.py:41" {
			t.Errorf("%s: class %s by %v, advised %+v", name, v.Class, v.Scores[:3], plan.Fixes)
		}
		said := fmt.Sprint(lead, report.ListEvidence(v), plan.Fixes[0].Title, report.DescribeClass(v))
		if strings.Contains(strings.ReplaceAll(said, "workers_per_device", ""), "device") || c.class == diagnose.ComputeOnCPU && !strings.HasPrefix(lead.Then, "server.py:41") {
			t.Errorf("%s: it says %s", name, said)
		}
	}
}

// Where passes are too small and the host works in turn with them, both are advised.
func TestSmallPassesInTurnWithTheHost(t *testing.T) {
	run := server{busy: 0.67, none: 0.01, flight: 4, batch: 1, work: 0.3, cores: 0.4, line: "/app/server.py:41 nearest;native sort"}.record()
	v := judge.Judge(run)
	fixes := advise.Rank(run, v).Fixes
	if v.Class != diagnose.BatchTooSmall || len(fixes) != 2 || fixes[1].At != "server.py:41" ||
		!strings.Contains(fixes[1].Title, "argpartition") {
		t.Errorf("it is %s, and advised %+v", v.Class, fixes)
	}
}

// A pipeline of transformers' makes a loader for the list of a request, and without batch_size a pass of each input.
func TestAPipelineThatTakesOneInputAPass(t *testing.T) {
	run := server{busy: 0.95, none: 0.01, flight: 1.5, batch: 1, cores: 0.3}.record()
	run.Facts.Loaders = []recording.Loader{{
		PID: 7, Reader: "transformers.pipelines.pt_utils.PipelineDataset", Samples: 24, Anew: true, Where: "/srv/reviews.py:45",
		Settings: stoker.Settings{stoker.BatchSize: 1},
	}}
	for i := range run.Steps {
		run.Steps[i].Loader, run.Steps[i].Wait, run.Steps[i].Ran = 0, 0.001, math.NaN()
	}
	for i := range run.Series {
		if s := &run.Series[i]; s.Signal == recording.RequestsDone {
			*s = counter(s.Signal, s.Subject, 10.0/24)
		}
	}
	v := judge.Judge(run)
	fixes := advise.Rank(run, v).Fixes
	if v.Class != diagnose.BatchTooSmall || len(fixes) != 1 || fixes[0].At != "reviews.py:45" ||
		!strings.Contains(fixes[0].Title, "batch_size=24") {
		t.Errorf("it is %s by %v, and advised %+v", v.Class, v.Scores[:3], fixes)
	}
}

// recordMetrics is the recording of such a minute by the server's own metrics: no hook is in it, so no step is known.
func (s server) recordMetrics(name string) *recording.Run {
	run, subject := &recording.Run{}, "metrics/8000"
	run.Facts.Machine = recording.Machine{CPUs: 8, Allowed: 8}
	run.Facts.Software.Server = name
	run.Facts.GPUs = []recording.GPU{{Index: 0, Name: "NVIDIA H100 80GB HBM3"}}
	run.Facts.Processes = []recording.Process{{PID: 7, Role: recording.RoleTrainer, Device: 0}}
	run.Series = append(run.Series,
		counter(recording.RequestsCame, subject, 10), counter(recording.RequestsDone, subject, 10),
		counter(recording.Unasked, subject, s.none), counter(recording.InFlight, subject, s.flight),
		counter(recording.EnginePasses, subject, 10), counter(recording.EngineSamples, subject, 10*s.batch),
		counter(recording.RequestsWithin, recording.SubjectWithin(subject, 0.5), 5),
		counter(recording.RequestsWithin, recording.SubjectWithin(subject, 1), 10),
		gauge(recording.GPUUtilisation, "gpu/0", s.busy), counter(recording.TreeCPU, "tree", s.cores),
		counter(recording.MachineCPU, "machine", s.cores))
	if s.preempted > 0 {
		run.Series = append(run.Series, gauge(recording.EngineCache, subject, 0.97),
			counter(recording.EnginePreempted, subject, s.preempted/60))
	}
	return run
}

// A server that no hook sees is judged by its own metrics and the device's meter, and advised in its own words.
func TestServersByTheirMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		server
		program string
		class   diagnose.Class
		says    string
	}{
		"nobody asks":       {server{busy: 0.2, none: 0.7, flight: 0.3, batch: 1, cores: 0.1}, "Triton", diagnose.NoLoad, ""},
		"one at a time":     {server{busy: 0.9, none: 0.01, flight: 6, batch: 1, cores: 0.1}, "Triton", diagnose.BatchTooSmall, "dynamic_batching"},
		"full batches":      {server{busy: 0.95, none: 0.01, flight: 40, batch: 16, cores: 0.1}, "TGI", diagnose.GPUBound, ""},
		"the cache is full": {server{busy: 0.9, none: 0.01, flight: 30, batch: 16, preempted: 200, cores: 0.1}, "SGLang", diagnose.CacheFull, "--mem-fraction-static"},
		"vLLM's is full":    {server{busy: 0.9, none: 0.01, flight: 30, batch: 16, preempted: 200, cores: 0.1}, "vLLM", diagnose.CacheFull, "--gpu-memory-utilization"},
	} {
		run := c.recordMetrics(c.program)
		v := judge.Judge(run)
		if v.Class != c.class {
			t.Errorf("%s: class %s, expected %s; scores %v, parts %+v", name, v.Class, c.class, v.Scores[:3], v.Measured.Parts)
		}
		said := fmt.Sprintf("%+v", advise.Rank(run, v).Fixes)
		if !strings.Contains(said, c.says) || c.says == "" && said != "[]" {
			t.Errorf("%s: it advises %s, expected %q", name, said, c.says)
		}
		if p50 := v.Measured.Requests.Time(0.5); math.Abs(p50-0.5) > 0.01 {
			t.Errorf("%s: half of the requests take %g s, expected 0.5", name, p50)
		}
	}
}

// A server on whose cores no other thread finds room is not told to use more of them.
func TestAServerThatUsesAllItsCores(t *testing.T) {
	s := server{busy: 0.2, none: 0.02, flight: 4, batch: 1, work: 0.7, cores: 0.95, line: "/app/server.py:41 clean"}
	for allowed, want := range map[int]string{1: "give it another one", 8: "asyncio.to_thread"} {
		run := s.record()
		run.Facts.Machine = recording.Machine{CPUs: 8, Allowed: allowed}
		plan := advise.Rank(run, judge.Judge(run))
		if len(plan.Fixes) != 1 || !strings.Contains(plan.Fixes[0].Title, want) {
			t.Errorf("of %d cores: it advises %+v, expected %s", allowed, plan.Fixes, want)
		}
	}
}

// A server whose threads want a core that other programs have is not told to do less for its requests.
func TestAServerWithoutCores(t *testing.T) {
	for name, c := range map[string]struct {
		busy, wants float64
		want        diagnose.Class
	}{
		"its work is a wait":         {0.6, 4, diagnose.Neighbour},
		"the device works longer":    {0.84, 1, diagnose.GPUBound},
		"it gets the core it wants":  {0.6, 0.1, diagnose.ServerHost},
		"much of it is work as well": {0.5, 0.2, diagnose.ServerHost},
	} {
		run := server{busy: c.busy, none: 0, flight: 4, batch: 4, work: 1 - c.busy, cores: 0.1, line: "/app/server.py:41 clean"}.record()
		run.Series = append(run.Series, gauge(recording.ProcessWants, "process/7", c.wants))
		run.Facts.Machine = recording.Machine{CPUs: 2, Allowed: 2}
		for i, s := range run.Series {
			if s.Signal == recording.MachineCPU {
				run.Series[i] = counter(s.Signal, s.Subject, 2)
			}
		}
		v := judge.Judge(run)
		if fixes := advise.Rank(run, v).Fixes; v.Class != c.want || (v.Class == diagnose.ServerHost) != (len(fixes) > 0) {
			t.Errorf("%s: %s, %+v; scores %v, parts %+v", name, v.Class, fixes, v.Scores[:3], v.Measured.Parts)
		}
	}
}

// Many reads of the device end what would be compiled, and each pass of a server reads its answer once.
func TestAPassThatReadsManyValues(t *testing.T) {
	for name, c := range map[string]struct {
		launches, reads float64
		want            []string
	}{
		"a read each":          {1800, 1800, []string{diagnose.FindingManyReads}},
		"many launches beside": {384, 25, []string{diagnose.FindingManyReads, "compile"}},
		"launches alone":       {400, 1, []string{"compile"}},
	} {
		run := server{busy: 0.2, none: 0, flight: 1, batch: 1, cores: 0.9}.record()
		for i := range run.Steps {
			run.Steps[i].Ran = 0.095
			run.Steps[i].Inside = &recording.Inside{
				Span: 0.1, Launches: &c.launches, LaunchTime: new(0.05), Syncs: &c.reads, SyncTime: new(0.04),
			}
		}
		v := judge.Judge(run)
		var got []string
		for _, f := range advise.Rank(run, v).Fixes {
			got = append(got, f.Name)
		}
		if v.Class != diagnose.LaunchBound || strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %s, %q, expected %q", name, v.Class, got, c.want)
		}
		for _, f := range v.Findings {
			if f.Name == diagnose.FindingHiddenSync || f.Name == diagnose.FindingHangs {
				t.Errorf("%s: %s", name, f.Text)
			}
		}
	}
}

// A request whose parts of one tensor go through the model one by one waits for passes that are too small.
func TestPassesOverPartsOfATensor(t *testing.T) {
	run := server{busy: 0.95, none: 0.01, flight: 2, batch: 1, cores: 0.3}.record()
	run.Series = append(run.Series, counter(recording.Pieces, "process/7", 150))
	v := judge.Judge(run)
	fixes := advise.Rank(run, v).Fixes
	if v.Class != diagnose.BatchTooSmall || len(fixes) != 1 || !strings.Contains(fixes[0].Title, "torch.stack") {
		t.Errorf("it is %s by %v, and advised %+v", v.Class, v.Scores[:3], fixes)
	}
}

// Fewer passes save what the host does for each, too: transformers serve answers five times as many of six clients with
// --continuous-batching, where the device was busy 85 % of the time.
func TestTheBoundOfFewerPasses(t *testing.T) {
	run := server{busy: 0.85, flight: 6, batch: 1, cores: 0.3}.record()
	fixes := advise.Rank(run, judge.Judge(run)).Fixes
	if len(fixes) == 0 || fixes[0].Name != string(diagnose.BatchTooSmall) || !(fixes[0].Forecast.Speedup.High > 5) {
		t.Errorf("%+v", fixes)
	}
}

// A worker of a queue counts no requests. If it seldom waits for a job and gives the model one at a time, others wait.
func TestAWorkerOfAQueue(t *testing.T) {
	take := "/app/worker.py:37 take;redis/commands/core.py:3098 ListCommands.blpop"
	for name, c := range map[string]struct {
		busy, batch, waits float64
		line               string
		small              bool
	}{
		"one job a pass, always there":      {0.95, 1, 0.03, take, true},
		"on a crowded machine":              {0.77, 1, 0.11, take, true},
		"as many as a pass takes":           {0.95, 16, 0.03, take, false},
		"jobs come seldom":                  {0.45, 1, 0.5, take, false},
		"inputs that come over no network":  {0.95, 1, 0.03, "/app/worker.py:37 take", false},
		"results are sent, one after other": {0.95, 1, 0.03, "/app/worker.py:37 tell;requests/api.py:106 post", false},
	} {
		run := server{busy: c.busy, batch: c.batch, held: c.waits, line: c.line, cores: 0.2}.record()
		run.Series = slices.DeleteFunc(run.Series, func(s recording.Series) bool {
			return strings.HasPrefix(string(s.Signal), "requests.")
		})
		run.Series = append(run.Series, counter(recording.FetchStack,
			"process/7;loop;asleep;/app/worker.py:60 run;torch/cuda/__init__.py:1083 synchronize", 1-c.waits))
		v := judge.Judge(run)
		if small := v.Headline() == diagnose.BatchTooSmall; small != c.small {
			t.Errorf("%s: %s", name, v.Headline())
		}
		if plan := advise.Rank(run, v); c.small && (len(plan.Fixes) > 0 || !strings.Contains(v.Do(), "take them at once")) {
			t.Errorf("%s: %s, plan %v", name, v.Do(), plan.Fixes)
		}
	}
}
