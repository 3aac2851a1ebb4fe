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

// sendPacket sends a message, in the order of the calls; descriptors become its own. An
// error says that the connection is gone; its reader finds out as well.
func (l *link) sendPacket(message any, fds ...int) error {
	packet, err := json.Marshal(message)
	if err == nil && len(packet) > maxPacket {
		err = fmt.Errorf("a packet of %d bytes does not fit into %d", len(packet), maxPacket)
	}
	p := parcel{packet, fds}
	if err != nil {
		p.closeFiles()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		p.closeFiles()
		return l.broken
	}
	if !l.sending {
		sent, err := sendNow(l.conn, p.packet, p.fds...)
		if sent || err != nil {
			p.closeFiles()
			return l.breaks(err)
		}
		l.sending = true
		l.sender.Go(l.sendWaiting)
	}
	if len(l.waiting) >= maxWaiting {
		p.closeFiles()
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
		p.closeFiles()
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
	l.dropPacket()
	_ = l.conn.Close() // the reader returns
	return err
}

func (l *link) dropPacket() {
	for _, p := range l.waiting {
		p.closeFiles()
	}
	l.waiting = nil
}

// receive waits for the next packet, which it reads into buffer, cut to its size,
// and the descriptors that came along, which become the caller's. lost says that there were more: the
// kernel drops those that find no number. io.EOF is the end of the client.
func (l *link) receive(buffer []byte) (packet []byte, fds []int, lost bool, err error) {
	var control [controlBytes]byte
	n, controlled, flags, _, err := l.conn.ReadMsgUnix(buffer, control[:])
	if err != nil {
		return nil, nil, false, err
	}
	fds = descriptors(control[:controlled])
	if n == 0 {
		err = io.EOF
	}
	return buffer[:n], fds, flags&truncatedControl != 0, err
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
	if late || l.sendPacket(failureOf(why)) != nil {
		return false
	}
	_ = l.conn.SetReadDeadline(time.Now()) // the reader ends the session
	return true
}

// toldReason is what the client was told by refuse, nil before.
func (l *link) toldReason() error {
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
		_, fds, _, err := l.receive(buffer)
		closeAll(fds)
		if err != nil {
			return
		}
	}
}

// closeSlowly lets what waits go out, within the client's patience, and ends the
// connection. Nobody sends any more.
func (l *link) closeSlowly(why error) {
	l.sender.Wait()
	l.closeAtOnce(why)
}

// closeAtOnce ends the connection at once.
func (l *link) closeAtOnce(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.breaks(why)
}

func (p parcel) closeFiles() { closeAll(p.fds) }

func closeAll(fds []int) {
	for _, fd := range fds {
		closeDescriptor(fd)
	}
}
