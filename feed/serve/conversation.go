package serve

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-dev/stoker/feed/ring"
)

// conversation is one connection: it reads the client's packets and acts on them.
// Nothing that takes long happens in its goroutine, so that a ping is answered
// whatever else goes on.
type conversation struct {
	daemon *Daemon
	link   *link
	gone   chan struct{} // closed when the client has gone

	opening sync.WaitGroup // at most one
	making  sync.WaitGroup // pictures
	makes   atomic.Int32
	rooms   rooms
	asked   bool // open has come

	mu      sync.Mutex // guards what follows
	share   *share
	session *session // once opened
}

// errClose ends a conversation as its client wished.
var errClose = errors.New("closed by the client")

// run returns when the connection is closed and all that it held is given back.
func (c *conversation) run() {
	err := c.listen()
	refused := c.link.why() != nil
	close(c.gone)
	c.opening.Wait()
	c.making.Wait()
	c.rooms.close()
	if c.session != nil {
		c.daemon.left(c.session)
		if err := c.session.close(); err != nil {
			c.daemon.warn("end of a session: %v", err)
		}
	}
	if refused {
		c.link.linger()
	}
	c.link.close(err)
}

// listen acts on packets until there are no more.
func (c *conversation) listen() error {
	buffer := make([]byte, maxPacket+1)
	for {
		packet, fds, err := c.link.receive(buffer)
		if err != nil {
			closeAll(fds)
			return err
		}
		err = c.handle(packet, fds)
		if errors.Is(err, errClose) {
			return err
		}
		if err != nil {
			c.link.refuse(err)
			return err
		}
	}
}

// handle acts on a packet, and closes the descriptors that nobody needs.
func (c *conversation) handle(packet []byte, fds []int) error {
	r, err := parse(packet)
	if err == nil && (r.Type == "open" && r.SpecBytes > 0 || r.Type == "make") && len(fds) > 0 {
		r.file, fds = os.NewFile(uintptr(fds[0]), "file"), fds[1:]
	}
	if err == nil && r.Type == "make" && len(fds) > 0 {
		r.to, fds = os.NewFile(uintptr(fds[0]), "memory"), fds[1:]
	}
	closeAll(fds)
	if err != nil {
		return err
	}
	return c.act(r)
}

func (c *conversation) act(r *request) error {
	switch r.Type {
	case "connect":
		return c.connect()
	case "ping":
		return c.link.send(pong{Type: "pong", N: r.N, State: c.state(time.Now())})
	case "close":
		return errClose
	case "open":
		return c.open(r)
	case "make":
		return c.make(r)
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return fmt.Errorf("a %s before the session was opened", r.Type)
	}
	if r.Type == "start" {
		return s.start(r)
	}
	return s.release(*r.Slot, r.Waited)
}

// connect makes a further connection for the client's next loader.
func (c *conversation) connect() error {
	ours, theirs, err := pair()
	if err != nil {
		return err
	}
	if err := c.daemon.add(ours, c.link.peer.again()); err != nil {
		closeDescriptor(theirs)
		return err
	}
	return c.link.send(connected{Type: "connected"}, theirs)
}

// open begins the session in a goroutine of its own: the folder may be large.
func (c *conversation) open(r *request) error {
	if c.asked {
		_ = r.file.Close() // only read; nil where none came
		return errors.New("a second open: each loader has a connection of its own, which connect gives")
	}
	c.asked = true
	c.opening.Go(func() {
		defer func() { _ = r.file.Close() }() // only read; nil where none came
		if err := c.openSession(r); err != nil {
			c.link.refuse(err)
		}
	})
	return nil
}

func (c *conversation) openSession(r *request) error {
	spec, err := specOf(r)
	if err != nil {
		return err
	}
	share, err := c.daemon.join(spec, r)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.share = share
	c.mu.Unlock()
	s, err := c.begin(r)
	if err != nil {
		share.leave(nil)
		return err
	}
	c.mu.Lock()
	c.session = s // the client may start as soon as it has read opened
	c.mu.Unlock()
	return c.tell(s)
}

// begin waits for the loader and makes the ring.
func (c *conversation) begin(r *request) (*session, error) {
	if err := c.share.wait(c.gone); err != nil {
		return nil, err
	}
	l := c.share.loader
	ring, err := ring.New(l.Spec().Depth, int(l.Layout().SlotBytes))
	if err != nil {
		return nil, err
	}
	s := &session{link: c.link, daemon: c.daemon, share: c.share, rank: r.Rank, pid: r.PID, ring: ring, held: make([]*fill, ring.Slots())}
	c.share.enter(s)
	c.daemon.opened(s, r.Local)
	return s, nil
}

// tell sends opened, with the ring, and then what the client should know but need
// not stop for.
func (c *conversation) tell(s *session) error {
	message, fds, err := openedOf(s)
	if err != nil {
		return err
	}
	if err := c.link.send(message, fds...); err != nil {
		return err
	}
	if err := c.daemon.record(); err != nil {
		return c.link.send(failure{Type: "error", Text: err.Error()})
	}
	return nil
}

// state is the sentence of a pong.
func (c *conversation) state(now time.Time) string {
	c.mu.Lock()
	share, s := c.share, c.session
	c.mu.Unlock()
	switch {
	case s != nil:
		return s.state(now)
	case share != nil:
		return share.state(now)
	case c.asked:
		return "the spec is being read"
	}
	return "no open has come yet"
}
