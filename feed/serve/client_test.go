//go:build linux

package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-dev/stoker/feed"
	"github.com/stoker-dev/stoker/feed/transform"
	"github.com/stoker-dev/stoker/internal/leash"
)

// client speaks the protocol from the document, not with the daemon's types: what
// it understands is what a client in another language has to go by.
type client struct {
	conn   *net.UnixConn
	until  time.Time // when a wait for a packet is given up; zero: never
	ring   []byte
	opened answer
	buffer [64 << 10]byte
}

// answer is any packet of the daemon.
type answer struct {
	Type         string
	Samples      int
	Steps        int
	Classes      []string
	ClassesBytes int `json:"classes_bytes"`
	Manifest     string
	Ring         struct {
		Bytes     int
		Slots     int
		SlotBytes int `json:"slot_bytes"`
		Images    struct {
			Offset  int
			Shape   []int
			DType   string
			Strides []int
		}
		Labels, Indices struct {
			Offset int
			DType  string
		}
	}
	Run, Epoch                  int64
	Step, Slot, Count, Consumed int
	Mask                        []int
	T                           map[string]float64
	Report                      struct {
		From, Samples    int
		Digest, Expected string
		ExactlyOnce      *bool `json:"exactly_once"`
	}
	N      int64
	Failed []struct {
		Index int
		Why   string
	}
	FailedMore int `json:"failed_more"`
	State      string
	Kind       string
	Text       string
	Fatal      bool

	fds []int
}

type fields map[string]any

func (c *client) send(packet fields) error {
	text, err := json.Marshal(packet)
	if err != nil {
		return err
	}
	_, err = c.conn.Write(text)
	return err
}

// receive blocks until the next packet arrives.
func (c *client) receive() (a answer, err error) {
	if err := c.conn.SetReadDeadline(c.until); err != nil {
		return a, err
	}
	var control [64]byte
	n, controlled, _, _, err := c.conn.ReadMsgUnix(c.buffer[:], control[:])
	if err != nil {
		return a, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:controlled])
	for _, m := range messages {
		fds, _ := unix.ParseUnixRights(&m)
		a.fds = append(a.fds, fds...)
	}
	return a, errors.Join(err, json.Unmarshal(c.buffer[:n], &a))
}

// expect receives packets until one has a given type; other types, except ignored ones, are an
// error.
func (c *client) expect(kind string, ignored ...string) (answer, error) {
next:
	for {
		a, err := c.receive()
		if err != nil {
			return a, fmt.Errorf("while %q was awaited: %w", kind, err)
		}
		for _, other := range ignored {
			if a.Type == other {
				continue next
			}
		}
		if a.Type != kind {
			return a, fmt.Errorf("got %q (%s), expected %q", a.Type, a.Text, kind)
		}
		return a, nil
	}
}

func aSpec(name string, batch, world int) feed.Spec {
	return feed.Spec{
		Name: name, Root: "/somewhere", Batch: batch, World: world, Shuffle: true, Seed: 1, Tail: "short", Depth: 4,
		OnError: feed.Fail, Output: transform.Output{DType: "uint8", Layout: "nchw"},
	}
}

// open begins a session and maps its ring.
func (c *client) open(spec feed.Spec, rank int) error {
	err := c.send(fields{"type": "open", "protocol": 1, "spec": spec, "rank": rank, "local_rank": rank, "pid": unix.Getpid()})
	if err != nil {
		return err
	}
	if c.opened, err = c.expect("opened"); err != nil {
		return err
	}
	if c.ring, err = unix.Mmap(c.opened.fds[0], 0, c.opened.Ring.Bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	for _, fd := range c.opened.fds {
		_ = unix.Close(fd)
	}
	return nil
}

func (c *client) start(run, epoch int64, consumed int, once bool) error {
	return c.send(fields{"type": "start", "run": run, "epoch": epoch, "consumed": consumed, "once": once})
}

func (c *client) release(slot int) error { return c.send(fields{"type": "release", "slot": slot}) }

// samples are the indices that lie in a batch, without those that are masked.
func (c *client) samples(a answer) []int {
	masked := map[int]bool{}
	for _, place := range a.Mask {
		masked[place] = true
	}
	at := a.Slot*c.opened.Ring.SlotBytes + c.opened.Ring.Indices.Offset
	var samples []int
	for i := range a.Count {
		if !masked[i] {
			samples = append(samples, int(binary.LittleEndian.Uint64(c.ring[at+8*i:])))
		}
	}
	return samples
}

func (c *client) close() {
	_ = c.conn.Close()
	if c.ring != nil {
		_ = unix.Munmap(c.ring)
		c.ring = nil
	}
}

// started is a daemon in this process, and its first client.
type started struct {
	*client
	daemon *daemon
	end    chan error
	stop   context.CancelFunc
}

func start(t testing.TB, o Options) *started {
	t.Helper()
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := connection(theirs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &started{client: &client{conn: conn, until: leash.Deadline(t)}, end: make(chan error, 1), stop: stop}
	s.daemon = newDaemon(o)
	go func() {
		if err := s.daemon.welcome(ours); err != nil {
			s.end <- err
			return
		}
		s.daemon.attend(ctx, nil)
		s.end <- s.daemon.endAll(nil)
	}()
	t.Cleanup(func() {
		s.close()
		stop()
	})
	return s
}

// over blocks until the daemon has ended.
func (s *started) over(t testing.TB) {
	t.Helper()
	if err := leash.Receive(t, "the daemon's end", s.end); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
}

// another asks for a further connection.
func (c *client) another() (*client, error) {
	if err := c.send(fields{"type": "connect"}); err != nil {
		return nil, err
	}
	a, err := c.expect("connected", "batch", "end")
	if err != nil {
		return nil, err
	}
	conn, err := connection(a.fds[0])
	return &client{conn: conn, until: c.until}, err
}
