package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/ring"
	"github.com/stoker-dev/stoker/feed/source"
)

// conversation is one connection: it reads the client's packets and acts on them. Its goroutine
// does nothing that takes long, so that a ping is always answered.
type conversation struct {
	daemon *daemon
	link   *link
	gone   chan struct{} // closed when the client has gone

	opening sync.WaitGroup // at most one runs
	making  sync.WaitGroup // pictures being made
	makes   atomic.Int32
	rooms   rooms
	asked   bool // an open has arrived

	mu      sync.Mutex // guards what follows
	share   *sharedLoader
	session *session // once opened
}

// errClose ends a conversation because the client asked for it.
var errClose = errors.New("closed by the client")

// serveClient runs the conversation, and returns when the connection is closed and everything
// it held is released.
func (c *conversation) serveClient() {
	err := c.listen()
	refused := c.link.toldReason() != nil
	close(c.gone)
	c.opening.Wait()
	c.making.Wait()
	c.rooms.unmapAll()
	if c.session != nil {
		c.daemon.countLeft(c.session)
		if err := c.session.closeSession(); err != nil {
			c.daemon.warn("end of a session: %v", err)
		}
	}
	if refused {
		c.link.linger()
	}
	c.link.closeSlowly(err)
}

// listen acts on packets until the connection ends.
func (c *conversation) listen() error {
	buffer := make([]byte, maxPacket+1)
	for {
		packet, fds, lost, err := c.link.receive(buffer)
		if err != nil {
			closeAll(fds)
			return err
		}
		err = c.handle(packet, fds, lost)
		if errors.Is(err, errClose) {
			return err
		}
		if err != nil {
			c.link.refuse(err)
			return err
		}
	}
}

// handle acts on a packet and closes descriptors that the request does not use.
func (c *conversation) handle(packet []byte, fds []int, lost bool) error {
	r, err := parseRequest(packet)
	if err == nil && lost {
		closeAll(fds)
		return c.answerLack(r)
	}
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
	return c.answerRequest(r)
}

// answerLack answers a packet whose descriptors were lost because this process has too many
// open. The client can make pictures itself, but a session cannot begin.
func (c *conversation) answerLack(r *request) error {
	if r.Type == "make" {
		return c.link.sendPacket(made{Type: "made", N: r.N, More: 1})
	}
	return fmt.Errorf("the descriptors of %q found no room: %w", r.Type, syscall.EMFILE)
}

func (c *conversation) answerRequest(r *request) error {
	switch r.Type {
	case "connect":
		c.making.Go(c.connect)
		return nil
	case "ping":
		return c.link.sendPacket(pong{Type: "pong", N: r.N, State: c.describeState(time.Now())})
	case "close":
		return errClose
	case "open":
		return c.beginOpening(r)
	case "make":
		return c.makePictures(r)
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return fmt.Errorf("a %s before the session was opened", r.Type)
	}
	if r.Type == "start" {
		return s.startRun(r)
	}
	return s.release(*r.Slot, r.Waited)
}

// connect creates a further connection for the client's next loader. It waits while no
// descriptor is free.
func (c *conversation) connect() {
	ctx, stop := c.context()
	defer stop()
	err := source.WaitOut(ctx, func() error {
		ours, theirs, err := socketPair()
		if err != nil {
			return err
		}
		if err := c.daemon.addConversation(ours, c.link.peer.watchAgain()); err != nil {
			closeDescriptor(theirs)
			return err
		}
		return c.link.sendPacket(connected{Type: "connected"}, theirs)
	})
	if err != nil {
		c.link.refuse(err)
	}
}

