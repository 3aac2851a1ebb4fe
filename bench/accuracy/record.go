package main

import (
	"fmt"
	"math"
	"os"
	"sort"

	"github.com/stoker-dev/stoker"
	"github.com/stoker-dev/stoker/recording"
)

// sights are those of the exam, the best first.
var sights = []sight{
	{"all signals", true, true, true, true},
	{"launches not counted", true, false, true, true},
	{"without GPM and power", true, false, false, true},
	{"without the hook", false, false, true, true},
	{"GPU-Util alone", false, false, false, false},
}

// observer writes the signals of a job that a sight shows.
type observer struct {
	*recording.Writer
	sight
	played
	d     dice
	facts recording.Facts
}

const firstPID = 100

// record writes a job's recording and reads it again.
func record(p played, s sight, d dice, path string) (*recording.Run, error) {
	defer func() { _ = os.Remove(path) }()
	if err := writeRecording(p, s, d, path); err != nil {
		return nil, err
	}
	return recording.Open(path)
}

// writeRecording writes a job's recording.
func writeRecording(p played, s sight, d dice, path string) error {
	w, err := recording.Create(path, recording.Facts{})
	if err != nil {
		return err
	}
	o := &observer{Writer: w, sight: s, played: p, d: d, facts: p.machineFacts()}
	if !s.hook {
		o.facts.Model, o.facts.Absent = nil, []recording.Absence{
			{What: "hook", Why: "the exam leaves it out"},
			{What: "steps", Why: "the exam leaves the hook out"},
		}
	}
	for rank := range p.ranks {
		o.writeDevice(rank)
		if s.host {
			o.writeProcess(rank)
		}
		if s.hook && p.training {
			o.writeInside(rank)
		}
	}
	if s.host {
		o.surroundings()
	}
	w.SetFacts(o.facts)
	return w.Close()
}

// machineFacts are the facts of the machine and its devices.
func (p played) machineFacts() recording.Facts {
	f := recording.Facts{
		Machine: recording.Machine{
			CPUs: int(p.cores), Allowed: int(p.cores), Quota: p.quota, MemoryBytes: new(256e9), ShmBytes: new(64e9),
			NetSpeed: map[string]float64{"net/eth0": 12.5e9},
		},
		Software: recording.Software{Torch: "2.15.0", Python: "3.12"},
	}
	for rank := range p.ranks {
		f.GPUs = append(f.GPUs, recording.GPU{
			Index: rank, Name: "NVIDIA A100-SXM4-80GB", MemoryBytes: new(80e9), PowerLimit: new(400.0),
			MaxClock: new(1410.0),
			LinkGen:  4, LinkWidth: 16,
		})
	}
	if p.training {
		f.Model = &recording.ModelFacts{Device: "cuda:0", DType: "float32", Steps: len(p.steps)}
	}
	if p.onCPU {
		f.Model.Device = "cpu"
	}
	if p.remote > 0 && p.mount {
		f.Mounts = []recording.Mount{
			{Point: "/data", Kind: "nfs4", Remote: true, Seen: 40},
			{Point: "/", Kind: "ext4", Disk: "disk/sda", Seen: 2},
		}
	}
	return f
}

// busyShare is the share of [from, to] in which kernels ran.
func (p *played) busyShare(from, to float64) float64 {
	i := sort.Search(len(p.steps), func(i int) bool { return p.steps[i].busyTo > from })
	busy := 0.0
	for ; i < len(p.steps) && p.steps[i].busyFrom < to; i++ {
		s := p.steps[i]
		within := math.Max(0, math.Min(to, s.busyTo)-math.Max(from, s.busyFrom))
		busy += within * math.Min(1, s.busy/(s.busyTo-s.busyFrom))
	}
	return math.Min(1, busy/(to-from))
}

// copiedShare is the share of [from, to] in which the device copied.
func (p *played) copiedShare(from, to float64) float64 {
	i := sort.Search(len(p.steps), func(i int) bool { return p.steps[i].copiedTo > from })
	copied := 0.0
	for ; i < len(p.steps) && p.steps[i].copiedTo-p.steps[i].copying < to; i++ {
		s := p.steps[i]
		copied += math.Max(0, math.Min(to, s.copiedTo)-math.Max(from, s.copiedTo-s.copying))
	}
	return copied / (to - from)
}

