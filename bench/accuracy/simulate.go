package main

import (
	"math"

	"github.com/stoker-dev/stoker/recording"
)

// job describes a training job for the simulator. Times are seconds per step and rank.
type job struct {
	ranks, workers, ahead int
	cores, quota, others  float64 // cores of the machine, of the control group (0: none), that neighbours want

	core, asleep, remote float64 // of a fetch: on a core, asleep, in answers of a server
	disk, diskBytes      float64 // of a fetch: time of the one disk, and bytes from it
	requestBytes         float64 // of one request to it
	faults               float64 // of a fetch: pages that memory did not hold, on the disk as well

	host             float64 // the loop's own code between launches
	launches, launch float64 // how many, and the host's time for all of them
	device, copying  float64
	pageable, sync   bool
	blocking         bool    // the loop blocks on its copies
	exchange, late   float64 // between ranks; how many times as long one rank computes
	clock, foreign   float64 // share of the highest clock; share of the device that others use

	onCPU, training bool

	// Properties that are no bottleneck but change the signals: how much of the device kernels
	// fill, whether the program calls collectives itself, how much of the exchange is hidden behind
	// kernels, and whether a file server is visible as a mount.
	fill, hidden    float64
	covered         float64 // of a step: an exchange that kernels hide whole
	ownCalls, mount bool
}

// spell is a stretch of a thread's time.
type spell struct {
	until  float64
	state  recording.State
	onCore float64 // share of it on a core
	queued float64 // share of it waiting for one
}

// thread is what a thread did, in order.
type thread []spell

func (t *thread) addTime(until float64, state recording.State, onCore, queued float64) {
	if n := len(*t); n > 0 && until <= (*t)[n-1].until {
		return
	}
	*t = append(*t, spell{until, state, onCore, queued})
}

// step is one iteration of the loop.
type step struct {
	ask, got, next         float64 // the host asks, has the batch, asks again
	idle, copying          float64 // on the device
	copiedTo               float64
	busyFrom, busyTo, busy float64 // its kernels
	fetch, fetchCore       float64 // of this batch, in whoever fetched it
}

// played is a job that ran.
type played struct {
	job
	steps    []step
	loop     thread
	workers  []thread
	slow     float64 // how much longer work on a core takes, for lack of cores
	diskBusy float64 // share
	period   float64 // of a step in the steady half
}

// lasting is how long a job plays, seconds.
const lasting = 40.0

// playJob finds how much longer work on a core takes where cores are short, and plays the job.
func playJob(j job) played {
	low, high := 1.0, 1.0
	p := playAt(j, 1)
	for j.usesTooMuch(p) && high < 64 {
		low, high = high, high*2
		p = playAt(j, high)
	}
	for range 8 {
		if high == low {
			break
		}
		middle := (low + high) / 2
		if p = playAt(j, middle); j.usesTooMuch(p) {
			low = middle
		} else {
			high = middle
		}
	}
	return p
}

// usesTooMuch reports whether a job used more core time than its neighbours leave it.
func (j job) usesTooMuch(p played) bool {
	threads := float64(max(1, j.workers)) * float64(j.ranks)
	can := math.Max(j.cores-j.others, j.cores*threads/(threads+j.others))
	if j.quota > 0 {
		can = math.Min(can, j.quota)
	}
	return float64(j.ranks)*(j.core+j.host+j.launch)/p.period > can
}

// playAt plays a job whose work on a core takes slow times as long.
func playAt(j job, slow float64) played {
	p := played{job: j, slow: slow, workers: make([]thread, j.workers)}
	server := server{each: (j.disk + j.faults) * float64(j.ranks)}
	workerFree := make([]float64, j.workers)
	var returned []float64
	device, host := 0.0, 0.0
	for i := 0; host < lasting && i < 20000; i++ {
		s := step{ask: host}
		if j.workers == 0 {
			s.got = p.fetch(&p.loop, host, &server)
			s.fetch, s.fetchCore = s.got-host, j.core
		} else {
			at := i % j.workers
			begin := workerFree[at]
			if behind := i - j.workers*j.ahead; behind >= 0 {
				begin = math.Max(begin, returned[behind])
			}
			p.workers[at].addTime(begin, recording.Parked, 0, 0)
			end := p.fetch(&p.workers[at], begin, &server)
			workerFree[at] = end
			s.got = math.Max(host, end)
			s.fetch, s.fetchCore = end-begin, j.core
			p.loop.addTime(s.got, recording.Parked, 0, 0)
		}
		returned = append(returned, s.got)
		s.idle = math.Max(0, s.got-math.Max(s.ask, device))
		host, device = p.compute(&s, s.got, device)
		s.next = host
		p.steps = append(p.steps, s)
	}
	half := len(p.steps) / 2
	p.period = (p.steps[len(p.steps)-1].next - p.steps[half].ask) / float64(len(p.steps)-half)
	p.diskBusy = math.Min(1, server.each/p.period)
	return p
}

// server is a disk that serves one request at a time.
type server struct{ free, each float64 }

// fetch is one batch in a thread, from begin to the time that it returns.
func (p *played) fetch(t *thread, begin float64, disk *server) float64 {
	at := begin
	if disk.each > 0 {
		at = math.Max(at, disk.free) + disk.each
		disk.free = at
		t.addTime(at, recording.OnDisk, 0, 0)
	}
	at += p.remote
	t.addTime(at, recording.Remote, 0, 0)
	at += p.asleep
	t.addTime(at, recording.Asleep, 0, 0)
	at += p.core * p.slow
	t.addTime(at, recording.Running, 1/p.slow, p.waits())
	return at
}

// waits returns the share of runnable time that a thread spends in the run queue. Time throttled by a
// quota is not in it.
func (p *played) waits() float64 {
	if p.quota > 0 {
		return 0
	}
	return 1 - 1/p.slow
}

// compute plays the rest of a step: copies, launches, the device's work, and the host's waits.
func (p *played) compute(s *step, host, device float64) (hostEnd, deviceEnd float64) {
	work := p.device*p.late/p.clock/(1-p.foreign) + p.exchange
	begin := math.Max(host, device)
	s.copying = p.copying
	device = begin + p.copying
	s.copiedTo = device
	if p.pageable || p.blocking {
		p.loop.addTime(device, recording.Running, 1, 0)
		host = device
	}
	own := p.host * p.slow
	launch := p.launch * p.slow
	p.loop.addTime(host+own+launch, recording.Running, 1/p.slow, p.waits())
	host += own
	s.busyFrom = math.Max(device, host+launch/p.launches)
	s.busyTo = math.Max(s.busyFrom+work, host+launch+work/p.launches)
	s.busy = work
	host += launch
	if p.sync { // spinning is CUDA's default
		p.loop.addTime(math.Max(host, s.busyTo), recording.Running, 1, 0)
		return math.Max(host, s.busyTo), s.busyTo
	}
	if ahead := s.busyTo - 3*p.period0(work); ahead > host { // launches run ahead of the device by some steps
		p.loop.addTime(ahead, recording.Running, 1, 0)
		host = ahead
	}
	return host, s.busyTo
}

func (p *played) period0(work float64) float64 { return math.Max(work, 1e-3) }

// rate is steps per second.
func (p *played) rate() float64 { return 1 / p.period }