// context returns a context that ends when the client has gone.
func (c *conversation) context() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-c.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// beginOpening begins the session in a goroutine, because listing the folder may take long.
func (c *conversation) beginOpening(r *request) error {
	if c.asked {
		_ = r.file.Close() // only read; nil if not opened
		return errors.New("a second open on this connection: request a connection for each loader with connect")
	}
	c.asked = true
	c.opening.Go(func() {
		defer func() { _ = r.file.Close() }() // only read; nil if not opened
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
	share, err := c.daemon.joinShare(spec, r)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.share = share
	c.mu.Unlock()
	s, err := c.beginSession(r)
	if err != nil {
		share.leaveLoader(nil)
		return err
	}
	c.mu.Lock()
	c.session = s // before opened is sent: the client may start as soon as it reads that
	c.mu.Unlock()
	return c.tellOpened(s)
}

// beginSession awaits the loader and creates the ring.
func (c *conversation) beginSession(r *request) (*session, error) {
	if err := c.share.waitForLoader(c.gone); err != nil {
		return nil, err
	}
	l := c.share.loader
	ring, err := ring.New(l.FullSpec().Depth, int(l.SlotLayout().SlotBytes))
	if err != nil {
		return nil, err
	}
	s := &session{
		link: c.link, daemon: c.daemon, share: c.share, rank: r.Rank, pid: r.PID, ring: ring,
		held: make([]*slotFill, ring.Slots()),
	}
	c.share.enterLoader(s)
	c.daemon.countOpened(s, r.Local)
	return s, nil
}

// tellOpened sends opened, with the ring. Then it sends a warning if the recording cannot be
// made.
func (c *conversation) tellOpened(s *session) error {
	message, fds, err := openedOf(s)
	if err != nil {
		return err
	}
	if err := c.link.sendPacket(message, fds...); err != nil {
		return err
	}
	if err := c.daemon.record(); err != nil {
		return c.link.sendPacket(failure{Type: "error", Text: err.Error()})
	}
	return nil
}

// describeState returns the sentence of a pong.
func (c *conversation) describeState(now time.Time) string {
	c.mu.Lock()
	share, s := c.share, c.session
	c.mu.Unlock()
	switch {
	case s != nil:
		return s.describeState(now)
	case share != nil:
		return share.describeListing(now)
	case c.asked:
		return "the spec is being read"
	}
	return "no open has come yet"
}

// openedOf returns the answer to an open with its descriptors: the ring's, and a memfd with the
// classes if they do not fit into a packet.
func openedOf(s *session) (*opened, []int, error) {
	l := s.share.loader
	spec := l.FullSpec()
	m := &opened{
		Type: "opened", Samples: l.Samples(), Steps: spec.PlanOrder(l.Samples(), spec.Batch).Steps(0),
		Classes: l.Classes(), Manifest: l.Manifest(), Pipeline: l.Pipeline(),
		Ring: ringLayoutOf(s), Notes: fitting(l.Notes(), maxPacket/4),
	}
	ring, err := duplicate(s.ring.File().Fd())
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(m.Classes)
	if err == nil && len(text) <= maxPacket/2 {
		return m, []int{ring}, nil
	}
	classes := -1
	if err == nil {
		classes, err = memfd("stoker-classes", text)
	}
	if err != nil {
		closeDescriptor(ring)
		return nil, nil, errors.Join(errors.New("send the names of the classes"), err)
	}
	m.Classes, m.Bytes = nil, len(text)
	return m, []int{ring, classes}, nil
}

func ringLayoutOf(s *session) ringLayout {
	spec, layout := s.share.loader.FullSpec(), s.share.loader.SlotLayout()
	height, width := s.share.loader.TensorShape()
	images := field{
		Offset: int(layout.Images), Shape: []int{spec.Batch, channels, height, width}, DType: spec.Output.DType,
		Strides: stridesOf(spec, height, width, int(layout.Sample)),
	}
	return ringLayout{
		Bytes: s.ring.Bytes(), Slots: s.ring.Slots(), SlotBytes: s.ring.SlotBytes(), Images: images,
		Labels:  field{Offset: int(layout.Labels), DType: "int64"},
		Indices: field{Offset: int(layout.Indices), DType: "int64"},
	}
}

// stridesOf returns the distances, in bytes, to the next sample, channel, row and column.
func stridesOf(spec feed.Spec, height, width, sample int) []int {
	item := sample / (channels * height * width)
	if spec.Output.Layout == "channels_last" {
		return []int{sample, item, channels * width * item, channels * item}
	}
	return []int{sample, height * width * item, width * item, item}
}

const channels = 3