// writeDevice writes the driver's figures of a rank's device.
func (o *observer) writeDevice(rank int) {
	subject := fmt.Sprintf("gpu/%d", rank)
	own, waits := o.effortOf(rank)
	for at := 0.25; at < lasting; at += 0.25 {
		kernels := o.busyShare(at-0.25, at)
		util := kernels
		if !o.pageable { // utilisation counts copy engines, which are idle while the CPU stages pageable memory
			util = math.Min(1, kernels+o.copiedShare(at-0.25, at))
		}
		if !o.training || o.onCPU {
			kernels, util = 0, 0
		}
		o.AddSample(recording.GPUUtilisation, subject, at, math.Round(100*util)/100)
		if !o.effort {
			continue
		}
		active := kernels * (own*o.fill + waits*0.05)
		o.AddSample(recording.GPUActive, subject, at, math.Min(1, active*o.d.drawBetween(0.95, 1.05)))
		o.AddSample(recording.GPUKernels, subject, at, kernels)
		o.AddSample(recording.GPULinkIn, subject, at, o.batchBytes()/o.period)
		o.AddSample(recording.GPUPower, subject, at, 60+300*active+40*util)
	}
	for at := 0.0; at < lasting; at++ {
		if !o.host {
			return
		}
		o.AddSample(recording.GPUMemory, subject, at, 30e9)
		o.AddSample(recording.GPUClock, subject, at, 1410*o.clock)
		slowed := recording.Slowed(0)
		if o.clock < 1 {
			slowed = recording.ByHeat
		}
		o.AddSample(recording.GPUSlowed, subject, at, float64(slowed))
		o.AddSample(recording.GPUOthers, subject, at, o.foreign)
		o.AddSample(recording.GPUStrangers, subject, at, math.Ceil(o.foreign))
	}
}

// effortOf returns the parts of a rank's kernel time that compute and that wait for others.
func (o *observer) effortOf(rank int) (own, waits float64) {
	own = o.device0(rank) / (o.device*o.late/o.clock/(1-o.foreign) + o.exchange)
	return own, 1 - own
}

// device0 is a rank's own compute time. The last rank is the late one.
func (o *observer) device0(rank int) float64 {
	if rank == o.ranks-1 {
		return o.device * o.late
	}
	return o.device
}

// writeProcess writes a rank's threads and processes.
func (o *observer) writeProcess(rank int) {
	trainer := firstPID * (rank + 1)
	p := recording.Process{
		PID: trainer, Role: recording.RoleTrainer, Rank: rank, Device: rank, LaunchThread: trainer,
		LauncherSeen: o.hook, Hooked: o.hook,
	}
	if o.ranks > 1 {
		p.World = o.ranks
	}
	if !o.training {
		p.Device = -1
	}
	o.facts.Processes = append(o.facts.Processes, p)
	loop := o.loop
	if o.onCPU {
		loop = thread{{until: lasting, state: recording.Running, onCore: 1}}
	}
	if !o.training {
		loop = nil
		for at := 0.0; at < lasting; at += 2 { // it works, and then waits
			loop.addTime(at+1.2, recording.Running, 1, 0)
			loop.addTime(at+2, recording.Asleep, 0, 0)
		}
	}
	core := o.writeThread(trainer, loop)
	o.counted(trainer, core, 0, 1)
	if !o.training {
		return
	}
	if !o.onCPU {
		o.writeLooks(trainer)
	}
	for i, t := range o.workers {
		pid := trainer + 1 + i
		o.facts.Processes = append(o.facts.Processes, recording.Process{
			PID: pid, Parent: trainer,
			Role: recording.RoleWorker, Device: -1, LaunchThread: pid, Hooked: o.hook,
		})
		o.counted(pid, o.writeThread(pid, t), i, len(o.workers))
	}
	if o.hook {
		o.facts.Loaders = append(o.facts.Loaders, recording.Loader{
			ID: 1, PID: trainer, BatchBytes: o.batchBytes(), BatchDType: "float32", Pinned: new(!o.pageable),
			Samples: 1e6,
			Settings: stoker.Settings{
				stoker.NumWorkers: len(o.workers), stoker.BatchSize: 64,
				stoker.PinMemory: !o.pageable,
			},
		})
	}
}

