package stack

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/recording"
)

// How often threads are sampled. The pause is drawn each time, so that no beat of
// the program's own goes with it.
const (
	pause    = 50 * time.Millisecond  // in the mean: to wake up costs more than to look
	atOnce   = 3                      // threads after each pause
	rest     = 200                    // times as long as looking took, at least
	mostRest = 250 * time.Millisecond // but not for work that is done once, as finding Python in a process
	longest  = 0.5                    // seconds that one look may stand for
	mostKept = 512                    // different stacks of a trainer; what comes later is counted without its places
	mostTold = 64                     // of them in the recording

	mostTrainers = 256 // that are counted, workers and own threads apart

	attempts  = 5 // to find Python in a process
	closeWait = 2 * time.Second
)

// Thread is one thread that may load.
type Thread struct {
	PID, TID int
	For      recording.Loading
	Server   bool // of a program that answers requests: what its event loop calls is no line of the caller's
}

// Sink takes samples; a *recording.Writer is one.
type Sink interface {
	AddSample(signal recording.Signal, subject string, t, v float64)
}

// Sampler samples the threads of loaders and of training loops, in a separate goroutine: a page of a program
// may have to be fetched from somewhere before it can be read.
type Sampler struct {
	threads chan []Thread
	quit    chan struct{}
	done    chan struct{}

	mu     sync.Mutex
	counts map[recording.Loading]*counts
	last   float64 // when what was seen was written last
	why    string  // nothing could be read so far; "" if something was
}

// counts are what was seen of those that load for one trainer.
type counts struct {
	looks  float64
	stacks map[string]*tally // by subject
	told   int               // of them in the recording
	last   float64           // when they were written last
}

type tally struct{ seconds, written float64 }

// Start begins to watch.
func Start() *Sampler {
	w := &Sampler{
		threads: make(chan []Thread, 1), quit: make(chan struct{}), done: make(chan struct{}),
		counts: map[recording.Loading]*counts{},
	}
	go w.watchThreads()
	return w
}

// Follow says which threads load, from now on.
func (w *Sampler) Follow(threads []Thread) {
	select {
	case <-w.threads: // the older word was not heard yet
	default:
	}
	w.threads <- threads
}

// Close ends watching. It returns soon.
func (w *Sampler) Close() {
	close(w.quit)
	select {
	case <-w.done:
	case <-time.After(closeWait):
	}
}

// Why says why nothing can be read; "" if something was, or nothing was there to read.
func (w *Sampler) Why() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// Write writes the samples so far. Only changes are written, and of many different
// stacks those in which most time goes.
func (w *Sampler) Write(now float64, to Sink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for who, c := range w.counts {
		c.write(who.String(), now, to)
	}
	w.last = now
}

func (c *counts) write(subject string, now float64, to Sink) {
	changed, first := false, c.told == 0
	byTime := slices.SortedFunc(maps.Keys(c.stacks), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.stacks[b].seconds, c.stacks[a].seconds), cmp.Compare(a, b))
	})
	for i, name := range byTime {
		s := c.stacks[name]
		if s.seconds == s.written || s.written == 0 && (i >= mostTold || c.told >= 2*mostTold) {
			continue
		}
		if s.written == 0 {
			c.told++
			to.AddSample(recording.FetchStack, name, c.last, 0)
		}
		s.written, changed = s.seconds, true
		to.AddSample(recording.FetchStack, name, now, s.seconds)
	}
	if changed {
		if first {
			to.AddSample(recording.FetchLooks, subject, c.last, 0)
		}
		to.AddSample(recording.FetchLooks, subject, now, c.looks)
		c.last = now
	}
}

func (w *Sampler) watchThreads() {
	defer close(w.done)
	defer func() {
		if fault := recover(); fault != nil {
			w.tell(fmt.Errorf("a fault of stoker's own: %v", fault))
		}
	}()
	l := looker{watch: w, images: images{}, homes: map[int]home{}, seen: map[Thread]*target{}, sources: sources{}}
	defer l.follow(nil)
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-w.quit:
			return
		case threads := <-w.threads:
			l.follow(threads)
		case <-wait.C:
			began := time.Now()
			l.round(began)
			wait.Reset(max(pause/2+rand.N(pause), min(mostRest, rest*time.Since(began))))
		}
	}
}

