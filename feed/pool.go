package feed

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed/decode"
	"github.com/stoker-dev/stoker/feed/source"
)

// Pool holds the threads that read, decode and transform for all loaders and ranks of a node,
// and the memory that they share. A process has one.
type Pool struct {
	options PoolOptions
	budget  *budget
	marks   *decode.Marks
	scratch *allowance     // of large images
	files   *allowance     // of large files
	ahead   chan announcer // files that will be read soon
	threads sync.WaitGroup
	ended   chan struct{} // closed by Close

	mu      sync.Mutex
	more    sync.Cond // a job came, or the pool closes
	quiet   sync.Cond // no thread writes to a cancelled job's memory any more
	jobs    []*Job    // with samples that no thread has taken yet; the most urgent first
	numbers uint64    // of jobs so far
	hands   []hand    // what each thread works on; job nil: nothing
	closed  bool
}

// defaultNice lets the trainer's threads go first and costs next to nothing against other
// processes. Higher values cost much: on a full machine a thread of nice 1 gets 0.80 of what
// one of nice 0 gets, with 2 it is 0.64, with 5 0.33, with 19 0.015; the workers of torch's
// loader have 0. They gain little: a trainer's thread that woke every millisecond while all
// cores decoded waited as long with any of them (median 70 us, 99th percentile 4 ms, Linux
// 6.18), because the scheduler favours threads that have used less than their share. Only a
// trainer that spins instead of sleeping gets more of its core if the loader is nicer.
const defaultNice = 1

// spareThreads run Go code beyond the workers: the sessions, which must answer at once even if
// every worker computes.
const spareThreads = 2

// NewPool starts the threads. It also sets GOMAXPROCS and the garbage collector's memory limit
// of the process, since the pool uses nearly all of both.
func NewPool(o PoolOptions) (*Pool, error) {
	cores := runtime.GOMAXPROCS(0) // Go counts affinity and the control group's quota
	if o.Threads == 0 {
		o.Threads = defaultThreads(cores)
	}
	if o.Nice == 0 {
		o.Nice = defaultNice
	}
	if o.Threads < 1 || o.Threads > 1024 || o.Nice < 1 || o.Nice > 19 {
		return nil,
			fmt.Errorf("%d threads of nice %d: 1 to 1024 threads of nice 1 to 19 are possible", o.Threads, o.Nice)
	}
	p, err := newPool(o)
	if err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(max(cores, o.Threads+spareThreads))
	debug.SetMemoryLimit(p.budget.heapLimit())
	stepBack(o.Nice)
	for own := range o.Threads {
		p.threads.Go(func() { p.workOn(own) })
	}
	for range readersAhead {
		p.threads.Go(p.readAhead)
	}
	return p, nil
}

// newPool returns a pool whose threads are not started.
func newPool(o PoolOptions) (*Pool, error) {
	budget, err := newBudget(o)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		options: o, budget: budget, scratch: newAllowance(budget.scratch), files: newAllowance(budget.files),
		marks: decode.NewMarks(budget.marks),
		ahead: make(chan announcer, waitingAhead), ended: make(chan struct{}), hands: make([]hand, o.Threads),
	}
	p.more.L, p.quiet.L = &p.mu, &p.mu
	return p, nil
}

// defaultThreads leaves a core to the trainer if the machine has four or more. Of two cores one
// would be half the machine; there niceness has to suffice.
func defaultThreads(cores int) int {
	if cores >= 4 {
		return cores - 1
	}
	return cores
}

// Close stops the threads after their current samples. Jobs that are not done are cancelled.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.ended)
	}
	p.jobs = nil
	p.more.Broadcast()
	p.mu.Unlock()
	p.threads.Wait()
}

// Threads returns the number of threads.
func (p *Pool) Threads() int { return p.options.Threads }

// maxFile returns the size of the largest file that fits.
func (p *Pool) maxFile() int64 { return p.budget.files + keptFile }

// lackMemory returns an outage that will not end: the daemon's share of memory is too small.
func (p *Pool) lackMemory(what string, args ...any) error {
	why := fmt.Sprintf(what, args...)
	err := fmt.Errorf("%s, as its share of %s allows: give more memory or fewer threads", why,
		mebibytes(p.budget.total))
	return &source.Outage{Err: err, Lasts: true}
}

// Load is the work that the pool has at the moment.
type Load struct {
	Threads int // of the pool
	Busy    int // of those threads
	Jobs    int // batches with samples that no thread has taken yet
	Samples int // in them
	// File is what a thread has been working on for longest, and Since when it began. If no
	// batch arrives, this file is the one waited for. "": no thread works.
	File  string
	Since time.Time
}