// batchBytes returns the bytes that take that long to copy at the link's usual rate.
func (o *observer) batchBytes() float64 {
	if o.pageable {
		return o.copying * 10e9
	}
	return o.copying * 25e9
}

// writeThread writes a thread's states and counters, and returns its core time.
func (o *observer) writeThread(pid int, t thread) float64 {
	subject := fmt.Sprintf("thread/%d", pid)
	core, queued, last, i := 0.0, 0.0, 0.0, 0
	for at := 0.1; at < lasting; at += 0.1 {
		for i < len(t)-1 && t[i].until <= at {
			core, queued, last = core+(t[i].until-last)*t[i].onCore, queued+(t[i].until-last)*t[i].queued, t[i].until
			i++
		}
		state, extra, waits := recording.Parked, 0.0, 0.0
		if i < len(t) {
			state = t[i].state
			part := math.Max(0, math.Min(at, t[i].until)-last)
			extra, waits = part*t[i].onCore, part*t[i].queued
		}
		o.AddSample(recording.ThreadState, subject, at, float64(state))
		o.AddSample(recording.ThreadCPU, subject, at, core+extra)
		o.AddSample(recording.ThreadQueue, subject, at, queued+waits+0.003*at)
	}
	return core
}

// looksEach is how often a thread is sampled in a second.
const looksEach = 20

// writeLooks writes how often a training loop was sampled within a fetch and outside.
func (o *observer) writeLooks(trainer int) {
	for at := 0.0; at < lasting; at += 5 {
		within := 0.0
		for _, s := range o.steps {
			if len(o.workers) == 0 && s.ask < at {
				within += min(s.got, at) - s.ask
			}
		}
		loading, outside := recording.Loading{PID: trainer}, recording.Loading{PID: trainer, Outside: true}
		o.AddSample(recording.FetchLooks, loading.String(), at, math.Round(looksEach*within))
		o.AddSample(recording.FetchLooks, outside.String(), at, math.Round(looksEach*(at-within)))
	}
}

// counted writes a process's counters: every worker has its part of the batches.
func (o *observer) counted(pid int, core float64, part, of int) {
	subject := fmt.Sprintf("process/%d", pid)
	fetches := part > 0 || of > 1 || len(o.workers) == 0 || pid%firstPID != 0
	var count, wall, on, squares float64
	at := 0.0
	for i, s := range o.steps {
		for at < s.got {
			o.writeCounts(subject, at, core, count, wall, on, squares, fetches)
			at++
		}
		if fetches && i%of == part {
			count, wall, on, squares = count+1, wall+s.fetch, on+s.fetchCore, squares+s.fetch*s.fetch
		}
	}
}

func (o *observer) writeCounts(subject string, at, core, count, wall, on, squares float64, fetches bool) {
	share := at / lasting
	o.AddSample(recording.ProcessCPU, subject, at, core*share)
	o.AddSample(recording.ProcessMemory, subject, at, 2e9)
	if !fetches {
		return
	}
	read, stored := count*o.diskBytes, count*o.diskBytes
	if o.remote > 0 || o.disk+o.faults == 0 {
		stored = 0
	}
	o.AddSample(recording.ProcessRead, subject, at, read)
	o.AddSample(recording.ProcessDisk, subject, at, stored)
	if o.faults > 0 {
		o.AddSample(recording.ProcessFaults, subject, at, count*o.diskBytes/4096)
	}
	if o.hook {
		o.AddSample(recording.FetchCount, subject, at, count)
		o.AddSample(recording.FetchWall, subject, at, wall)
		o.AddSample(recording.FetchCPU, subject, at, on)
		o.AddSample(recording.FetchWallSquares, subject, at, squares)
		o.AddSample(recording.FetchSamples, subject, at, 64*count)
	}
}