// tell notes why a process cannot be read, as long as none could be; nil means that one could.
func (w *Sampler) tell(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.why = ""
	} else if len(w.counts) == 0 && !errors.Is(err, errNone) && !errors.Is(err, unix.ESRCH) &&
		!errors.Is(err, os.ErrNotExist) {
		w.why = why(err)
	}
}

// why adds what would help.
func why(err error) string {
	if errors.Is(err, unix.EPERM) {
		return err.Error() +
			": it may be read by the same user only if the kernel lets one process look into another " +
			"(sysctl kernel.yama.ptrace_scope, a container's seccomp profile): start it with stoker observe -- CMD, " +
			"or run stoker as root"
	}
	return err.Error()
}

// addStack counts one look at a stack.
func (w *Sampler) addStack(s recording.Stack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts[s.Loading]
	if c == nil && len(w.counts) >= mostTrainers {
		return
	}
	if c == nil {
		c = &counts{stacks: map[string]*tally{}, last: w.last}
		w.counts[s.Loading] = c
	}
	c.looks++
	subject := s.SeriesSubject()
	if c.stacks[subject] == nil && len(c.stacks) >= mostKept {
		s.Places, s.Native = nil, ""
		subject = s.SeriesSubject()
	}
	if c.stacks[subject] == nil {
		c.stacks[subject] = &tally{}
	}
	c.stacks[subject].seconds += s.Seconds
}

// looker is the goroutine's knowledge of the threads.
type looker struct {
	watch  *Sampler
	images images
	memory memory
	homes  map[int]home // of trainers' loaders: a forked worker's is its parent's
	seen   map[Thread]*target
	turn   []*target
	sources
	places []recording.Place
	buffer [512]byte
}

// target is a thread that is looked at.
type target struct {
	Thread
	python *python
	stat   *os.File
	failed int
	retry  time.Time
	last   time.Time // of the last look that came to something
}

// follow brings the threads up to date.
func (l *looker) follow(threads []Thread) {
	kept := make(map[Thread]*target, len(threads))
	l.turn = l.turn[:0]
	for _, t := range threads {
		if kept[t] != nil {
			continue
		}
		if kept[t] = l.seen[t]; kept[t] == nil {
			kept[t] = &target{Thread: t}
		}
		l.turn = append(l.turn, kept[t])
	}
	for t, gone := range l.seen {
		if kept[t] == nil && gone.stat != nil {
			_ = gone.stat.Close()
		}
	}
	l.seen = kept
}

// round samples the next few threads in turn.
func (l *looker) round(now time.Time) {
	for range min(atOnce, len(l.turn)) {
		t := l.turn[0]
		l.turn = append(l.turn[1:], t)
		if !t.ready(l, now) {
			continue
		}
		err := t.look(l, now)
		if changed := errors.Is(err, errTorn) || errors.Is(err, errMuch) || errors.Is(err, unix.EFAULT); err != nil &&
			!changed {
			t.fail(l, now, err)
		}
	}
}

// ready attaches to a thread that is new. Python may not be there yet.
func (t *target) ready(l *looker, now time.Time) bool {
	if t.python != nil || t.failed >= attempts || now.Before(t.retry) {
		return t.python != nil
	}
	p, err := l.attach(t.Thread)
	if err == nil && t.stat == nil {
		t.stat, err = os.Open(fmt.Sprintf("/proc/%d/task/%d/stat", t.PID, t.TID))
	}
	if err != nil {
		t.fail(l, now, err)
		return false
	}
	t.python = p
	l.watch.tell(nil)
	return true
}

