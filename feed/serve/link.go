package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// patience is how long a client's socket may take no packet before the client is
// given up.
const patience = 2 * time.Second

// maxWaiting bounds the packets that wait for a client which does not read: more
// than its slots can give rise to is a client that only asks.
const maxWaiting = 1024

// link is the daemon's end of one connection. Sending never blocks: who sends is a
// decode thread, and one client that sleeps must not stop the others. A packet goes
// out at once, without a hop to another goroutine, where the socket takes it; that
// is nearly always.
type link struct {
	conn   *net.UnixConn
	peer   *peer
	sender sync.WaitGroup

	mu      sync.Mutex // guards what follows
	waiting []parcel
	sending bool  // a goroutine empties waiting
	refusal error // that the client was told
	broken  error
}

// parcel is a packet on its way, with descriptors of its own.
type parcel struct {
	packet []byte
	fds    []int
}

// send sends a message, in the order of the calls; descriptors become its own. An
// error says that the connection is gone; its reader finds out as well.
func (l *link) send(message any, fds ...int) error {
	packet, err := json.Marshal(message)
	if err == nil && len(packet) > maxPacket {
		err = fmt.Errorf("a packet of %d bytes does not fit into %d", len(packet), maxPacket)
	}
	p := parcel{packet, fds}
	if err != nil {
		p.close()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		p.close()
		return l.broken
	}
	if !l.sending {
		sent, err := sendNow(l.conn, p.packet, p.fds...)
		if sent || err != nil {
			p.close()
			return l.breaks(err)
		}
		l.sending = true
		l.sender.Go(l.sendWaiting)
	}
	if len(l.waiting) >= maxWaiting {
		p.close()
		return l.breaks(fmt.Errorf("%d packets wait for a client that reads none", maxWaiting))
	}
	l.waiting = append(l.waiting, p)
	return nil
}

// sendWaiting sends what the socket did not take at once.
func (l *link) sendWaiting() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 || l.broken != nil {
			l.sending = false
			l.mu.Unlock()
			return
		}
		p := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()

		err := l.conn.SetWriteDeadline(time.Now().Add(patience))
		if err == nil {
			err = sendWaiting(l.conn, p.packet, p.fds...)
		}
		p.close()
		if err != nil {
			l.mu.Lock()
			_ = l.breaks(fmt.Errorf("the client took no packet for %v: %w", patience, err))
			l.mu.Unlock()
		}
	}
}

// breaks ends the connection where err is an error; mu is held.
func (l *link) breaks(err error) error {
	if err == nil || l.broken != nil {
		return err
	}
	l.broken = err
	l.drop()
	_ = l.conn.Close() // the reader returns
	return err
}

func (l *link) drop() {
	for _, p := range l.waiting {
		p.close()
	}
	l.waiting = nil
}

// receive waits for the next packet, which it reads into buffer, cut to its size,
// and the descriptors that came along, which become the caller's; io.EOF is the end
// of the client.
func (l *link) receive(buffer []byte) ([]byte, []int, error) {
	var control [controlBytes]byte
	n, controlled, _, _, err := l.conn.ReadMsgUnix(buffer, control[:])
	if err != nil {
		return nil, nil, err
	}
	fds := descriptors(control[:controlled])
	if n == 0 {
		err = io.EOF
	}
	return buffer[:n], fds, err
}

// controlBytes is room for a descriptor or two; the kernel closes those that find none.
const controlBytes = 24

// refuse tells the client why its session ends, as the last packet. What it has
// sent meanwhile is read on for a while (linger): to close a socket with unread
// packets would take the sentence from the client. False: the client has gone, or
// was told already.
func (l *link) refuse(why error) bool {
	l.mu.Lock()
	late := l.refusal != nil || l.broken != nil
	if !late {
		l.refusal = why
	}
	l.mu.Unlock()
	if late || l.send(failure{Type: "error", Text: brief([]byte(why.Error()), maxPacket/8), Fatal: true}) != nil {
		return false
	}
	_ = l.conn.SetReadDeadline(time.Now()) // the reader ends the session
	return true
}

// why is what the client was told by refuse, nil before.
func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusal
}

// linger says that no more will come, and reads on until the client has gone, or
// its patience is over.
func (l *link) linger() {
	l.sender.Wait()
	_ = l.conn.CloseWrite() // fails where the client has gone already
	if l.conn.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	buffer := make([]byte, maxPacket+1)
	for {
		_, fds, err := l.receive(buffer)
		closeAll(fds)
		if err != nil {
			return
		}
	}
}

// close lets what waits go out, within the client's patience, and ends the
// connection. Nobody sends any more.
func (l *link) close(why error) {
	l.sender.Wait()
	l.cut(why)
}

// cut ends the connection at once.
func (l *link) cut(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.breaks(why)
}

func (p parcel) close() { closeAll(p.fds) }

func closeAll(fds []int) {
	for _, fd := range fds {
		closeDescriptor(fd)
	}
}