// writeInside writes the hook's figures of a rank's steps.
func (o *observer) writeInside(rank int) {
	pid := firstPID * (rank + 1)
	wait := o.device*o.late + o.exchange - o.device0(rank)
	for n, s := range o.steps {
		period := s.next - s.ask
		o.AddStep(recording.Step{
			PID: pid, Rank: rank, Device: rank, Loader: 1, N: n, Start: s.ask, Period: period, Wait: s.got - s.ask,
			Samples: 64,
			First:   n == 0, Phase: recording.Train, Idle: math.NaN(), DevicePeriod: math.NaN(), Optimized: 1,
		})
		if o.onCPU {
			continue
		}
		o.AddClock(recording.DeviceClock{PID: pid, Loader: 1, N: n, Device: rank, Idle: s.idle, Period: period})
		if n%5 != 0 {
			continue
		}
		in := recording.Inside{
			Clock: "cuda", Span: period, Input: math.Min(s.idle, period),
			Copy: math.Min(s.copying, period-math.Min(s.idle, period)),
		}
		if o.ranks > 1 && o.ownCalls {
			in.Exchange = math.Max(0, math.Min(wait, period-in.Input-in.Copy))
		}
		in.Copies, in.CopyBytes = new(1.0), new(o.batchBytes())
		if o.pageable {
			in.Pageable = new(o.batchBytes())
		}
		if o.launches {
			in.Launches, in.LaunchTime = new(o.played.launches), new(o.launch)
		}
		if o.sync {
			in.Syncs, in.SyncTime = new(1.0), new(math.Max(0, s.next-s.got-(o.played.host+o.launch)*o.slow))
		}
		o.AddInside(pid, 1, n, in)
	}
}

// surroundings writes the figures of the machine.
func (o *observer) surroundings() {
	rate := o.rate()
	ranks := float64(o.ranks)
	own := math.Min(ranks*(o.core+o.played.host+o.launch)*rate+ranks*o.spinning(), o.cores)
	if o.onCPU {
		own = 0.8 * o.cores
	}
	neighbours := math.Min(o.others, math.Max(0.1, o.cores-own))
	bytes := ranks * o.diskBytes * rate
	for at := 0.0; at <= lasting; at++ {
		o.AddSample(recording.TreeCPU, "tree", at, own*at)
		o.AddSample(recording.TreeMemory, "tree", at, 10e9)
		o.AddSample(recording.MachineCPU, "machine", at, (own+neighbours)*at)
		o.AddSample(recording.MachineShm, "machine", at, 60e9)
		held := 0.0
		if o.quota > 0 {
			held = 1 - 1/o.slow
		}
		o.AddSample(recording.Throttled, "machine", at, held*at)
		memory, pressed := 150e9, 0.0
		if o.faults > 0 {
			memory, pressed = 300e6, math.Min(0.9, 0.8*o.diskBusy)
		}
		o.AddSample(recording.MachineMemory, "machine", at, memory)
		o.AddSample(recording.PressureMemory, "machine", at, pressed*at)
		o.AddSample(recording.PressureIO, "machine", at, 0.9*o.diskBusy*at)
		o.AddSample(recording.PressureCPU, "machine", at, (1-1/o.slow)*at)
		if o.remote > 0 {
			o.AddSample(recording.NetReceived, "net/eth0", at, bytes*at)
			o.AddSample(recording.NetSent, "net/eth0", at, bytes/50*at)
		} else if o.ranks > 1 {
			sent := 0.9 * 12.5e9 * math.Min(1, (o.exchange*o.hidden+o.covered)*rate)
			o.AddSample(recording.NetReceived, "net/eth0", at, sent*at)
			o.AddSample(recording.NetSent, "net/eth0", at, sent*at)
		}
		disk := bytes
		if o.disk+o.faults == 0 {
			disk = 1e5
		}
		o.AddSample(recording.DiskBusy, "disk/sda", at, math.Min(1, o.diskBusy+0.01)*at)
		o.AddSample(recording.DiskRead, "disk/sda", at, disk*at)
		o.AddSample(recording.DiskReads, "disk/sda", at, disk/o.requestBytes*at)
		o.AddSample(recording.DiskFlight, "disk/sda", at, o.diskBusy*2*at)
	}
}

// spinning is the share of the time that the launching thread spins for the device.
func (o *observer) spinning() float64 {
	if !o.sync || o.slow > 1 {
		return 0
	}
	on := 0.0
	last := 0.0
	for _, s := range o.loop {
		if s.state == recording.Running {
			on += (s.until - last) * s.onCore
		}
		last = s.until
	}
	fetch := 0.0
	if len(o.workers) == 0 {
		fetch = o.core
	}
	return math.Max(0, on/last-(o.played.host+o.launch+fetch)*o.rate())
}
