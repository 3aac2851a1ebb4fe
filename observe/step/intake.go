package step

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/internal/redact"
	"github.com/stoker-dev/stoker/internal/safe"
	"github.com/stoker-dev/stoker/recording"
)

// Limits on what a program can make us keep.
const (
	mostSlow   = 16 // slow fetches of the job
	maxLoaders = 256
	maxNotes   = 32
	maxUnclock = 4096 // steps that one word on a missing clock may reach back to
	maxSpan    = 1e7  // seconds; a longer wait or period is an error of the sender
	maxN       = math.MaxInt32
)

// Sink takes what comes in; a *recording.Writer is one.
type Sink interface {
	AddSample(signal recording.Signal, subject string, t, v float64)
	AddStep(s recording.Step)
	AddClock(c recording.DeviceClock)
	AddInside(pid, loader, n int, i recording.Inside)
}

// Process is what the hook said about one process.
type Process struct {
	PID, Parent  int
	Worker       bool
	Rank, World  int
	CUDA         int // index of the device that worked, as CUDA counts, -1 if unknown
	Emulated     bool
	LaunchThread int
	Launches     bool   // LaunchThread is known from optimizer steps or the device's clock
	Imports      string // the program's line that imported torch, "FILE:LINE"; "" unknown
	Blocking     bool   // CUDA_LAUNCH_BLOCKING is set
	Loads        bool   // it has a DataLoader
	Serves       bool   // it takes requests
	Engine       bool   // it chooses the requests of each pass, which may run in another process
	Passes       bool   // a model runs in it, or a loop
	Runners      []int  // threads that ran a model lately, newest last
	Awaits       []Await
	Packets      int
}

// Intake turns packets into a recording. It is used by one goroutine at a time.
type Intake struct {
	base      int64 // CLOCK_MONOTONIC at t = 0, ns
	to        Sink
	device    func(pid, cuda int) int
	procs     map[int]*Process
	loaders   []recording.Loader
	unclock   map[loaderKey]*unclocked
	last      map[loaderKey]int
	fetches   map[int]fetchTotals    // not written yet
	feeds     map[int]fetchTotals    // not written yet, of stoker's loader
	nodes     map[string]fetchTotals // not written yet, of nodes of a Ray cluster, by their subject
	toldNodes map[string]bool
	serves    map[int]*served // the newest word on its requests
	software  recording.Software
	model     *recording.ModelFacts
	notes     []string
	draws     bool     // it was looked whether fetches draw random numbers
	drew      []string // from which generators they did
	slow      []recording.SlowFetch
	pools     map[string]int // threads of libraries in workers
	heard     bool           // some process answered
	raised    []Raised

	dropped, malformed int64
}

type loaderKey struct{ pid, loader int }

// unclocked says from which step on a loader has no device clock, and why.
type unclocked struct {
	from   int
	reason string
}

// NewIntake begins a recording whose t = 0 is base on CLOCK_MONOTONIC, in ns.
// device translates a device number of CUDA in a process into the index of the
// GPU, which differ under CUDA_VISIBLE_DEVICES; nil keeps it.
func NewIntake(base int64, to Sink, device func(pid, cuda int) int) *Intake {
	if device == nil {
		device = func(_, cuda int) int { return cuda }
	}
	return &Intake{
		base: base, to: to, device: device, procs: map[int]*Process{},
		unclock: map[loaderKey]*unclocked{}, fetches: map[int]fetchTotals{}, feeds: map[int]fetchTotals{},
		nodes: map[string]fetchTotals{}, toldNodes: map[string]bool{}, serves: map[int]*served{},
		last: map[loaderKey]int{},
	}
}