// attach finds a thread at the place of the loader's last one if its number confirms it.
// Otherwise it reads the process's files, which takes longer.
func (l *looker) attach(t Thread) (*python, error) {
	if h, known := l.homes[t.For.PID]; known && h.layout.native != 0 {
		if p, err := h.attachTo(&l.memory, t.PID, t.TID); err == nil {
			return p, nil
		}
	}
	if len(l.images) > mostFiles || len(l.homes) > mostTrainers {
		clear(l.images)
		clear(l.homes)
	}
	h, err := l.images.homeOf(t.PID)
	if err != nil {
		return nil, err
	}
	l.homes[t.For.PID] = h
	return h.attachTo(&l.memory, t.PID, t.TID)
}

// fail tries again later, ever less often.
func (t *target) fail(l *looker, now time.Time, err error) {
	l.watch.tell(err)
	if t.stat != nil { // it is of a thread of that number that has ended
		_ = t.stat.Close()
	}
	t.python, t.stat = nil, nil
	t.failed++
	t.retry = now.Add(time.Second << t.failed)
}

// look adds where a thread is, if it prepares a batch or is a trainer's own.
func (t *target) look(l *looker, now time.Time) error {
	n, err := t.stat.ReadAt(l.buffer[:], 0)
	if n == 0 {
		return err // it has ended
	}
	found, err := t.python.readStack()
	if err != nil {
		return err
	}
	span := pause.Seconds()
	if !t.last.IsZero() {
		span = min(longest, now.Sub(t.last).Seconds())
	}
	t.last, t.failed = now, 0
	if t.Server {
		found = l.outOfHelper(t.PID, found)
	}
	who := t.For
	places, in := placesInFetch(found, l.places[:0])
	if !in && !who.Worker { // a worker without anything to do
		who.Outside = true
		places, in = placesOutsideFetch(found, places, t.Server)
	}
	if l.places = places; in {
		asleep, awaits := sleeps(l.buffer[:n]), recording.Awaits("")
		if asleep {
			awaits = t.awaits(l.buffer[:n])
		}
		if !who.Outside && awaits != recording.AwaitsFileLock { // of preparing, the line says the rest
			awaits = ""
		}
		l.watch.addStack(recording.Stack{
			Loading: who, Places: places, Native: l.native(t.PID, found), Asleep: asleep, Awaits: awaits, Seconds: span,
		})
		if who.Outside && awaits == recording.AwaitsLock && !t.Server {
			t.lookBeside(l, span)
		}
	}
	return nil
}

// lookBeside adds where another thread of the process runs, while this one waits for a lock. What cannot be read is no
// fault of the thread that is followed.
func (t *target) lookBeside(l *looker, span float64) {
	found, err := t.python.readBeside(func(native int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", t.PID, native))
		return err == nil && !sleeps(stat)
	})
	if err != nil {
		return
	}
	places, in := placesOutsideFetch(found, l.places[:0], false)
	if l.places = places; in {
		who := recording.Loading{PID: t.For.PID, Beside: true}
		l.watch.addStack(recording.Stack{Loading: who, Places: places, Native: l.native(t.PID, found), Seconds: span})
	}
}

// lockSleeps are the kernel's functions in which a thread blocks on another one, by the start of their names, and
// fileLockSleeps those in which it blocks on the lock of a file (flock, fcntl).
var (
	lockSleeps     = []byte("futex")
	fileLockSleeps = regexp.MustCompile(`^(?:locks_lock|flock|posix_lock|fcntl_setlk|do_lock_file)`)
)

// awaits returns what a sleeping thread waits for. The buffer holds its stat file.
func (t *target) awaits(buffer []byte) recording.Awaits {
	if at := bytes.LastIndexByte(buffer, ')') + 2; at < len(buffer) && buffer[at] == 'D' {
		return recording.AwaitsDisk
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/wchan", t.PID, t.TID))
	switch {
	case err != nil:
		return ""
	case bytes.HasPrefix(name, lockSleeps):
		return recording.AwaitsLock
	case fileLockSleeps.Match(name):
		return recording.AwaitsFileLock
	}
	return ""
}

// sleeps reports whether a thread neither runs nor wants a core, by its stat file.
func sleeps(stat []byte) bool {
	at := bytes.LastIndexByte(stat, ')') + 2 // the name before it may hold anything
	return at < len(stat) && stat[at] != 'R'
}
