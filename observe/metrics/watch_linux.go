package metrics

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits of the watch.
const (
	every       = 2 * time.Second // between two pages: a server written in Python makes one in some milliseconds
	again       = 20 * time.Second
	mostServers = 4
	mostLooked  = 512 // processes whose command lines are read
	mostQueued  = 64  // pages that wait to be written
)

// Watch reads the metrics of the servers among some processes.
type Watch struct {
	now  func() float64
	proc string
	stop context.CancelFunc
	done chan struct{}

	mutex  sync.Mutex
	pids   []int
	pages  []page
	server string
	why    string

	targets []target // of the goroutine alone
	looked  time.Time
	totals  map[string]*totals // of Write alone
}

// page is a page that was read.
type page struct {
	target

	at float64
	figures
}

// Start begins to watch. now is the time of the recording.
func Start(now func() float64) *Watch {
	w := newWatch(now, "/proc")
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.run(ctx)
	return w
}

func newWatch(now func() float64, proc string) *Watch {
	return &Watch{now: now, proc: proc, done: make(chan struct{}), totals: map[string]*totals{}}
}

// Follow says which processes are the job's.
func (w *Watch) Follow(pids []int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.pids = append(w.pids[:0], pids[:min(len(pids), mostLooked)]...)
}

// Server is the name of the server whose metrics were read, and why the reason if one was found and its metrics
// could not be read; "" each.
func (w *Watch) Server() (name, why string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.server, w.why
}

// Write writes what was read since it was called last. It never waits for a server.
func (w *Watch) Write(to Writer) {
	w.mutex.Lock()
	pages := w.pages
	w.pages = nil
	w.mutex.Unlock()
	for _, p := range pages {
		subject := subjectOf(p.target)
		if w.totals[subject] == nil {
			w.totals[subject] = &totals{subject: subject}
		}
		w.totals[subject].addPage(p.figures, p.at, to)
	}
}

// Close ends the watch. A page that is being read is given up.
func (w *Watch) Close() {
	w.stop()
	<-w.done
}

func (w *Watch) run(ctx context.Context) {
	defer close(w.done)
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		w.readAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
}

// readAll reads a page of each server.
func (w *Watch) readAll(ctx context.Context) {
	if len(w.targets) == 0 || time.Since(w.looked) > again {
		w.targets, w.looked = w.findTargets(), time.Now()
	}
	w.targets = slices.DeleteFunc(w.targets, func(t target) bool { return !w.has(t.pid) })
	for _, t := range w.targets {
		w.readOne(ctx, t)
	}
}

func (w *Watch) has(pid int) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Contains(w.pids, pid)
}

func (w *Watch) findTargets() (targets []target) {
	w.mutex.Lock()
	pids := slices.Clone(w.pids)
	w.mutex.Unlock()
	for _, pid := range pids {
		t, found := findTarget(w.proc, pid)
		known := slices.ContainsFunc(targets, func(o target) bool { return o.address == t.address })
		if found && !known && len(targets) < mostServers {
			targets = append(targets, t)
		}
	}
	return targets
}

func (w *Watch) readOne(ctx context.Context, t target) {
	f, err := read(ctx, t)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			w.why = fmt.Sprintf("the metrics of %s on port %d cannot be read: %v", t.server.name, t.port, err)
		}
		return
	}
	w.server, w.why = t.server.name, ""
	if len(w.pages) < mostQueued {
		w.pages = append(w.pages, page{t, w.now(), f})
	}
}
