// Package serve is the daemon of stoker feed. The ranks of one node connect to it over unix
// sockets, send a feed.Spec, and get batches in rings of shared memory. feed/serve/PROTOCOL.md
// is the contract with the client.
//
//	Daemon ─┬─ conversation (a connection) ── session (a loader on a rank) ─┬─ ring, one per session
//	        ├─ conversation ── session ─────────────────────────────────────┼─ share: a feed.Loader
//	        └─ ...                                                          └─ the pool of threads, one for all
//
// It moves slots and packets; packages feed and feed/order decode, and decide which sample
// comes when. No client can affect another one: sends do not block, waits have deadlines, and
// the end of a connection releases its resources.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/stoker-dev/stoker/feed"
)

const (
	// lonely is how long a daemon without clients keeps running. Starting Python and torch takes seconds, on
	// a busy node tens of seconds.
	lonely = 30 * time.Second
	// glance is the interval of the check for clients whose process has ended.
	glance = 250 * time.Millisecond
	// maxConnections limits the connections that a faulty client can open.
	maxConnections = 1024
)

// Options are the settings of a daemon. A session's options apply only to fields that are not
// set.
type Options struct {
	Ranks int // of this node; 0 means 1
	// Parent is the process that started this one; the daemon ends if it has ended and nobody is
	// connected. 0: the parent at the time of Serve.
	Parent     int
	Threads    int    // that decode; 0: as the first session asks, else all processors
	Nice       int    // 0: as the first session asks, else feed's default
	Quarantine string // file; "": as the first session asks
	Record     string // file; "": as the first session asks
	// Recorder is called once if there is a recording to make: it takes Snapshots until the
	// returned function is called. nil: recordings are refused.
	Recorder func(path string, take func() Snapshot) (stop func() error, err error)
	Warn     func(text string) // gets messages that no client can be sent

	engine engine // for tests; nil: feed's
}

// daemon serves one job on one node.
type daemon struct {
	options Options
	table   *loaderTable
	work    sync.WaitGroup // conversations, listings, the listener

	begun    sync.Once // afterwards the options are fixed
	refusal  error     // of begun
	recorded sync.Once
	stopping func() error // stops the recorder

	mu       sync.Mutex // guards what follows
	links    map[*link]struct{}
	sessions map[*session]struct{}
	ranks    map[int]bool // that have opened a session
	quiet    time.Time    // since when no connection is open
	changed  chan struct{}
	ended    bool
}

// Serve serves the connection first and all that listener accepts; either may be nil. It
// returns when the last connection is closed and no further one is expected, or when ctx ends.
func Serve(ctx context.Context, first *net.UnixConn, listener *Listener, o Options) error {
	d := newDaemon(o)
	if listener != nil {
		defer listener.removeName()
		d.work.Go(func() { d.accept(listener) })
	}
	if first != nil {
		if err := d.welcome(first); err != nil {
			return err
		}
	}
	d.attend(ctx, listener)
	return d.endAll(listener)
}

func newDaemon(o Options) *daemon {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	d := &daemon{
		options: o, links: map[*link]struct{}{}, sessions: map[*session]struct{}{}, ranks: map[int]bool{},
		quiet: time.Now(), changed: make(chan struct{}, 1),
	}
	d.table = &loaderTable{daemon: d, shares: map[string]*sharedLoader{}}
	return d
}

// attend returns when the daemon has nothing left to do.
func (d *daemon) attend(ctx context.Context, listener *Listener) {
	parent := firstSet(d.options.Parent, os.Getppid())
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for !d.isOver(listener != nil, os.Getppid() != parent, time.Now()) {
		if listener != nil && d.complete() {
			listener.removeName()
			_ = listener.Close() // it has no name any more
			listener = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.cutEnded()
		case <-d.changed:
		}
	}
}

// isOver reports whether no client is connected and none is expected.
func (d *daemon) isOver(listening, orphaned bool, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.links) == 0 && (!listening || orphaned || now.Sub(d.quiet) > lonely)
}

// complete reports whether all ranks of the node have opened a session.
func (d *daemon) complete() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.ranks) >= max(d.options.Ranks, 1)
}

// endAll closes every connection and blocks until all work is done.
func (d *daemon) endAll(listener *Listener) error {
	d.mu.Lock()
	d.ended = true
	links := make([]*link, 0, len(d.links))
	for l := range d.links {
		links = append(links, l)
	}
	d.mu.Unlock()
	if listener != nil {
		_ = listener.Close()
	}
	for _, l := range links {
		l.closeAtOnce(errors.New("the daemon ends"))
	}
	if !within(patience, d.finish) {
		d.warn("a read does not return because the storage of a data set does not answer: the daemon ends anyway")
	}
	d.recorded.Do(func() {}) // from now on no recorder starts
	if d.stopping != nil {
		return d.stopping()
	}
	return nil
}