// Take adds one packet; now is in seconds of the recording. Malformed parts are
// counted and left out.
func (in *Intake) Take(p Packet, now float64) {
	m, err := decode(p.Data)
	if err != nil {
		in.malformed++
		return
	}
	in.malformed += int64(m.Malformed)
	in.dropped += min(m.Dropped, math.MaxInt32)
	if len(m.Records) > 0 && m.Records[0].K == "raised" && in.procs[p.PID] == nil { // nothing is watched in it
		in.addRaised(p.PID, &m.Records[0])
		return
	}
	process := in.processOf(p.PID)
	process.Packets++
	for i := range m.Records {
		if !in.record(process, m.PID, &m.Records[i], now) {
			in.malformed++
		}
	}
	if m.Dropped > 0 || in.malformed > 0 {
		in.to.AddSample(recording.HookDropped, "hook", now, float64(in.dropped+in.malformed))
	}
}

// Processes returns the processes that were heard, in order of PID.
func (in *Intake) Processes() []Process {
	all := make([]Process, 0, len(in.procs))
	for _, p := range in.procs {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
	return all
}

// FindProcess returns what was heard of one process; nil if nothing was.
func (in *Intake) FindProcess(pid int) *Process { return in.procs[pid] }

// Heard reports whether any process answered.
func (in *Intake) Heard() bool { return in.heard }

// Forget drops the state of a process that has ended, except its loaders: a job of weeks may
// start a million processes.
func (in *Intake) Forget(pid int) {
	delete(in.procs, pid)
	delete(in.serves, pid)
	for key := range in.last {
		if key.pid == pid {
			delete(in.last, key)
			delete(in.unclock, key)
		}
	}
}

// Dropped returns how many records were lost on the way or left out as malformed.
func (in *Intake) Dropped() int { return int(in.dropped + in.malformed) }

// Facts writes what the hook found into the facts, except the driver's versions.
func (in *Intake) Facts(f *recording.Facts) {
	f.Loaders = slices.Clone(in.loaders)
	for i := range f.Loaders {
		f.Loaders[i].Settings = f.Loaders[i].Settings.With()
	}
	f.Model = in.model
	f.Slow = slices.Clone(in.slow)
	f.WorkerThreads = maps.Clone(in.pools)
	if in.draws {
		f.Draws = &recording.Draws{From: slices.Clone(in.drew)}
	}
	if in.model != nil {
		model := *in.model
		f.Model = &model
	}
	f.Software.Python, f.Software.Torch, f.Software.TorchVision, f.Software.Framework =
		in.software.Python, in.software.Torch, in.software.TorchVision, in.software.Framework
	if f.Software.CUDA == "" {
		f.Software.CUDA = in.software.CUDA
	}
	if in.software.Server != "" {
		f.Software.Server = in.software.Server
	}
}

// Notes returns the warnings of the hook, each once.
func (in *Intake) Notes() []string { return slices.Clone(in.notes) }

func (in *Intake) processOf(pid int) *Process {
	p := in.procs[pid]
	if p == nil {
		p = &Process{PID: pid, CUDA: -1}
		in.procs[pid], in.heard = p, true
	}
	return p
}

// record adds one record; false if it makes no sense.
func (in *Intake) record(p *Process, own int, r *hookRecord, now float64) bool {
	switch r.K {
	case "hello":
		return in.hello(p, own, r)
	case "loader":
		return in.addLoader(p, r)
	case "step":
		return in.addStep(p, own, r, now)
	case "clock":
		return in.addClock(p, own, r)
	case "inside":
		return in.addInside(p, r)
	case "batch":
		return in.addBatch(p, r, now)
	case "changes":
		return in.noteChanges(p, r)
	case "fetch":
		return in.fetch(p, r, now)
	case "slow":
		return in.addSlow(p, r)
	case "threads":
		return in.addThreads(p, r)
	case "feed":
		return in.feed(p, r, now)
	case "serve":
		return in.serve(p, r)
	case "engine":
		return in.addEngine(p, r, now)
	case "request":
		return in.addRequest(p, r, now)
	case "await":
		return in.addAwait(p, r)
	case "remote":
		return in.addNode(p, r, now)
	case "garbage":
		return in.addGarbage(p, r, now)
	case "memory":
		return in.addMemory(p, r, now)
	case "precision":
		return in.notePrecision(p, r)
	case "optim":
		return in.optim(p, own, r)
	case "raised":
		in.addRaised(p.PID, r)
	case "warn":
		in.note(fmt.Sprintf("hook in process %d: %s", p.PID, r.Text))
	}
	return true // iter needs no separate place; other kinds come from a newer hook
}

func (in *Intake) hello(p *Process, own int, r *hookRecord) bool {
	if r.Role != "main" && r.Role != "worker" {
		return false
	}
	p.Worker, p.Parent = r.Role == "worker", r.PPID
	p.LaunchThread = p.PID // r.TID is a number of the process's own namespace
	if own == p.PID && r.TID > 0 {
		p.LaunchThread = r.TID
	}
	p.Blocking = r.Blocking
	if r.ImportFile != "" && r.ImportLine > 0 {
		p.Imports = fmt.Sprintf("%s:%d", r.ImportFile, r.ImportLine)
	}
	if r.Rank != nil && *r.Rank >= 0 {
		p.Rank = *r.Rank
	}
	if r.World != nil && *r.World > 0 {
		p.World = *r.World
	}
	if !p.Worker || in.software.Python == "" {
		in.software.Python = r.Python
		in.software.Torch, in.software.CUDA, in.software.TorchVision = r.Torch, r.CUDA, r.TorchVision
		in.software.Framework = r.Framework
	}
	return true
}

func (in *Intake) addLoader(p *Process, r *hookRecord) bool {
	if r.Loader < 0 || r.Loader > maxN {
		return false
	}
	p.Loads = true
	l := in.find(p.PID, r.Loader)
	if l == nil {
		if len(in.loaders) >= maxLoaders && !in.forgetLoader() {
			return true
		}
		in.loaders = append(in.loaders, recording.Loader{ID: r.Loader, PID: p.PID})
		l = &in.loaders[len(in.loaders)-1]
	}
	if l.Settings == nil {
		l.Settings = stoker.Settings{}
	}
	if r.Kind == stoker.StokerLoader {
		l.Settings[stoker.LoaderKind] = stoker.StokerLoader
	} else {
		l.Kind = r.Kind
	}
	set(l.Settings, stoker.OnDevice, r.OnDevice)
	set(l.Settings, stoker.NumWorkers, r.NumWorkers)
	set(l.Settings, stoker.PrefetchFactor, r.PrefetchFactor)
	set(l.Settings, stoker.PinMemory, r.PinMemory)
	set(l.Settings, stoker.PersistentWorkers, r.PersistentWorkers)
	set(l.Settings, stoker.InOrder, r.InOrder)
	set(l.Settings, stoker.BatchSize, r.BatchSize)
	l.Dataset, l.Iterable, l.Start = r.Dataset, r.Iterable, r.StartMethod
	l.Reader, l.Transforms, l.Own = r.Reader, r.Transforms, r.Own
	l.Split, l.Generators = recording.Split(r.Split), r.Generators
	l.DropLast = r.DropLast != nil && *r.DropLast
	if l.Shards = 0; r.Shards != nil && *r.Shards > 0 {
		l.Shards = *r.Shards
	}
	l.Anew = l.Anew || r.Anew
	if r.Length != nil && *r.Length > 0 {
		l.Samples = *r.Length
	}
	if r.File != "" {
		l.Where, l.Function = fmt.Sprintf("%s:%d", r.File, r.Line), r.Function
	}
	if r.CallFile != "" {
		l.Call = fmt.Sprintf("%s:%d", r.CallFile, r.CallLine)
	}
	return true
}

// forgetLoader makes room for another loader: the oldest of a process that has ended
// goes.
func (in *Intake) forgetLoader() bool {
	i := slices.IndexFunc(in.loaders, func(l recording.Loader) bool { return in.procs[l.PID] == nil })
	if i < 0 {
		return false
	}
	in.loaders = slices.Delete(in.loaders, i, i+1)
	return true
}

// set copies a setting that is known; PyTorch's None stays unknown.
func set[T any](s stoker.Settings, name stoker.Setting, value *T) {
	if value != nil {
		s[name] = *value
	}
}

func (in *Intake) find(pid, loader int) *recording.Loader {
	for i := len(in.loaders) - 1; i >= 0; i-- { // the newest, where a PID came twice
		if l := &in.loaders[i]; l.PID == pid && l.ID == loader {
			return l
		}
	}
	return nil
}

func (in *Intake) addStep(p *Process, own int, r *hookRecord, now float64) bool {
	start, wait, period := float64(r.T-in.base)/1e9, toDuration(r.W), toDuration(r.P)
	if r.N < 0 || r.N > maxN || r.Loader < recording.OwnLoop || r.Loader > maxN || r.Iter < 0 || r.Iter > maxN ||
		math.IsNaN(wait) || math.IsNaN(period) || start > now+1 || start < -maxSpan {
		return false
	}
	s := recording.Step{
		PID: p.PID, Rank: p.Rank, Device: in.deviceOf(p), Loader: r.Loader, N: r.N,
		Start: start, Period: period, Wait: wait, First: r.First, Phase: recording.Evaluate,
		Idle: math.NaN(), DevicePeriod: math.NaN(), Samples: math.NaN(), Pass: r.Iter, Optimized: math.NaN(),
		Ran: math.NaN(),
	}
	p.Passes = true
	if r.Ran != nil {
		s.Ran = toDuration(*r.Ran)
	}
	if r.P == 0 {
		s.Period = math.NaN()
	} else if r.O != nil && *r.O >= 0 && *r.O <= maxN {
		s.Optimized = float64(*r.O)
	}
	if r.B != nil && *r.B > 0 && *r.B <= maxN {
		s.Samples = float64(*r.B)
	}
	if r.Grad == nil || *r.Grad {
		s.Phase = recording.Train
	}
	if r.Loader == recording.OwnLoop {
		s.Wait = math.NaN()
		if r.Saved {
			s.Phase = recording.Checkpoint
		}
		if own == p.PID && r.TID > 0 && !math.IsNaN(s.Ran) {
			p.noteRunner(r.TID)
		}
		in.to.AddStep(s)
		return true
	}
	key := loaderKey{p.PID, r.Loader}
	if u := in.unclock[key]; u != nil && r.N >= u.from {
		s.NoClock = u.reason
	}
	in.last[key] = max(in.last[key], r.N)
	if !p.Launches && own == p.PID && r.TID > 0 && p.LaunchThread != r.TID && r.Grad != nil && *r.Grad {
		p.LaunchThread = r.TID // the asking thread is the best guess until launches are seen
	}
	p.Loads = true
	in.to.AddStep(s)
	return true
}

// toDuration returns a duration in seconds; NaN if it cannot be one.
func toDuration(ns int64) float64 {
	s := float64(ns) / 1e9
	if s < 0 || s > maxSpan {
		return math.NaN()
	}
	return s
}

// deviceOf returns the index of the device that a process works on, -1 if unknown.
func (in *Intake) deviceOf(p *Process) int {
	if p.CUDA < 0 {
		return -1
	}
	if p.Emulated {
		return p.CUDA
	}
	return in.device(p.PID, p.CUDA)
}

func (in *Intake) addClock(p *Process, own int, r *hookRecord) bool {
	if r.N < 0 || r.N > maxN || r.Loader < 0 || r.Loader > maxN {
		return false
	}
	key := loaderKey{p.PID, r.Loader}
	if r.X != "" {
		if own == p.PID && r.TID > 0 { // it asks for batches in another thread than the one that launches
			p.LaunchThread, p.Launches = r.TID, true
		}
		in.noClock(p, key, r)
		return true
	}
	idle, period := toDuration(r.I), toDuration(r.P)
	if math.IsNaN(idle) || math.IsNaN(period) {
		return false
	}
	if r.P == 0 {
		period = math.NaN()
	}
	if r.Dev != nil && *r.Dev >= 0 && *r.Dev < 1024 && *r.Dev != p.CUDA {
		p.CUDA = *r.Dev
	}
	p.Emulated = r.Src == "emulated"
	if !p.Launches && p.LaunchThread > 0 { // the hook reads a clock only where the asking thread launches
		p.Launches = true
	}
	if u := in.unclock[key]; u != nil && r.N >= u.from {
		delete(in.unclock, key)
	}
	in.to.AddClock(recording.DeviceClock{
		PID: p.PID, Loader: r.Loader, N: r.N, Device: in.deviceOf(p), Idle: idle, Period: period,
	})
	return true
}

// noClock notes why steps have no device clock: from this one on, until another
// clock record. Steps that were written before get it as well.
func (in *Intake) noClock(p *Process, key loaderKey, r *hookRecord) {
	from := r.N
	if u := in.unclock[key]; u != nil && u.reason == r.X {
		from = min(from, u.from)
		if from == u.from { // the same again, as once a second: nothing new
			return
		}
	}
	in.unclock[key] = &unclocked{from, r.X}
	last, any := in.last[key]
	if !any {
		return
	}
	for n := max(r.N, last-maxUnclock); n <= last; n++ {
		in.to.AddClock(recording.DeviceClock{
			PID: p.PID, Loader: r.Loader, N: n, Device: in.deviceOf(p),
			Idle: math.NaN(), Period: math.NaN(), NoClock: r.X,
		})
	}
}

// noteChanges notes that the program changes a loader's data set between epochs.
func (in *Intake) noteChanges(p *Process, r *hookRecord) bool {
	if l := in.find(p.PID, r.Loader); l != nil {
		l.Changes = true
	}
	return r.Loader >= 0
}

func (in *Intake) addBatch(p *Process, r *hookRecord, now float64) bool {
	l := in.find(p.PID, r.Loader)
	if l == nil || r.Bytes == nil || *r.Bytes < 0 {
		return l == nil // of a loader beyond the bound
	}
	l.BatchBytes = max(l.BatchBytes, *r.Bytes) // the last of an epoch may be smaller
	l.BatchDType = r.DType
	if r.Tensors != nil && *r.Tensors > 0 && *r.Tensors <= maxN {
		l.Tensors = *r.Tensors
	}
	if r.Objects != nil && *r.Objects > 0 && *r.Objects <= maxN {
		l.Objects = *r.Objects
	}
	l.Padding.Add(r.Padded)
	l.BatchDevice = cmp.Or(r.Device, l.BatchDevice)
	if r.Pinned != nil {
		pinned := *r.Pinned
		l.Pinned = &pinned
	}
	if r.Ended != nil && *r.Ended >= 0 && *r.Ended <= maxN {
		in.to.AddSample(recording.WorkersEnded, fmt.Sprintf("loader/%d/%d", p.PID, r.Loader), now, float64(*r.Ended))
	}
	return true
}

func (in *Intake) fetch(p *Process, r *hookRecord, now float64) bool {
	if r.Count < 0 || r.Wall < 0 || r.CPU < 0 || r.Collate < 0 || r.Wall2 < 0 {
		return false
	}
	in.fetches[p.PID] = fetchTotals{*r, now}
	if r.Looked > 0 {
		in.draws = true
	}
	for _, generator := range r.Drew {
		if len(in.drew) < maxNotes && !slices.Contains(in.drew, generator) {
			in.drew = append(in.drew, generator)
		}
	}
	return true
}

// addSlow keeps the slowest fetches of the job. A process sends its own again when one is slower.
func (in *Intake) addSlow(p *Process, r *hookRecord) bool {
	trainer := p.PID
	if p.Worker {
		trainer = p.Parent
	}
	in.slow = slices.DeleteFunc(in.slow, func(s recording.SlowFetch) bool { return s.By == p.PID })
	valid := true
	for _, f := range r.Fetches {
		if f.Wall <= 0 || len(f.Items) == 0 {
			valid = false
			continue
		}
		in.slow = append(in.slow, recording.SlowFetch{
			PID: trainer, By: p.PID, Seconds: float64(f.Wall) / 1e9, Items: f.Items,
		})
	}
	slices.SortStableFunc(in.slow, func(a, b recording.SlowFetch) int { return cmp.Compare(b.Seconds, a.Seconds) })
	in.slow = in.slow[:min(len(in.slow), mostSlow)]
	return valid
}

// mostPool is the largest number of threads that is believed of a library.
const mostPool = 4096

// addThreads keeps the most threads that a library computes with in any worker.
func (in *Intake) addThreads(p *Process, r *hookRecord) bool {
	valid := p.Worker
	for _, library := range []string{"torch", "opencv"} {
		n, told := r.Pools[library]
		if !told || !p.Worker {
			continue
		}
		if n < 0 || n > mostPool {
			valid = false
			continue
		}
		if in.pools == nil {
			in.pools = map[string]int{}
		}
		in.pools[library] = max(in.pools[library], n)
	}
	return valid
}

// fetchTotals is the newest word of a process on its fetches: the counters are
// cumulative, so the newest is all that is needed.
type fetchTotals struct {
	record hookRecord
	at     float64
}

// Flush writes the fetch counters that came since the last call; once a second
// is enough for counters, and keeps the recording small.
func (in *Intake) Flush(now float64) {
	in.flushServes(now)
	in.flushNodes()
	for pid, f := range in.fetches {
		subject, r := fmt.Sprintf("process/%d", pid), f.record
		in.to.AddSample(recording.FetchCount, subject, f.at, float64(r.Count))
		in.to.AddSample(recording.FetchWall, subject, f.at, float64(r.Wall)/1e9)
		in.to.AddSample(recording.FetchCPU, subject, f.at, float64(r.CPU)/1e9)
		in.to.AddSample(recording.FetchCollate, subject, f.at, float64(r.Collate)/1e9)
		in.to.AddSample(recording.FetchWallSquares, subject, f.at, r.Wall2)
		if r.Samples != nil {
			in.to.AddSample(recording.FetchSamples, subject, f.at, float64(*r.Samples))
		}
		delete(in.fetches, pid)
	}
	for pid, f := range in.feeds {
		subject, r := fmt.Sprintf("process/%d", pid), f.record
		in.to.AddSample(recording.FeedBatches, subject, f.at, float64(r.Count))
		in.to.AddSample(recording.FeedSamples, subject, f.at, float64(*r.Samples))
		in.to.AddSample(recording.FeedRead, subject, f.at, float64(r.Read)/1e9)
		in.to.AddSample(recording.FeedDecode, subject, f.at, float64(r.Decode)/1e9)
		in.to.AddSample(recording.FeedTransform, subject, f.at, float64(r.Transform)/1e9)
		delete(in.feeds, pid)
	}
}

// addGarbage writes the time of a process's collections of garbage.
func (in *Intake) addGarbage(p *Process, r *hookRecord, now float64) bool {
	if r.Count < 0 || r.Wall < 0 {
		return false
	}
	in.to.AddSample(recording.Garbage, fmt.Sprintf("process/%d", p.PID), now, float64(r.Wall)/1e9)
	return true
}

func (in *Intake) feed(p *Process, r *hookRecord, now float64) bool {
	if r.Count < 0 || r.Read < 0 || r.Decode < 0 || r.Transform < 0 || r.Samples == nil || *r.Samples < 0 {
		return false
	}
	in.feeds[p.PID] = fetchTotals{*r, now}
	return true
}

func (in *Intake) addMemory(p *Process, r *hookRecord, now float64) bool {
	if r.Dev == nil || *r.Dev < 0 || *r.Dev >= 1024 {
		return false
	}
	subject := fmt.Sprintf("gpu/%d", in.device(p.PID, *r.Dev))
	if r.Allocated != nil {
		in.to.AddSample(recording.PeakAllocated, subject, now, *r.Allocated)
	}
	if r.Reserved != nil {
		in.to.AddSample(recording.PeakReserved, subject, now, *r.Reserved)
	}
	if r.Asked != nil && *r.Asked >= 0 {
		in.to.AddSample(recording.DriverMemory, subject, now, *r.Asked)
	}
	return true
}

// note keeps a sentence of the hook. It may quote errors of other software, with the names of
// files that these tried to open.
func (in *Intake) note(text string) {
	text = safe.Text(redact.Text(text), maxText)
	if len(in.notes) < maxNotes && !slices.Contains(in.notes, text) {
		in.notes = append(in.notes, text)
	}
}
