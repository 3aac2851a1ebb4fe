// Package serve is the daemon of stoker feed: the ranks of one node connect to it
// over unix sockets, say what they want (a feed.Spec), and are handed batches in
// rings of shared memory. feed/serve/PROTOCOL.md is the contract with the client.
//
//	Daemon ─┬─ conversation (a connection) ── session (a loader on a rank) ─┬─ ring, its own
//	        ├─ conversation ── session ─────────────────────────────────────┼─ share: a feed.Loader
//	        └─ ...                                                          └─ the pool of threads, of all
//
// It does not decode and does not say which sample comes when (feed, feed/order);
// it moves slots and packets. Nothing a client does or fails to do reaches another
// client: sends do not block, waits have deadlines, and the end of a connection frees
// what it held.
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
	// lonely is how long a daemon waits for clients: starting Python and torch takes
	// seconds, on a busy node tens of them.
	lonely = 30 * time.Second
	// glance is how often it is looked whether processes have ended.
	glance = 250 * time.Millisecond
	// maxConnections bounds what a client gone wild can open.
	maxConnections = 1024
)

// Options are what whoever starts a daemon may say.
type Options struct {
	Ranks int // of this node; 0 means 1
	// process that started this one: without it and without a connection the daemon ends; 0:
	// whoever it is at Serve
	Parent     int
	Threads    int    // that decode; 0: the first session's word, else all processors
	Nice       int    // 0: the first session's word, else feed's default
	Quarantine string // file; "": the first session's word
	Record     string // file; "": the first session's word
	// Recorder is called once where there is something to record to: it takes
	// Snapshots until the returned function is called. nil: recordings are refused.
	Recorder func(path string, take func() Snapshot) (stop func() error, err error)
	Warn     func(text string) // what no client is there to read

	engine engine // of tests; nil: feed's
}

// daemon serves one job on one node.
type daemon struct {
	options Options
	table   *loaderTable
	work    sync.WaitGroup // conversations, listings, the listener

	begun    sync.Once // the options hold from then on
	refusal  error     // of begun
	recorded sync.Once
	stopping func() error // the recorder's, once recorded

	mu       sync.Mutex // guards what follows
	links    map[*link]struct{}
	sessions map[*session]struct{}
	ranks    map[int]bool // that have opened a session
	quiet    time.Time    // when the last connection closed, or the daemon began
	changed  chan struct{}
	ended    bool
}

// Serve serves the first connection, where there is one, and all that come by the
// listener, where there is one, until the last is closed, nobody comes, or ctx ends.
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

// attend returns when the daemon has nothing more to do.
func (d *daemon) attend(ctx context.Context, listener *Listener) {
	parent := firstSet(d.options.Parent, os.Getppid())
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for !d.isOver(listener != nil, os.Getppid() != parent, time.Now()) {
		if listener != nil && d.complete() {
			listener.removeName()
			_ = listener.Close() // nobody can find it any more
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

// isOver reports whether nobody is connected and nobody is expected.
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

// endAll closes every connection and waits for all work.
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
		d.warn("a read does not come back: the storage of a data set does not answer: the daemon ends without it")
	}
	d.recorded.Do(func() {}) // from now on nobody begins
	if d.stopping != nil {
		return d.stopping()
	}
	return nil
}

// finish waits for all work.
func (d *daemon) finish() {
	d.work.Wait()
	if d.options.engine != nil {
		d.options.engine.closePool()
	}
}

// within reports whether work is done in time. Where it is not, it goes on.
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

// accept takes connections by name until the listener is closed.
func (d *daemon) accept(listener *Listener) {
	for told := false; ; {
		conn, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors: others must close some first
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

// welcome begins a conversation with whoever is at the other end.
func (d *daemon) welcome(conn *net.UnixConn) error {
	who, err := peerOf(conn)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	return d.addConversation(conn, who)
}

// addConversation begins a conversation with a peer that is known.
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

// cutEnded cuts the connections of processes that have ended.
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

// countOpened counts a session and its rank.
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
	default: // it is awake
	}
}

// joinShare makes the options hold, those of the command before those of the first
// session, and finds or opens the loader of a spec.
func (d *daemon) joinShare(spec feed.Spec, r *request) (*sharedLoader, error) {
	if _, err := d.working(r.Options); err != nil {
		return nil, err
	}
	return d.table.joinLoader(spec, feed.Options{Ranks: max(d.options.Ranks, 1), Quarantine: d.options.Quarantine},
		r.readList)
}

// working is the engine, started where it is not: the first word of a client's on the
// options holds.
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

// record starts the recorder, once; where it cannot, the first session hears of it.
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

// firstSet returns the first that says something.
func firstSet[T comparable](values ...T) (zero T) {
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

func (d *daemon) warn(format string, args ...any) { d.options.Warn(fmt.Sprintf(format, args...)) }