// hand is the sample that a thread works on.
type hand struct {
	job   *Job
	k     int
	since time.Time
}

// CurrentLoad returns the work that the pool has at the moment.
func (p *Pool) CurrentLoad() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	load := Load{Threads: p.options.Threads, Jobs: len(p.jobs)}
	for _, job := range p.jobs {
		load.Samples += job.count - job.next
	}
	for _, h := range p.hands {
		if h.job == nil {
			continue
		}
		load.Busy++
		if load.File == "" || h.since.Before(load.Since) {
			load.File, load.Since = h.job.file(h.k), h.since
		}
	}
	return load
}

// workOn makes samples until the pool is closed, as thread number own.
func (p *Pool) workOn(own int) {
	runtime.LockOSThread() // niceness belongs to the thread; it ends with the goroutine
	debug.SetPanicOnFault(true)
	lowerPriority(p.options.Nice)
	w := newWorker(p)
	for {
		job, k := p.takeSample(own)
		if job == nil {
			return
		}
		job.fill(w, k)
		p.countDone(own, job)
	}
}

// submit queues a job. A job without samples is finished at once.
func (p *Pool) submit(job *Job) {
	if job.count == 0 {
		go job.finish() // in a goroutine, as for any other job: without the caller's locks
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		job.cancelled = true
		return
	}
	p.numbers++
	job.number = p.numbers
	at, _ := slices.BinarySearchFunc(p.jobs, job, compareJobs)
	p.jobs = slices.Insert(p.jobs, at, job)
	p.more.Broadcast()
}

// compareJobs orders jobs by the time they are wanted, then by submission.
func compareJobs(a, b *Job) int {
	return cmp.Or(a.wanted.Compare(b.wanted), cmp.Compare(a.number, b.number))
}

// takeSample blocks until it gets a sample of the most urgent job. It returns nil if the pool is closed.
func (p *Pool) takeSample(own int) (*Job, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.jobs) == 0 && !p.closed {
		p.more.Wait()
	}
	if p.closed {
		return nil, 0
	}
	job := p.jobs[0]
	k := job.next
	job.next++
	if job.next == job.count {
		p.jobs = slices.Delete(p.jobs, 0, 1)
	}
	p.hands[own] = hand{job, k, time.Now()}
	return job, k
}

// countDone counts a sample that was made. The last one finishes the job.
func (p *Pool) countDone(own int, job *Job) {
	p.mu.Lock()
	p.hands[own] = hand{}
	job.done++
	last := job.done == job.count && !job.cancelled && !p.closed // after Close samples may be missing
	p.mu.Unlock()
	if last {
		job.finish()
	}
}

// Job is a batch that is being made.
type Job struct {
	pool   *Pool
	wanted time.Time
	count  int                // samples
	fill   func(*worker, int) // makes one of them; calls enterSlot before it writes to the slot
	file   func(int) string   // its name, for messages
	finish func()

	// Guarded by pool.mu.
	number    uint64 // of submission
	next      int    // samples below it are taken
	done      int
	writing   int // threads that write to the slot's memory
	cancelled bool
}

// Cancel gives the job up. It returns true if done was not called and will not be, and false if
// the batch was ready before. When Cancel returns, no thread touches the slot's memory any
// more. It blocks until threads have finished that write to it, which takes as long as the transforms of one
// image, but not for those that read or decode.
func (j *Job) Cancel() bool {
	p := j.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.done == j.count {
		return false
	}
	j.cancelled = true
	p.dropJob(j)
	for j.writing > 0 {
		p.quiet.Wait()
	}
	return true
}

// stopJob drops the samples that no thread has taken yet, because the batch has failed.
func (j *Job) stopJob() {
	p := j.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropJob(j)
	j.done += j.count - j.next
	j.next = j.count
}

// dropJob removes a job from the queue.
func (p *Pool) dropJob(j *Job) {
	if at := slices.Index(p.jobs, j); at >= 0 {
		p.jobs = slices.Delete(p.jobs, at, at+1)
	}
}

// enterSlot returns whether the slot may be written to. If it may, leaveSlot must follow.
func (j *Job) enterSlot() bool {
	p := j.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.cancelled || p.closed {
		return false
	}
	j.writing++
	return true
}

// leaveSlot ends a write that enterSlot allowed.
func (j *Job) leaveSlot() {
	p := j.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	j.writing--
	if j.writing == 0 {
		p.quiet.Broadcast()
	}
}