// finish blocks until all work is done.
func (d *daemon) finish() {
	d.work.Wait()
	if d.options.engine != nil {
		d.options.engine.closePool()
	}
}

// within reports whether work ends in time. If not, it continues in its goroutine.
func within(limit time.Duration, work func()) bool {
	done := make(chan struct{})
	go func() {
		work()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// accept takes connections until the listener is closed.
func (d *daemon) accept(listener *Listener) {
	for told := false; ; {
		conn, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is free: others must close some first
			if !told {
				d.warn("accept a connection: %v", err)
			}
			told = true
			time.Sleep(100 * time.Millisecond)
			continue
		}
		told = false
		if err := d.welcome(conn); err != nil {
			d.warn("%v", err)
		}
	}
}

// welcome begins a conversation with the peer of a new connection.
func (d *daemon) welcome(conn *net.UnixConn) error {
	who, err := peerOf(conn)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	return d.addConversation(conn, who)
}

// addConversation begins a conversation with a known peer.
func (d *daemon) addConversation(conn *net.UnixConn, who *peer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || len(d.links) >= maxConnections {
		who.stopWatching()
		return errors.Join(fmt.Errorf("a connection more than the %d that are possible, or after the end",
			maxConnections), conn.Close())
	}
	c := &conversation{daemon: d, link: &link{conn: conn, peer: who}, gone: make(chan struct{})}
	d.links[c.link] = struct{}{}
	d.work.Go(func() {
		c.serveClient()
		d.remove(c.link)
	})
	return nil
}

// cutEnded closes the connections of processes that have ended.
func (d *daemon) cutEnded() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.links {
		if l.peer.hasEnded() {
			l.closeAtOnce(errors.New("the client's process has ended"))
		}
	}
}

func (d *daemon) remove(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.links, l)
	l.peer.stopWatching()
	if len(d.links) == 0 {
		d.quiet = time.Now()
	}
	d.wakeUp()
}

// countOpened adds a session and its rank.
func (d *daemon) countOpened(s *session, local int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions[s] = struct{}{}
	d.ranks[local] = true
	d.wakeUp()
}

func (d *daemon) countLeft(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, s)
}

func (d *daemon) wakeUp() {
	select {
	case d.changed <- struct{}{}:
	default: // a wake-up is pending
	}
}

// joinShare fixes the options on the first call, and finds or opens the loader of a spec.
func (d *daemon) joinShare(spec feed.Spec, r *request) (*sharedLoader, error) {
	if _, err := d.working(r.Options); err != nil {
		return nil, err
	}
	return d.table.joinLoader(spec, feed.Options{Ranks: max(d.options.Ranks, 1), Quarantine: d.options.Quarantine},
		r.readList)
}

// working returns the engine, and starts it on the first call, with the options of the client
// that calls first.
func (d *daemon) working(asked requestOptions) (engine, error) {
	d.begun.Do(func() { d.refusal = d.startPool(asked) })
	return d.options.engine, d.refusal
}

func (d *daemon) startPool(asked requestOptions) error {
	o := &d.options
	o.Threads = firstSet(o.Threads, asked.Threads)
	o.Quarantine = firstSet(o.Quarantine, asked.Quarantine)
	o.Record = firstSet(o.Record, asked.Record)
	o.Nice = firstSet(o.Nice, asked.Nice)
	if o.engine != nil {
		return nil
	}
	pool, err := feed.NewPool(feed.PoolOptions{Threads: o.Threads, Nice: o.Nice})
	if err != nil {
		return err
	}
	o.engine = feeding{pool}
	return nil
}

// record starts the recorder on the first call. If it cannot, the session of that call reports
// the error.
func (d *daemon) record() (err error) {
	d.recorded.Do(func() {
		switch path := d.options.Record; {
		case path == "":
		case d.options.Recorder == nil:
			err = fmt.Errorf("record to %s: this daemon cannot record", path)
		default:
			d.stopping, err = d.options.Recorder(path, d.takeSnapshot)
		}
	})
	return err
}

// firstSet returns the first value that is not zero.
func firstSet[T comparable](values ...T) (zero T) {
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

func (d *daemon) warn(format string, args ...any) { d.options.Warn(fmt.Sprintf(format, args...)) }
